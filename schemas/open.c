// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The one gate in: a database that anybody may have made becomes a connection that is safe to use.
 * In: a path.  Out: a connection; or what is wrong with the file, by name.
 */
#include "schemas/db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/fleet.h"
#include "schemas/journal.h"
#include "schemas/sql.h"

#define LOOKS	5
#define LOOK_MS 20

static int check_id(int64_t id, bool fleet, const char *path, int64_t tables, struct xf_error *err)
{
	if (id == (fleet ? XF_FLEET_ID : XF_APPLICATION_ID))
		return 0;
	if (id == XF_FLEET_ID)
		return xf_fail(err, XF_FORMAT,
			"%s: a fleet of several hosts; name one as '%s#HOST', or ask all by xenfault sql",
			path, path);
	return xf_fail(err, XF_FORMAT, "%s: %s; xenfault %s", path,
		id == XF_APPLICATION_ID ? "a single capture, not a fleet"
		: tables		? "a SQLite database of another program"
					: "an empty database",
		fleet ? "merge makes a fleet of captures" : "import makes one from a trace file");
}

static int check_version(sqlite3 *db, const char *path, bool fleet, struct xf_error *err)
{
	int64_t id, version, tables;
	int code;

	if ((code = xf_db_int(db, "PRAGMA application_id", &id, err)) ||
		(code = xf_db_int(db, "PRAGMA user_version", &version, err)) ||
		(code = xf_db_int(db, "SELECT count(*) FROM sqlite_schema", &tables, err)) ||
		(code = check_id(id, fleet, path, tables, err)))
		return code;
	if (version > XF_SCHEMA_VERSION)
		return xf_fail(err, XF_FORMAT,
			"%s: written by a newer xenfault (schema %lld, this one knows %d); upgrade xenfault",
			path, (long long)version, XF_SCHEMA_VERSION);
	if (version < XF_SCHEMA_VERSION)
		return xf_fail(err, XF_FORMAT,
			"%s: written by an older xenfault (schema %lld, this one needs %d); "
			"import the trace again",
			path, (long long)version, XF_SCHEMA_VERSION);
	return 0;
}

/* --- The schema: what the file says of its tables must be what this program says --- */

struct object {
	char *name, *sql;
	bool seen;
};

struct model {
	struct object *objects;
	size_t n;
};

static void free_model(struct model *model)
{
	for (size_t i = 0; i < model->n; i++) {
		free(model->objects[i].name);
		free(model->objects[i].sql);
	}
	free(model->objects);
}

static int by_name(const void *a, const void *b)
{
	return strcasecmp(((const struct object *)a)->name, ((const struct object *)b)->name);
}

static int add_object(struct model *model, sqlite3_stmt *stmt, struct xf_error *err)
{
	struct object *more = realloc(model->objects, (model->n + 1) * sizeof(*more));

	if (!more)
		return xf_fail_nomem(err);
	model->objects = more;
	more[model->n] = (struct object){
		.name = strdup(xf_db_text(stmt, 0)), .sql = strdup(xf_db_text(stmt, 1))};
	if (!more[model->n].name || !more[model->n].sql)
		return xf_fail_nomem(err);
	model->n++;
	return 0;
}

/* As SQLite itself writes it down, in a database of our making. */
static int make_model(struct model *model, bool fleet, struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	int code;

	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		code = xf_fail_nomem(err);
	else if (fleet)
		code = xf_db_exec(db, xf_sql_fleet, err);
	else if (!(code = xf_db_exec(db, xf_sql_facts, err)) &&
		 !(code = xf_db_exec(db, xf_sql_derived, err)))
		code = xf_db_exec(db, xf_sql_views, err);
	if (!code)
		code = xf_db_prepare(db, &stmt,
			"SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL", err);
	while (!code && (code = xf_db_step(stmt, err)) == 1)
		code = add_object(model, stmt, err);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	if (!code)
		qsort(model->objects, model->n, sizeof(*model->objects), by_name);
	return code;
}

static int compare_schema(sqlite3 *db, const char *path, struct model *model, struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int code = xf_db_prepare(db, &stmt, "SELECT name, sql, type FROM main.sqlite_schema", err);

	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		struct object key = {.name = (char *)(uintptr_t)xf_db_text(stmt, 0)}, *object;

		object = bsearch(&key, model->objects, model->n, sizeof(key), by_name);
		code = 0;
		/* tables and views of the user's own do no harm */
		if (!object)
			continue;
		if (object->seen || strcmp(object->sql, xf_db_text(stmt, 1)) != 0)
			code = xf_fail(err, XF_FORMAT,
				"%s: its %s %s is not that of this xenfault: another program or version "
				"has changed it; import the trace again",
				path, xf_db_text(stmt, 2), object->name);
		object->seen = true;
	}
	sqlite3_finalize(stmt);
	for (size_t i = 0; !code && i < model->n; i++)
		if (!model->objects[i].seen)
			code = xf_fail(err, XF_FORMAT,
				"%s: it lacks the table or view %s: another program has changed it; "
				"import the trace again",
				path, model->objects[i].name);
	return code;
}

static int check_schema(sqlite3 *db, const char *path, bool fleet, struct xf_error *err)
{
	struct model model = {0};
	int code = make_model(&model, fleet, err);

	if (!code)
		code = compare_schema(db, path, &model, err);
	free_model(&model);
	return code;
}

/* --- The file --- */

