// SPDX-License-Identifier: GPL-2.0-or-later
/* New files.  In: paths.  Out: files that are whole or not there. */
#include "common/newfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/filelock.h"

#define MARK	".xenfault-tmp-"
#define KEPT	".kept"
#define RANDOM	12  /* characters behind the mark */
#define LONGEST 200 /* of the name before it; a file system takes 255 bytes */

static const char *const beside[] = {"-journal", "-wal", "-shm"};
#define BESIDE (sizeof(beside) / sizeof(beside[0]))

/* The part of a path behind its last slash. */
static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The folder of a path, to be freed. */
static char *folder_of(const char *path)
{
	size_t length = (size_t)(base(path) - path);

	return length ? strndup(path, length) : strdup(".");
}

/* "NAME.xenfault-tmp-" and random characters, in the folder of path; NULL = no memory. */
static char *temporary_name(const char *path)
{
	static const char letters[] = "0123456789abcdefghijklmnopqrstuv";
	unsigned char random[RANDOM];
	char text[RANDOM + 1], *name;
	size_t keep = strlen(base(path));

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return NULL;
	for (int i = 0; i < RANDOM; i++)
		text[i] = letters[random[i] % 32];
	text[RANDOM] = '\0';
	if (keep > LONGEST)
		keep = LONGEST;
	return asprintf(&name, "%.*s" MARK "%s", (int)(base(path) - path + (long)keep), path,
		       text) < 0
		       ? NULL
		       : name;
}

static bool is_temporary(const char *name)
{
	const char *mark = strstr(name, MARK);

	return mark && strlen(mark) == strlen(MARK) + RANDOM &&
	       strspn(mark + strlen(MARK), "0123456789abcdefghijklmnopqrstuv") == RANDOM;
}

static void remove_beside(int folder, const char *name)
{
	char text[NAME_MAX + 16];

	for (size_t i = 0; i < BESIDE; i++) {
		snprintf(text, sizeof(text), "%s%s", name, beside[i]);
		unlinkat(folder, text, 0);
	}
}

/*
 * A temporary file of somebody else: removed if nobody holds it.  The lock is ours while the name goes,
 * so that its maker, who may only just have created it, cannot hold it without a name.
 */
static bool remove_dead(int folder, const char *name, struct xf_holder *holder)
{
	struct stat named, opened;
	bool dead = false;
	int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return false;
	if (!fstat(fd, &opened) && S_ISREG(opened.st_mode) && opened.st_uid == geteuid() &&
		!xf_filelock_take(fd, XF_WRITER_MAKE)) {
		dead = !fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) &&
		       named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
		if (dead) {
			remove_beside(folder, name);
			dead = !unlinkat(folder, name, 0);
		}
	} else {
		xf_filelock_held(fd, holder);
	}
	close(fd);
	return dead;
}

/* Files of killed runs; refuses where another run is about to record under the same name. */
static int look_around(struct xf_newfile *file, struct xf_error *err)
{
	char *folder = folder_of(file->path);
	size_t length = strlen(base(file->path));
	DIR *dir = folder ? opendir(folder) : NULL;
	const struct dirent *entry;
	int code = 0;

	free(folder);
	/* a folder may be writable and not readable: then nobody can look */
	while (dir && !code && (entry = readdir(dir))) {
		struct xf_holder holder = {0};

		if (!is_temporary(entry->d_name))
			continue;
		file->dead += remove_dead(dirfd(dir), entry->d_name, &holder);
		if (file->flags & XF_NEWFILE_DATABASE && holder.what == XF_WRITER_RECORD &&
			!strncmp(entry->d_name, base(file->path), length) &&
			!strncmp(entry->d_name + length, MARK, strlen(MARK)))
			code = xf_filelock_refuse(file->path, &holder, err);
	}
	if (dir)
		closedir(dir);
	return code;
}

/* Is this what SQLite leaves?  Nothing else may be removed. */
static bool is_sqlites(const char *path, size_t kind)
{
	static const unsigned char journal[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7},
				   none[8], wal[3] = {0x37, 0x7f, 0x06};
	unsigned char head[8];
	struct stat st;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	n = read(fd, head, sizeof(head));
	close(fd);
	if (!n || kind == 2)
		return true;
	if (n != sizeof(head))
		return false;
	return kind ? !memcmp(head, wal, sizeof(wal))
		    : !memcmp(head, journal, sizeof(head)) || !memcmp(head, none, sizeof(head));
}

/*
 * What a writer of an old database left beside the name would be applied to the new one.  remove: now;
 * else it is only looked at.
 */
