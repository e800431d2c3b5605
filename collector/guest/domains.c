// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of domains.  In: lines.  Out: rows of domain_name. */
#include "collector/guest/domains.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/db.h"

#define BLANKS	"	 \r\n"
#define FIELDS	4 /* that are looked at; xl list has more */
#define DOMIDS	0x7ff0
#define LONGEST 4096	/* bytes of a line */
#define MOST	1000000 /* lines: no host has so many domains */

/* "d3" or "3"; -1 = neither. */
static int id_of(const char *text)
{
	const char *digits = text + (*text == 'd');
	char *end;
	long id;

	if (*digits < '0' || *digits > '9')
		return -1;
	id = strtol(digits, &end, 10);
	return *end || id >= DOMIDS ? -1 : (int)id;
}

/* One line: 1 = a name, 0 = none is meant, -1 = it is not understood. */
static int read_line(char *line, int *domid, const char **name)
{
	char *fields[FIELDS] = {NULL}, *rest = line, *field;
	int n = 0;

	line[strcspn(line, "#\n")] = '\0';
	while (n < FIELDS && (field = strsep(&rest, BLANKS)))
		if (*field)
			fields[n++] = field;
	if (!n || (n > 2 && !strcmp(fields[0], "Name") && !strcmp(fields[1], "ID")))
		return 0;
	if (n < 2)
		return -1;
	*name = fields[n == 2];
	*domid = id_of(fields[n != 2]);
	if (n == 2 && *domid < 0) {
		*name = fields[0];
		*domid = id_of(fields[1]);
	}
	/* xl list: the domain is being made, or is gone */
	return *domid < 0 ? -1 : strcmp(*name, "(null)") != 0;
}

int xf_domains_read(
	sqlite3 *db, FILE *file, const char *path, uint64_t *names, struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	char line[LONGEST];
	unsigned long number = 0;
	int code = xf_db_prepare(
		db, &stmt, "INSERT OR REPLACE INTO domain_name (domid, name) VALUES (?, ?)", err);

	*names = 0;
	while (!code && fgets(line, sizeof(line), file)) {
		const char *name = "";
		bool whole = strchr(line, '\n') || feof(file);
		int domid = -1, found;

		number++;
		found = whole && number <= MOST ? read_line(line, &domid, &name) : -1;
		if (found < 0)
			code = xf_fail(err, XF_FORMAT,
				"%s, line %lu: not a domain's number and name, such as \"d3 web1\", nor a line"
				" of xl list",
				path, number);
		if (code || !found)
			continue;
		sqlite3_bind_int(stmt, 1, domid);
		sqlite3_bind_text(stmt, 2, name, -1, SQLITE_TRANSIENT);
		code = xf_db_step(stmt, err);
		sqlite3_reset(stmt);
		++*names;
	}
	if (!code && ferror(file))
		code = xf_fail_errno(err, XF_IO, "cannot read %s", path);
	sqlite3_finalize(stmt);
	return code;
}
