// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzz target: a database that somebody else made, before every command and a script of the TUI.
 * In: bytes: the first chooses the command, the second the capture, the rest are changes to it, one after
 * the other: a value put into some rows of a column, or bytes put into the file itself.  Out: a trap if
 * a command does not end, or ends with a failure and no reason.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/analyzer.h"
#include "cli/cli.h"
#include "collector/store/store.h"
#include "schemas/db.h"
#include "tests/fuzz/fuzz.h"

#define SCREENS                                                                                 \
	"<Screen>2<Screen>3<Screen>4<Screen>5<Screen>6<Screen>7<Screen>8<Screen>1<Down><Enter>" \
	"<Screen><Enter><Screen>/10<Enter><Screen>s<Screen>?<Screen>q"
#define MOST_COLUMNS 256

static const char *const captures[] = {"tests/fuzz/seeds/trace/dom0-crowd",
	"tests/fuzz/seeds/trace/pvh-shadow", "tests/fuzz/seeds/trace/domu-logdirty",
	"tests/fuzz/seeds/trace/dom0-forks", "tests/fuzz/seeds/trace/points-forks",
	"tests/fuzz/seeds/trace/pvh-hap-migrate"};
#define CAPTURES (sizeof(captures) / sizeof(captures[0]))

static const char *const commands[][8] = {{"forks"},
	{"forks", "--format", "csv", "--where", "ptes > 1"}, {"pages"},
	{"pages", "--fork", "1", "--format", "jsonl"}, {"events", "--format", "jsonl"},
	{"events", "--fork", "1"}, {"spurious"}, {"flushes", "--format", "csv"},
	{"flushes", "--each"},
	{"flushes", "--by", "caller", "--xen-symbols", "tests/fuzz/seeds/symbols/kallsyms"},
	{"walks"}, {"processes"}, {"episodes"}, {"episodes", "--link", "1e6"}, {"dirty"},
	{"dirty", "--format", "jsonl"},
	{"forks", "--sort", "cow_faults", "--reverse", "--min", "1"},
	{"pages", "--columns", "va_base,faults,mechanism"},
	{"verify", "--log", "tests/fuzz/seeds/log/inside"},
	{"analyze", "--guest", "d0=tests/fuzz/seeds/log/inside"},
	{"analyze", "--symbols", "tests/fuzz/seeds/symbols/kallsyms"}, {"info"}, {"policy"},
	{"diff"}, {"report"}, {"analyze"}, {"merge"}, {"export", "--to", "csv", "--view", "events"},
	{"export", "--to", "csv", "--view", "sequences"},
	{"export", "--to", "jsonl", "--view", "forks"}, {"export", "--to", "perfetto", "--detail"},
	{"export", "--to", "folded"}, {"export", "--to", "postgresql", "--host", "h"},
	{"tui", "--script", SCREENS}, {"tui", "--follow", "--script", "<Poll>" SCREENS}, {"sql"}};
#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

static char folder[64], path[96], fleet[96];
static struct {
	uint8_t *data;
	size_t size;
} images[CAPTURES];

/* A column of a table, of all captures. */
static struct {
	char table[40], name[40];
} columns[MOST_COLUMNS];
static size_t ncolumns;

/* What a log of dom0's kernel would have given: each fork has a process, which has run since a while. */
static const char names[] =
	"INSERT INTO domain_name VALUES (0, 'top');"
	"INSERT INTO guest_log SELECT 1, 0, 'log', 'cycles', count(*), 0, 0, 0, 0, min(tsc_start),"
	" max(tsc_end), 1.0, 9, 9, 0, 0, 1, 1, 1 FROM fork HAVING count(*) > 0;"
	"INSERT INTO guest_fork SELECT fork_id, 1, tsc_start, ifnull(vcpu, 0), 100 + fork_id, 'sh ' || fork_id,"
	" 200 + fork_id, 17, tsc_start - 1000, 1, NULL, NULL FROM fork;"
	"INSERT INTO guest_task SELECT fork_id, 1, tsc_end, ifnull(vcpu, 0), 200 + fork_id, 'ls', 'exec', '/bin/ls' FROM fork;"
	"INSERT OR IGNORE INTO guest_run SELECT 1, ifnull(vcpu, 0), tsc_start - 1000, tsc_end + 1, 100 + fork_id, 'sh' FROM fork;"
	"INSERT INTO fork_name SELECT fork_id, fork_id, 'log' FROM fork;"
	"INSERT INTO guest_fork_found SELECT fork_id, 'fork', fork_id, 'yes' FROM fork;";

