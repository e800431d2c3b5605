// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of schemas/filter.c.
 * In: expressions, a table made here.  Out: "ok NAME" or "FAIL NAME: why"; status 1 if one failed.
 * With a file name as argument: compiles each of its lines, for fuzzers.
 */
#include "schemas/filter.h"
#include "tests/unit/unit.h"

static const struct xf_filter_column columns[] = {
	{"id", "id", XF_FILTER_INT},
	{"vcpu", "(dom << 16 | vcpu)", XF_FILTER_VCPU},
	{"va", "va", XF_FILTER_HEX},
	{"us", "us", XF_FILTER_REAL},
	{"kind", "kind", XF_FILTER_TEXT},
	{"symbol", "symbol", XF_FILTER_SYMBOL},
};

#define NCOLUMNS (sizeof(columns) / sizeof(columns[0]))

static sqlite3 *table(void)
{
	sqlite3 *db;

	if (sqlite3_open(":memory:", &db) != SQLITE_OK || xf_filter_functions(db, NULL) ||
		sqlite3_exec(db,
			"CREATE TABLE t (id, dom, vcpu, va, us, kind, symbol);"
			"INSERT INTO t VALUES (1, 0, 0, 4096, 1.5, 'emulate', 'copy_page_range+0x10'),"
			"(2, 0, 1, -4096, 2500.0, 'unhook', 'copy_page+0x10'),"
			"(3, 1, 1, NULL, NULL, 'Flush', NULL),"
			"(4, NULL, NULL, 8192, 0.0, 'rehook', 'copy_page_range')",
			NULL, NULL, NULL) != SQLITE_OK)
		exit(1);
	return db;
}

/* Ids of the rows that pass, as digits; "error at N" where the text is refused. */
static void run(sqlite3 *db, const char *text, char *result, size_t size)
{
	struct xf_filter filter;
	struct xf_error err = {0};
	sqlite3_stmt *stmt;
	size_t where, used = 0;
	char *sql;

	if (xf_filter_compile(&filter, text, columns, NCOLUMNS, 3, &where, &err)) {
		snprintf(result, size, "error at %zu", where);
		return;
	}
	sql = sqlite3_mprintf("SELECT id FROM t WHERE %s ORDER BY id", filter.sql);
	*result = '\0';
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) {
		snprintf(result, size, "%s", sqlite3_errmsg(db));
	} else {
		if (xf_filter_bind(&filter, stmt, &err))
			snprintf(result, size, "%.60s", err.text);
		while (sqlite3_step(stmt) == SQLITE_ROW && used + 2 < size)
			used += (size_t)snprintf(
				result + used, size - used, "%d", sqlite3_column_int(stmt, 0));
	}
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	xf_filter_free(&filter);
}

static const struct {
	const char *text, *wanted;
} cases[] = {
	{"", "1234"}, {"  ", "1234"}, {"id = 2", "2"}, {"id=2", "2"}, {"id == 0x2", "2"},
	{"id != 2", "134"}, {"id <> 2 and id < 4", "13"}, {"id >= 2 && id <= 3", "23"},
	{"id = 1 or id = 2 and va = 0", "1"}, {"(id = 1 or id = 2) and not va = 4096", "2"},
	{"!id = 1", "234"}, {"not not id = 1", "1"}, {"vcpu = d0v1", "2"}, {"vcpu != d0v1", "134"},
	{"vcpu = d1", "3"}, {"vcpu = 1", "23"}, {"vcpu = null", "4"}, {"vcpu != unknown", "123"},
	{"vcpu ~ ^d0", "12"}, {"va > 0xffff000000000000", "2"}, {"va < 0xffff000000000000", "14"},
	{"va = 0x1000", "1"}, {"va = fffffffffffff000", "2"}, {"va ~ 2000$", "4"}, {"us > 2k", "2"},
	{"us >= 1.5", "12"}, {"us", "12"}, {"va", "124"}, {"symbol", "124"},
	{"kind = emulate", "1"}, {"kind = 'emulate' or kind = \"unhook\"", "12"},
	{"kind ~ hook", "24"}, {"kind !~ hook", "13"}, {"kind ~ flush", "3"}, {"kind ~ Flush", "3"},
	{"kind ~ FLUSH", ""}, {"kind ~ 'un|em'", "12"}, {"KIND = emulate AND Id = 1", "1"},
	{"symbol = copy_page_range", "14"}, {"symbol != copy_page_range", "23"},
	{"symbol = copy_page_range+0x10", "1"}, {"symbol ~ range", "14"},
	{"kind = '\"; DROP TABLE t'", ""},
	/* refused, at the right place */
	{"idd = 2", "error at 0"}, {"id = 1 and idd = 2", "error at 11"}, {"id =", "error at 4"},
	{"id = x", "error at 5"}, {"id = 1 2", "error at 7"}, {"id 1", "error at 3"},
	{"(id = 1", "error at 0"}, {"id = 1)", "error at 6"}, {"id = 1 and", "error at 10"},
	{"= 1", "error at 0"}, {"kind = 'x", "error at 7"}, {"kind ~ 'a('", "error at 7"},
	{"id & 1", "error at 3"}, {"id < null", "error at 5"}, {"vcpu = dx", "error at 7"},
	{"va = zz", "error at 5"},
	{"id < 99999999999999999999", "1234"}, /* too large for 64 bits: a real number */
};