/* What lies beside a database and would be taken for its changes, and is not its own; NULL = nothing. */
static const char *foreign(const char *path, const char *wal, const char *journal)
{
	unsigned char head[XF_DB_HEAD] = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);
	struct stat st;

	if (fd >= 0)
		close(fd);
	if (n != XF_DB_HEAD)
		return NULL;
	/* 19: the version that readers need; 1 = a rollback journal, 2 = WAL */
	if (head[19] == 1 && !lstat(wal, &st) && (st.st_size || !S_ISREG(st.st_mode)))
		return wal;
	return xf_journal_fits(journal, head) ? NULL : journal;
}

/* SQLite applies what has the names of a database's WAL and journal, whosever it is. */
static int check_beside(const char *path, struct xf_error *err)
{
	char *real = realpath(path, NULL), *wal = NULL, *journal = NULL;
	const char *bad = NULL;
	int code = 0;

	/* one of several looks falls between two steps of a process that changes it just now */
	if (real && asprintf(&wal, "%s-wal", real) >= 0 &&
		asprintf(&journal, "%s-journal", real) >= 0)
		for (int i = 0; i < LOOKS && (bad = foreign(path, wal, journal)); i++)
			usleep(LOOK_MS * 1000);
	if (bad)
		code = xf_fail(err, XF_DB,
			"%s: %s lies beside it and is not its own (of another capture, or planted): it "
			"would change what the database holds; move it away",
			path, bad);
	free(journal);
	free(wal);
	free(real);
	return code;
}

static int check_file(const char *path, struct xf_error *err)
{
	struct stat st;

	if (access(path, R_OK) && errno == EACCES)
		return xf_fail(err, XF_IO,
			"cannot read %s: Permission denied; its owner can, or root: sudo cat it into a file of yours",
			path);
	if (access(path, R_OK) || stat(path, &st))
		return xf_fail_errno(err, XF_IO, "cannot read %s", path);
	if (!S_ISREG(st.st_mode))
		return xf_fail(err, XF_FORMAT, "%s: no database: %s", path,
			S_ISDIR(st.st_mode) ? "it is a folder" : "it is no ordinary file");
	return check_beside(path, err);
}

/* --- The connection --- */

/* Nothing that stands in the file may act; what it makes us keep has bounds. */
static void harden(sqlite3 *db)
{
	static const struct {
		int what, value;
	} settings[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1}, {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
		{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
		{SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0}, {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0}},
	  limits[] = {{SQLITE_LIMIT_LENGTH, 64 << 20}, {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
		  {SQLITE_LIMIT_EXPR_DEPTH, 200}, {SQLITE_LIMIT_COMPOUND_SELECT, 100},
		  {SQLITE_LIMIT_VDBE_OP, 1000000}, {SQLITE_LIMIT_ATTACHED, 1},
		  {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000}, {SQLITE_LIMIT_WORKER_THREADS, 0}};

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		sqlite3_db_config(db, settings[i].what, settings[i].value, NULL);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		sqlite3_limit(db, limits[i].what, limits[i].value);
	/* a file that shrinks under a mapping kills the process */
	sqlite3_exec(db, "PRAGMA mmap_size = 0; PRAGMA cell_size_check = 1", NULL, NULL, NULL);
}

static int open_as(sqlite3 **db, const char *path, int read_only, bool fleet, struct xf_error *err)
{
	int code;

	*db = NULL;
	code = check_file(path, err);
	if (code)
		return code;
	if (sqlite3_open_v2(path, db, read_only ? XF_DB_READONLY : XF_DB_READWRITE, NULL) !=
		SQLITE_OK) {
		code = *db ? xf_db_fail(*db, path, err) : xf_fail_nomem(err);
		goto fail;
	}
	sqlite3_busy_timeout(*db, 10000);
	harden(*db);
	code = check_version(*db, path, fleet, err);
	if (!code)
		code = check_schema(*db, path, fleet, err);
	if (!code)
		return 0;
	if (err && err->code == XF_FORMAT && strstr(err->text, "not a SQLite")) {
		xf_error_clear(err);
		code = xf_fail(err, XF_FORMAT,
			"%s: not a xenfault database; if it is a trace, make one with: xenfault import %s",
			path, path);
	}
fail:
	sqlite3_close(*db);
	*db = NULL;
	return code;
}

int xf_db_open_fleet(sqlite3 **db, const char *path, int read_only, struct xf_error *err)
{
	return open_as(db, path, read_only, true, err);
}

static int open_host(
	sqlite3 **db, const char *path, const char *mark, int read_only, struct xf_error *err)
{
	char *fleet = strndup(path, (size_t)(mark - path));
	int code;

	if (!fleet)
		return xf_fail_nomem(err);
	if (!read_only)
		code = xf_fail(err, XF_USAGE,
			"%s: a host of a fleet is only read; change its own database and merge again",
			path);
	else
		code = open_as(db, fleet, 1, true, err);
	if (!code && (code = xf_fleet_show(*db, mark + 1, err))) {
		sqlite3_close(*db);
		*db = NULL;
	}
	free(fleet);
	return code;
}

int xf_db_open(sqlite3 **db, const char *path, int read_only, struct xf_error *err)
{
	const char *mark = strrchr(path, '#');

	*db = NULL;
	if (mark && access(path, F_OK))
		return open_host(db, path, mark, read_only, err);
	return open_as(db, path, read_only, false, err);
}