static int leftovers(struct xf_newfile *file, bool remove, struct xf_error *err)
{
	for (size_t i = 0; i < BESIDE && file->flags & XF_NEWFILE_DATABASE; i++) {
		struct stat st;
		char *name;
		int code = 0;

		if (asprintf(&name, "%s%s", file->path, beside[i]) < 0)
			return xf_fail_nomem(err);
		if (!lstat(name, &st)) {
			file->leftovers = true;
			if (!is_sqlites(name, i))
				code = xf_fail(err, XF_IO,
					"%s would be taken for changes of the database beside it, and "
					"is nothing that xenfault may remove: move it away",
					name);
			else if (remove && unlink(name))
				code = xf_fail_errno(err, XF_IO, "cannot remove %s", name);
		}
		free(name);
		if (code)
			return code;
	}
	return 0;
}

/* May the name be taken? */
static int check_name(const struct xf_newfile *file, struct xf_error *err)
{
	struct xf_holder holder;
	struct stat st;

	if (lstat(file->path, &st))
		return 0;
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return xf_fail(err, XF_IO,
			"%s is no ordinary file: a new one cannot stand in its place", file->path);
	if (xf_filelock_held_at(file->path, &holder))
		return xf_filelock_refuse(file->path, &holder, err);
	if (!(file->flags & XF_NEWFILE_FORCE))
		return xf_fail(err, XF_IO,
			"%s exists already; --force replaces it, -o chooses another name",
			file->path);
	return 0;
}

/* A file with a new name, locked; *fd is -1 and errno set where there can be none. */
static char *create(const char *path, unsigned flags, int *fd)
{
	enum xf_writer what = flags & XF_NEWFILE_RECORD ? XF_WRITER_RECORD : XF_WRITER_MAKE;

	for (int tries = 0; tries < 100; tries++) {
		char *name = temporary_name(path);
		struct stat st;

		*fd = -1;
		if (!name) {
			errno = ENOMEM;
			return NULL;
		}
		*fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY,
			flags & XF_NEWFILE_PRIVATE ? 0600 : 0666);
		/* somebody who took it for a dead run's may have removed it before it was locked */
		if (*fd >= 0) {
			int failed;

			xf_filelock_wait(*fd, what);
			failed = fstat(*fd, &st) ? errno : st.st_nlink ? 0 : EEXIST;
			if (!failed)
				return name;
			if (failed != EEXIST)
				unlink(name);
			close(*fd);
			*fd = -1;
			errno = failed;
		}
		free(name);
		if (errno != EEXIST)
			break;
	}
	return NULL;
}

int xf_newfile_open(
	struct xf_newfile **file, const char *path, unsigned flags, struct xf_error *err)
{
	struct xf_newfile *f = calloc(1, sizeof(*f));
	int code;

	if (!f)
		return xf_fail_nomem(err);
	f->fd = -1;
	f->flags = flags;
	f->path = strdup(path);
	if (!f->path)
		code = xf_fail_nomem(err);
	else if (!(code = check_name(f, err)) && !(code = look_around(f, err)) &&
		 !(code = leftovers(f, false, err)) && !(f->working = create(path, flags, &f->fd)))
		code = xf_fail_errno(err, XF_IO, "cannot write %s", path);
	if (code) {
		xf_newfile_close(f);
		return code;
	}
	*file = f;
	return 0;
}

/* The name itself must survive a power cut too. */
static int sync_folder(const char *path, struct xf_error *err)
{
	char *folder = folder_of(path);
	int fd, code = 0;

	if (!folder)
		return xf_fail_nomem(err);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* not every folder can be read, and not every file system can do this */
	if (fd >= 0 && fsync(fd) && errno != EINVAL)
		code = xf_fail_errno(err, XF_IO, "cannot write the folder of %s", path);
	if (fd >= 0)
		close(fd);
	free(folder);
	return code;
}

/* Takes the name; without force never from another file. */
static int take_name(struct xf_newfile *file, struct xf_error *err)
{
	struct stat st;
	int failed;

	if (file->flags & XF_NEWFILE_FORCE) {
		failed = rename(file->working, file->path);
	} else {
		failed = renameat2(AT_FDCWD, file->working, AT_FDCWD, file->path, RENAME_NOREPLACE);
		/* file systems that know no such rename */
		if (failed && (errno == EINVAL || errno == ENOSYS)) {
			errno = EEXIST;
			failed = !lstat(file->path, &st) || rename(file->working, file->path);
		}
	}
	if (failed && errno == EEXIST)
		return xf_fail(err, XF_IO, "%s has come to exist meanwhile; nothing was replaced",
			file->path);
	return failed ? xf_fail_errno(err, XF_IO, "cannot write %s", file->path) : 0;
}

int xf_newfile_place(struct xf_newfile *file, struct xf_error *err)
{
	struct xf_holder holder;
	int code;

	if (fsync(file->fd))
		return xf_fail_errno(err, XF_IO, "cannot write %s", file->path);
	if (file->flags & XF_NEWFILE_FORCE && xf_filelock_held_at(file->path, &holder))
		return xf_filelock_refuse(file->path, &holder, err);
	if ((code = leftovers(file, true, err)) || (code = take_name(file, err)))
		return code;
	free(file->working);
	file->working = NULL;
	return sync_folder(file->path, err);
}

