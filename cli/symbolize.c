// SPDX-License-Identifier: GPL-2.0-or-later
/* Names for instruction addresses.  In: symbol files, addresses.  Out: names. */
#include "cli/symbolize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/symbols.h"
#include "collector/trace/doubt.h"
#include "schemas/db.h"
#include "schemas/xen.h"

struct xf_namer {
	int n;
	struct {
		struct xf_symbols *symbols;
		int domid;
	} files[XF_MAX_SYMBOL_FILES];
};

int xf_namer_new(struct xf_namer **namer, const struct xf_options *options, struct xf_error *err)
{
	struct xf_namer *n = calloc(1, sizeof(*n));
	int code = n ? 0 : xf_fail_nomem(err);

	for (int i = 0; i < options->nsymbols && !code; i++) {
		const struct xf_symbol_file *file = &options->symbols[i];

		n->files[i].domid = file->domid;
		code = xf_symbols_load(&n->files[i].symbols, file->path, file->offset, err);
		n->n += !code;
	}
	if (code) {
		xf_namer_free(n);
		return code;
	}
	*namer = n;
	return 0;
}

void xf_namer_free(struct xf_namer *namer)
{
	if (!namer)
		return;
	for (int i = 0; i < namer->n; i++)
		xf_symbols_free(namer->files[i].symbols);
	free(namer);
}

const char *xf_namer_find(void *data, int domid, uint64_t rip, char *text, size_t size)
{
	struct xf_namer *namer = data;
	uint64_t offset;

	/* Xen's own text is mapped while any domain runs */
	if (rip >= XF_XEN_TEXT && rip <= (XF_XEN_TEXT | UINT32_MAX))
		domid = XF_SYMBOLS_XEN;
	/* a file for this very domain comes before one for all */
	for (int exact = 1; exact >= 0; exact--) {
		for (int i = 0; i < namer->n && (exact || domid != XF_SYMBOLS_XEN); i++) {
			const char *name;

			if (namer->files[i].domid != (exact ? domid : -1) || (exact && domid == -1))
				continue;
			name = xf_symbols_find(namer->files[i].symbols, rip, &offset);
			if (!name)
				continue;
			snprintf(text, size, offset ? "%s+0x%llx" : "%s", name,
				(unsigned long long)offset);
			return text;
		}
	}
	return NULL;
}

/* Is it a function of Linux in which fork write-protects entries (with what the compiler puts inside)? */
static bool copies_tables(const char *name)
{
	static const char *const starts[] = {"copy_", "__copy_", "dup_mm", "ptep_set_wrprotect",
		"wrprotect_", "set_pte", "native_set_pte", "xen_set_pte", "xen_ptep_", "xen_pte_"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/*
 * Where most entries of forks were protected by an instruction that the files name as something else,
 * they are of another kernel: said, and kept beside the result.
 */
static int check_build(sqlite3 *db, struct xf_error *err)
{
	const char *doubt = xf_doubt_code(XF_DOUBT_OTHER_BUILD);
	sqlite3_stmt *stmt = NULL;
	char *sql = sqlite3_mprintf("DELETE FROM doubt WHERE code = %Q", doubt);
	int code = sql ? xf_db_exec(db, sql, err) : xf_fail_nomem(err);

	if (!code)
		code = xf_db_prepare(db, &stmt,
			"SELECT symbol, count(*) FROM forks WHERE symbol IS NOT NULL"
			" GROUP BY rtrim(symbol, '0123456789abcdefx') ORDER BY sum(ptes) DESC LIMIT 1",
			err);
	if (!code && (code = xf_db_step(stmt, err)) == 1) {
		const char *name = xf_db_text(stmt, 0);

		code = 0;
		if (!copies_tables(name)) {
			xf_warn("forks write-protect their entries in %s by these symbols, which is no "
				"function of fork: the file is of another kernel build, or KASLR moves it "
				"(--kaslr-offset)",
				name);
			sqlite3_free(sql);
			sql = sqlite3_mprintf(
				"INSERT INTO doubt (code, count, text) VALUES (%Q, %lld, %Q)",
				doubt, sqlite3_column_int64(stmt, 1),
				xf_doubt_text(XF_DOUBT_OTHER_BUILD));
			code = sql ? xf_db_exec(db, sql, err) : xf_fail_nomem(err);
		}
	}
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return code;
}

int xf_symbolize(sqlite3 *db, const struct xf_options *options, struct xf_error *err)
{
	struct xf_namer *namer = NULL;
	sqlite3_stmt *select = NULL, *insert = NULL;
	unsigned long long named = 0, kernel = 0;
	int code = xf_namer_new(&namer, options, err);

	if (!code)
		code = xf_db_exec(db, "DELETE FROM symbol", err);
	if (!code)
		code = xf_db_prepare(db, &select,
			"SELECT DISTINCT ifnull(p.domid, -1), e.rip FROM event e JOIN event_place p"
			" ON p.place = e.place WHERE e.rip IS NOT NULL",
			err);
	if (!code)
		code = xf_db_prepare(db, &insert, "INSERT INTO symbol VALUES (?, ?, ?)", err);
	while (!code && (code = xf_db_step(select, err)) == 1) {
		int domid = sqlite3_column_int(select, 0);
		int64_t rip = sqlite3_column_int64(select, 1);
		char text[256];
		const char *name = xf_namer_find(namer, domid, (uint64_t)rip, text, sizeof(text));

		kernel += rip < 0;
		code = 0;
		if (!name)
			continue;
		named++;
		sqlite3_bind_int(insert, 1, domid);
		sqlite3_bind_int64(insert, 2, rip);
		sqlite3_bind_text(insert, 3, name, -1, SQLITE_TRANSIENT);
		code = xf_db_step(insert, err);
		sqlite3_reset(insert);
	}
	if (!code && kernel && !named)
		xf_warn("the symbols name none of %llu kernel addresses: is it the guest's kernel, and does "
			"KASLR move it (--kaslr-offset)?",
			kernel);
	sqlite3_finalize(select);
	sqlite3_finalize(insert);
	if (!code)
		code = check_build(db, err);
	xf_namer_free(namer);
	return code;
}
