// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a process that gave up root's rights can still do, and what it cannot: tried by a process that
 * does its worst.  In: root, a folder that is root's alone.  Out: cases; none for an ordinary user.
 */
#include "common/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/newfile.h"
#include "tests/unit/unit.h"

static char folder[] = "/tmp/xenfault-broker-XXXXXX";

static void put(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		perror(name);
	close(fd);
}

static bool opens(const char *name, int flags)
{
	int fd = open(name, flags | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool holds(const char *name, const char *wanted)
{
	char text[16] = "";
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	return n == (ssize_t)strlen(wanted) && !strcmp(text, wanted);
}

static void can(const char *name, bool good)
{
	char text[200];

	snprintf(text, sizeof(text), "broker: without root's rights, still: %s", name);
	report(text, good, strerror(errno));
}

static void cannot(const char *name, bool good)
{
	char text[200];

	snprintf(text, sizeof(text), "broker: without root's rights, no more: %s", name);
	report(text, !good, "it worked");
}

static void names_of_its_own(const char *whole)
{
	struct stat st;
	char path[PATH_MAX];
	int fd = open(".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	can("makes the file, beside a name that its user would choose",
		opens("x.db", O_RDWR | O_CREAT | O_EXCL));
	can("finds it by its whole name", !stat(whole, &st) && !st.st_uid);
	can("reads what is granted", holds("list", "granted"));
	can("renames and removes what SQLite does",
		opens("x.db-journal", O_RDWR | O_CREAT) && !access("x.db-journal", R_OK | W_OK) &&
			!rename("x.db-journal", "x.db.kept") && !unlink("x.db.kept"));
	can("looks on the way there", realpath("x.db", path) && !strcmp(path, whole));
	can("makes a file without a name", fd >= 0);
	close(fd);
	can("maps memory and makes threads' clones",
		mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
}

static void names_of_others(const char *memory)
{
	cannot("a file that nobody granted", opens("secret", O_RDONLY));
	cannot("the same by another way", opens("./sub/../secret", O_RDONLY));
	cannot("writing what may be read", opens("list", O_RDWR));
	cannot("truncating it", opens("list", O_RDONLY | O_TRUNC));
	cannot("a name that only begins like it", opens("x.db.bak", O_RDWR));
	cannot("a link under its name", opens("x.db-wal", O_RDWR));
	cannot("a pipe under its name", opens("x.db-shm", O_RDONLY));
	cannot("a new name", opens("new", O_RDWR | O_CREAT));
	cannot("its name in another folder", opens("sub/x.db", O_RDWR | O_CREAT));
	cannot("renaming from a name of others", !rename("secret", "x.db.kept"));
	cannot("renaming to one", !rename("x.db", "secret"));
	cannot("exchanging", !syscall(SYS_renameat2, AT_FDCWD, "x.db", AT_FDCWD, "x.db.kept", 2));
	cannot("removing", !unlink("secret"));
	cannot("a folder", !mkdir("x.db.kept", 0700));
	cannot("the system's secrets", opens("/etc/shadow", O_RDONLY));
	cannot("memory of the process with rights", opens(memory, O_RDWR));
}

static void other_powers(pid_t stranger)
{
	cannot("becoming root", !setuid(0) || !setreuid(0, 0));
	cannot("a program", execl("/bin/true", "true", NULL) == 0 || errno != EPERM);
	cannot("a connection", socket(AF_INET, SOCK_STREAM, 0) >= 0);
	cannot("tracing", !ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
	cannot("a signal to a process that is not its child", !kill(stranger, SIGKILL));
}

/* The process under test. */
static int confined(pid_t child, pid_t stranger, const char *whole)
{
	static const char *const read[] = {"list"};
	struct xf_broker_grants grants = {
		.read = read, .nread = 1, .made = {"x.db"}, .children = {child}, .file = -1};
	struct xf_confine_who nobody = {65534, 65534};
	struct xf_confined what = {0};
	struct xf_error err = {0};
	char memory[40];
	int broker;

	snprintf(memory, sizeof(memory), "/proc/%d/mem", (int)getppid());
	if (xf_broker_start(&broker, &grants, &nobody, &what, &err)) {
		report("broker: starts", false, err.text);
		return 1;
	}
	report("broker: nothing is missing", !*what.missing, what.missing);
	names_of_its_own(whole);
	names_of_others(memory);
	other_powers(stranger);
	can("a signal to its child", !kill(child, SIGTERM));
	xf_broker_release(broker);
	cannot("its own file, once it has let go", opens("x.db", O_RDWR));
	return unit_status();
}

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	return pid;
}

static void names_that_belong(void)
{
	static const char *const ours[] = {"x.db", "x.db-wal", "x.db-shm", "x.db-journal",
		"x.db.kept", "x.db.kept-2", "x.db.kept-2-wal", "x.db.xenfault-tmp-0123456789ab",
		"x.db.xenfault-tmp-0123456789ab-journal", "x.db.kept.xenfault-tmp-0123456789ab"},
				 *const theirs[] = {"x.d", "x.db2", "x.db.bak", "x.db.kept-",
					 "x.db.kept-x", "x.db-wal2", "x.db.xenfault-tmp-0123",
					 "y.xenfault-tmp-0123456789ab",
					 ".xenfault-tmp-0123456789ab", "x.db.keptx", ""};
	const char *bad = NULL;

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (!xf_newfile_belongs("x.db", ours[i]))
			bad = ours[i];
	for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++)
		if (xf_newfile_belongs("x.db", theirs[i]))
			bad = theirs[i];
	report("newfile: names that belong to one, and others", !bad, bad ? bad : "");
}

int main(void)
{
	char whole[PATH_MAX];
	pid_t child, stranger, process;
	int status = 1;

	names_that_belong();
	if (geteuid())
		return unit_status();
	if (!mkdtemp(folder) || chdir(folder) || mkdir("sub", 0777))
		return 1;
	put("secret", "secret");
	put("list", "granted");
	put("x.db.bak", "theirs");
	if (symlink("secret", "x.db-wal") || mkfifo("x.db-shm", 0666))
		return 1;
	snprintf(whole, sizeof(whole), "%s/x.db", folder);
	child = sleeper();
	stranger = sleeper();
	fflush(stdout);
	process = fork();
	if (!process) {
		status = confined(child, stranger, whole);
		fflush(stdout);
		_exit(status);
	}
	waitpid(process, &status, 0);
	unit_failed += status != 0;
	report("broker: what is not its own is as it was",
		holds("secret", "secret") && holds("x.db.bak", "theirs") &&
			holds("list", "granted"),
		"changed");
	report("broker: the stranger lives",
		!kill(stranger, 0) && !waitpid(stranger, NULL, WNOHANG), "it does not");
	kill(stranger, SIGKILL);
	kill(child, SIGKILL);
	if (chdir("/"))
		return 1;
	snprintf(whole, sizeof(whole), "rm -r %s", folder);
	return system(whole) || unit_status();
}