static void test_cases(void)
{
	sqlite3 *db = table();

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *wanted = cases[i].wanted;
		char result[128], why[300];

		run(db, cases[i].text, result, sizeof(result));
		snprintf(why, sizeof(why), "got '%s', wanted '%s'", result, wanted);
		report(*cases[i].text ? cases[i].text : "(empty)", !strcmp(result, wanted), why);
	}
	sqlite3_close(db);
}

/* Nesting is limited, so that neither parser nor SQLite runs out of stack. */
static void test_depth(void)
{
	sqlite3 *db = table();
	char text[5000], result[128];

	memset(text, '(', 2000);
	strcpy(text + 2000, "id = 1");
	run(db, text, result, sizeof(result));
	report("filter: 2,000 open parentheses", !strncmp(result, "error at", 8), result);
	*text = '\0';
	for (int i = 0; i < 500; i++)
		strcat(text, "not ");
	strcat(text, "id");
	run(db, text, result, sizeof(result));
	report("filter: 500 times not", !strncmp(result, "error at", 8), result);
	sqlite3_close(db);
}

/* Random texts of the language's own words; ends by a sanitizer if at all. */
static void test_random(void)
{
	static const char *const words[] = {"id", "vcpu", "va", "kind", "symbol", "=", "!=", "<",
		">=", "~", "!~", "(", ")", "and", "or", "not", "!", "d0v1", "8", "0xff", "'x'",
		"\"", "null", "1.5k", "-1", "&&", "|", "a(", "[", "\\", "\xff", "%s", "?1"};
	sqlite3 *db = table();
	char text[400], result[128];
	unsigned seed = 1;

	for (int i = 0; i < 20000; i++) {
		*text = '\0';
		for (int n = 0; n < 12; n++) {
			seed = seed * 1103515245 + 12345;
			strcat(text, words[(seed >> 16) % (sizeof(words) / sizeof(words[0]))]);
			if (seed >> 30)
				strcat(text, " ");
			if ((seed >> 8) % 8 == 0)
				break;
		}
		run(db, text, result, sizeof(result));
		if (result[0] && result[0] != 'e' && (result[0] < '1' || result[0] > '4')) {
			report(text, false, result);
			break;
		}
	}
	report("filter: 20,000 random texts", true, "");
	sqlite3_close(db);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		sqlite3 *db = table();
		FILE *file = fopen(argv[1], "r");
		char text[4096], result[128];

		while (file && fgets(text, sizeof(text), file)) {
			text[strcspn(text, "\n")] = '\0';
			run(db, text, result, sizeof(result));
		}
		if (file)
			fclose(file);
		sqlite3_close(db);
		return 0;
	}
	test_cases();
	test_depth();
	test_random();
	return unit_status();
}