static void make_image(size_t i)
{
	struct xf_vtab vtab = {0};
	struct xf_source *source;
	sqlite3 *db = NULL;
	sqlite3_int64 size;

	must(!xf_source_open(&source, captures[i], NULL));
	must(!xf_reader_open(&vtab.reader, source, NULL));
	must(!xf_store_scan(&db, &vtab, "fuzz", 0, NULL));
	must(!xf_analyze(db, NULL, NULL));
	must(sqlite3_exec(db, names, NULL, NULL, NULL) == SQLITE_OK);
	must(sqlite3_exec(db, "VACUUM", NULL, NULL, NULL) == SQLITE_OK);
	images[i].data = sqlite3_serialize(db, "main", &size, 0);
	images[i].size = (size_t)size;
	must(images[i].data);
	sqlite3_close(db);
	xf_reader_close(vtab.reader);
}

static void list_columns(void)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;

	must(sqlite3_open(":memory:", &db) == SQLITE_OK);
	must(sqlite3_deserialize(db, "main", images[0].data, (sqlite3_int64)images[0].size,
		     (sqlite3_int64)images[0].size, SQLITE_DESERIALIZE_READONLY) == SQLITE_OK);
	must(!xf_db_prepare(db, &stmt,
		"SELECT s.name, c.name FROM sqlite_schema s, pragma_table_info(s.name) c"
		" WHERE s.type = 'table' ORDER BY 1, 2",
		NULL));
	while (sqlite3_step(stmt) == SQLITE_ROW && ncolumns < MOST_COLUMNS) {
		snprintf(columns[ncolumns].table, sizeof(columns[0].table), "%s",
			xf_db_text(stmt, 0));
		snprintf(
			columns[ncolumns].name, sizeof(columns[0].name), "%s", xf_db_text(stmt, 1));
		ncolumns++;
	}
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	must(ncolumns);
}

/* What is left of the input. */
struct rest {
	const uint8_t *data;
	size_t size;
};

static unsigned take(struct rest *rest)
{
	if (!rest->size)
		return 0;
	rest->size--;
	return *rest->data++;
}

/* A value of any type into every n-th row of a column. */
static void change_value(sqlite3 *db, struct rest *rest)
{
	size_t column = (take(rest) << 8 | take(rest)) % ncolumns;
	unsigned every = take(rest) % 7 + 1, type = take(rest), n;
	sqlite3_stmt *stmt;
	int64_t number = 0;
	double real;
	char sql[200];

	snprintf(sql, sizeof(sql), "UPDATE OR IGNORE %s SET %s = ?1 WHERE abs(random()) %% %u = 0",
		columns[column].table, columns[column].name, every);
	/* the same rows for the same input */
	if (every > 1)
		snprintf(sql, sizeof(sql),
			"UPDATE OR IGNORE %s SET %s = ?1 WHERE length(hex(%s)) %% %u = %u",
			columns[column].table, columns[column].name, columns[column].name, every,
			type % every);
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return;
	for (int i = 0; i < 8; i++)
		number = (int64_t)((uint64_t)number << 8 |
				   (i < 8 - (int)(type >> 4 & 7) ? 0 : take(rest)));
	n = type >> 3 < rest->size ? type >> 3 : (unsigned)rest->size;
	memcpy(&real, &number, sizeof(real));
	switch (type % 6) {
	case 0:
		break; /* NULL */
	case 1:
		sqlite3_bind_int64(stmt, 1, number);
		break;
	case 2:
		sqlite3_bind_int64(stmt, 1, -number - 1);
		break;
	case 3:
		sqlite3_bind_double(stmt, 1, real);
		break;
	case 4:
		sqlite3_bind_text(stmt, 1, (const char *)rest->data, (int)n, SQLITE_STATIC);
		break;
	default:
		sqlite3_bind_blob(stmt, 1, rest->data, (int)n, SQLITE_STATIC);
	}
	sqlite3_step(stmt);
	sqlite3_finalize(stmt);
	if (type % 6 > 3) {
		rest->data += n;
		rest->size -= n;
	}
}