/* The folder of a name without links, and the name in it; to be freed, NULL = no such folder. */
static char *place_of(const char *path)
{
	char *folder = folder_of(path), *real = folder ? realpath(folder, NULL) : NULL, *place;

	if (!real || asprintf(&place, "%s/%s", real, base(path)) < 0)
		place = NULL;
	free(folder);
	free(real);
	return place;
}

bool xf_newfile_takes(const char *path, const char *other)
{
	/* a link is replaced, not followed; what is read is what a link leads to */
	char *ours = place_of(path), *named = place_of(other), *real = realpath(other, NULL);
	bool takes = ours && ((named && !strcmp(ours, named)) || (real && !strcmp(ours, real)));

	free(ours);
	free(named);
	free(real);
	return takes;
}

char *xf_newfile_kept_name(const char *path)
{
	struct stat st;
	char *name;

	for (int i = 1; asprintf(&name, i == 1 ? "%s" KEPT : "%s" KEPT "-%d", path, i) >= 0; i++) {
		if (lstat(name, &st))
			return name;
		free(name);
	}
	return NULL;
}

bool xf_newfile_belongs(const char *made, const char *name)
{
	size_t length = strlen(made), n;
	const char *rest = name + length;

	if (!strncmp(name, made, length)) {
		if (!strncmp(rest, KEPT, strlen(KEPT))) {
			rest += strlen(KEPT);
			n = *rest == '-' ? strspn(rest + 1, "0123456789") : 0;
			rest += n ? n + 1 : 0;
		}
	} else if (!(rest = strstr(name, MARK)) || rest == name ||
		   strncmp(name, made, (size_t)(rest - name)) != 0) {
		/* a long name is cut in front of the mark */
		return false;
	}
	if (!strncmp(rest, MARK, strlen(MARK)) && strlen(rest) >= strlen(MARK) + RANDOM)
		rest += strlen(MARK) + RANDOM;
	for (size_t i = 0; i < BESIDE; i++)
		if (!strcmp(rest, beside[i]))
			return true;
	return !*rest;
}

static int copy(int from, int to, const char *name, struct xf_error *err)
{
	char buffer[32768];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(from, buffer, sizeof(buffer), at)) > 0) {
		for (ssize_t done = 0, part; done < n; done += part) {
			part = write(to, buffer + done, (size_t)(n - done));
			if (part < 0)
				return xf_fail_errno(err, XF_IO, "cannot write %s", name);
		}
		at += n;
	}
	return n < 0 ? xf_fail_errno(err, XF_IO, "cannot read what %s is to keep", name) : 0;
}

int xf_newfile_keep(const struct xf_newfile *file, char **kept, struct xf_error *err)
{
	struct xf_newfile *new = NULL;
	int code;

	*kept = xf_newfile_kept_name(file->path);
	if (!*kept)
		return xf_fail_nomem(err);
	code = xf_newfile_open(&new, *kept, file->flags & XF_NEWFILE_PRIVATE, err);
	if (!code)
		code = copy(file->fd, new->fd, *kept, err);
	if (!code)
		code = xf_newfile_place(new, err);
	xf_newfile_close(new);
	if (code) {
		free(*kept);
		*kept = NULL;
	}
	return code;
}

bool xf_newfile_is_there(const struct xf_newfile *file)
{
	struct stat named, ours;

	/* who cannot look does not know that it is gone */
	if (lstat(file->path, &named))
		return errno != ENOENT && errno != ENOTDIR;
	return fstat(file->fd, &ours) ||
	       (named.st_ino == ours.st_ino && named.st_dev == ours.st_dev);
}

void xf_newfile_close(struct xf_newfile *file)
{
	if (!file)
		return;
	if (file->working) {
		remove_beside(AT_FDCWD, file->working);
		unlink(file->working);
	}
	if (file->fd >= 0)
		close(file->fd);
	free(file->working);
	free(file->path);
	free(file);
}

int xf_newfile_unnamed(const char *path, struct xf_error *err)
{
	const char *variable = getenv("TMPDIR");
	char *folder = path ? folder_of(path) : strdup(variable && *variable ? variable : "/tmp");
	char *beneath = NULL, *name;
	int fd;

	if (!folder)
		return xf_fail_nomem(err);
	fd = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	/* file systems that know no such file */
	if (fd < 0 && asprintf(&beneath, "%s/xenfault", folder) >= 0) {
		name = create(beneath, XF_NEWFILE_PRIVATE, &fd);
		if (name)
			unlink(name);
		free(name);
	}
	if (fd < 0)
		fd = xf_fail_errno(err, XF_IO, "cannot make a temporary file in %s", folder);
	free(beneath);
	free(folder);
	return fd;
}