/* Values first; then bytes of the file.  The file, to be freed. */
static uint8_t *changed(size_t capture, struct rest *rest, size_t *size)
{
	unsigned values = take(rest) % 6;
	uint8_t *copy = sqlite3_malloc64(images[capture].size), *result;
	sqlite3_int64 n = 0;
	sqlite3 *db;

	must(copy && sqlite3_open(":memory:", &db) == SQLITE_OK);
	memcpy(copy, images[capture].data, images[capture].size);
	must(sqlite3_deserialize(db, "main", copy, (sqlite3_int64)images[capture].size,
		     (sqlite3_int64)images[capture].size,
		     SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) == SQLITE_OK);
	sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
	for (unsigned i = 0; i < values && rest->size; i++)
		change_value(db, rest);
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	result = sqlite3_serialize(db, "main", &n, 0);
	must(result);
	sqlite3_close(db);
	*size = (size_t)n;
	while (rest->size > 4) {
		size_t at = (take(rest) << 16 | take(rest) << 8 | take(rest)) % *size;

		result[at] = (uint8_t)take(rest);
	}
	return result;
}

static void write_file(const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size && !close(fd));
}

/* The arguments of a command; how many. */
static int arguments(char **argv, const char *const *command)
{
	static char host[128], output[] = "-o",
			       statement[] = "SELECT * FROM forks, capture, symbol LIMIT 20";
	int argc = 0;

	for (; command[argc]; argc++)
		argv[argc] = (char *)(uintptr_t)command[argc];
	if (!strcmp(argv[0], "merge")) {
		snprintf(host, sizeof(host), "h=%s", path);
		argv[argc++] = output;
		argv[argc++] = fleet;
		argv[argc++] = host;
		return argc;
	}
	argv[argc++] = path;
	if (!strcmp(argv[0], "diff"))
		argv[argc++] = path;
	if (!strcmp(argv[0], "sql"))
		argv[argc++] = statement;
	return argc;
}

static void tidy(void)
{
	unlink(path);
	unlink(fleet);
	rmdir(folder);
}

/* What reads a database and stands not in the list would go untried. */
static void check_commands(void)
{
	static const char *const others[] = {"import", "record", "help", "version"};

	for (int i = 0; xf_commands[i]; i++) {
		bool known = false;

		for (size_t k = 0; k < NCOMMANDS; k++)
			known |= !strcmp(commands[k][0], xf_commands[i]->name);
		for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++)
			known |= !strcmp(others[k], xf_commands[i]->name);
		must(known);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	snprintf(folder, sizeof(folder), "%s/xenfault-fuzz-XXXXXX",
		access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	must(mkdtemp(folder) && !atexit(tidy));
	snprintf(path, sizeof(path), "%s/x.db", folder);
	snprintf(fleet, sizeof(fleet), "%s/f.db", folder);
	for (size_t i = 0; i < CAPTURES; i++)
		make_image(i);
	list_columns();
	check_commands();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rest rest = {data, size};
	const char *const *command = commands[take(&rest) % NCOMMANDS];
	size_t capture = take(&rest) % CAPTURES, length;
	struct xf_options *options = NULL;
	struct xf_error err = {0};
	char *argv[16];
	int argc = arguments(argv, command), code, kept[2];
	uint8_t *file = changed(capture, &rest, &length);

	argv[argc] = NULL;
	write_file(file, length);
	sqlite3_free(file);
	unlink(fleet);
	fflush(stdout);
	fflush(stderr);
	for (int fd = 1; fd <= 2; fd++) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		kept[fd - 1] = dup(fd);
		dup2(null, fd);
		close(null);
	}
	optind = 0;
	code = xf_options_parse(&options, xf_command_by_name(argv[0]), argc, argv, &err);
	if (!code)
		code = options->command->run(options, &err);
	free(options);
	fflush(stdout);
	for (int fd = 1; fd <= 2; fd++) {
		dup2(kept[fd - 1], fd);
		close(kept[fd - 1]);
	}
	must(!code || (err.code != XF_OK && err.text[0]));
	return 0;
}
