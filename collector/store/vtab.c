// SPDX-License-Identifier: GPL-2.0-or-later
/* xentrace(path) for SQLite.  In: a trace.  Out: rows. */
#include "collector/store/vtab.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/db.h"

/*
 * X(enum, declaration with its comma): the first ones are those of the view `events`, in its order;
 * path and cpu_hz are the function's arguments
 */
#define COLUMNS(X)                           \
	X(EVENT_ID, "event_id INTEGER,")     \
	X(TSC, "tsc INTEGER,")               \
	X(US, "us REAL,")                    \
	X(PCPU, "pcpu INTEGER,")             \
	X(DOMID, "domid INTEGER,")           \
	X(VCPU, "vcpu INTEGER,")             \
	X(KIND, "kind TEXT,")                \
	X(VA, "va INTEGER,")                 \
	X(PT_PAGE, "pt_page INTEGER,")       \
	X(SLOT, "slot INTEGER,")             \
	X(RIP, "rip INTEGER,")               \
	X(SYMBOL, "symbol TEXT,")            \
	X(ERROR_CODE, "error_code INTEGER,") \
	X(PTE, "pte INTEGER,")               \
	X(FRAME, "frame INTEGER,")           \
	X(COUNT, "count INTEGER,")           \
	X(RAW_ID, "raw_id INTEGER,")         \
	X(TSC_LATE, "tsc_late INTEGER,")     \
	X(ARG1, "arg1 INTEGER,")             \
	X(ARG2, "arg2 INTEGER,")             \
	X(PATH, "path TEXT HIDDEN,")         \
	X(CPU_HZ, "cpu_hz INTEGER HIDDEN,")  \
	X(PLACE, "place INTEGER HIDDEN,")    \
	X(TYPE, "type INTEGER HIDDEN")

enum column {
#define X(id, text) COLUMN_##id,
	COLUMNS(X)
#undef X
		COLUMNS_END
};

struct table {
	sqlite3_vtab base;
	struct xf_vtab *config;
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct xf_reader *reader;
	bool own;
	bool end;
	int64_t id;
	uint64_t tsc_first, cpu_hz;
	int64_t left;	     /* of the budget */
	unsigned until_stop; /* rows until stop() is asked again */
	struct xf_event event;
	char symbol[256];
};

static int connect_table(sqlite3 *db, void *data, int argc, const char *const *argv,
	sqlite3_vtab **vtab, char **message)
{
	struct table *table = sqlite3_malloc(sizeof(*table));
	int code;

	(void)argc, (void)argv, (void)message;
	/* a view of a foreign database must not open files */
	if (!((struct xf_vtab *)data)->in_views)
		sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
	if (!table)
		return SQLITE_NOMEM;
	memset(table, 0, sizeof(*table));
	table->config = data;
#define X(id, text) text " "
	code = sqlite3_declare_vtab(db, "CREATE TABLE xentrace(" COLUMNS(X) ")");
#undef X
	if (code != SQLITE_OK) {
		sqlite3_free(table);
		return code;
	}
	*vtab = &table->base;
	return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *vtab)
{
	sqlite3_free(vtab);
	return SQLITE_OK;
}

/*
 * Only the arguments are looked up; the events come in order of event_id and tsc by themselves.
 * idxNum: bit 0 = there is a path, bit 1 = and behind it, or alone, a frequency.
 */
static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	int path = -1, hz = -1;

	(void)vtab;
	for (int i = 0; i < info->nConstraint; i++) {
		int column = info->aConstraint[i].iColumn;

		if ((column != COLUMN_PATH && column != COLUMN_CPU_HZ) ||
			info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		if (!info->aConstraint[i].usable)
			return SQLITE_CONSTRAINT;
		info->aConstraintUsage[i].omit = 1;
		*(column == COLUMN_PATH ? &path : &hz) = i;
	}
	info->idxNum = (path >= 0) | (hz >= 0) << 1;
	if (path >= 0)
		info->aConstraintUsage[path].argvIndex = 1;
	if (hz >= 0)
		info->aConstraintUsage[hz].argvIndex = 1 + (path >= 0);
	if (info->nOrderBy == 1 && info->aOrderBy[0].iColumn == COLUMN_EVENT_ID &&
		!info->aOrderBy[0].desc)
		info->orderByConsumed = 1;
	info->estimatedCost = 1e6;
	info->estimatedRows = 1000000;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor)
{
	struct cursor *c = sqlite3_malloc(sizeof(*c));

	(void)vtab;
	if (!c)
		return SQLITE_NOMEM;
	memset(c, 0, sizeof(*c));
	*cursor = &c->base;
	return SQLITE_OK;
}

static void drop_reader(struct cursor *c)
{
	if (c->own)
		xf_reader_close(c->reader);
	c->reader = NULL;
	c->own = false;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
	drop_reader((struct cursor *)cursor);
	sqlite3_free(cursor);
	return SQLITE_OK;
}

/* Hands an error to SQLite, and keeps the code for the caller of the statement. */
static int failed(struct cursor *c, struct xf_vtab *config)
{
	sqlite3_free(c->base.pVtab->zErrMsg);
	c->base.pVtab->zErrMsg = sqlite3_mprintf("%s", config->err.text);
	c->end = true;
	return SQLITE_ERROR;
}

static void interrupt(struct cursor *c, struct xf_vtab *config)
{
	if (config->pump)
		xf_pump_interrupt(config->pump);
	else
		xf_reader_interrupt(c->reader);
}

static int next_row(sqlite3_vtab_cursor *cursor)
{
	struct cursor *c = (struct cursor *)cursor;
	struct xf_vtab *config = ((struct table *)c->base.pVtab)->config;
	int code;

	if (config->budget && !--c->left) {
		config->again = config->exhausted = true;
		c->end = true;
		return SQLITE_OK;
	}
	for (;;) {
		if (config->stop && !c->until_stop--) {
			c->until_stop = 4096;
			if (config->stop(config->stop_data))
				interrupt(c, config);
		}
		code = config->pump ? xf_pump_next(config->pump, &c->event, &config->err)
				    : xf_reader_next(c->reader, &c->event, &config->err);
		if (code != XF_AGAIN)
			break;
		/* a live source that is quiet: the caller decides; a pipe: shall we stop? */
		if (xf_reader_live(c->reader)) {
			config->again = true;
			code = 0;
			break;
		}
		c->until_stop = 0;
	}
	if (code < 0)
		return failed(c, config);
	c->end = !code;
	if (c->end)
		return SQLITE_OK;
	c->id = c->own ? c->id + 1 : ++config->last_id;
	if (config->tap && config->tap(config->tap_data, c->id, &c->event, &config->err))
		return failed(c, config);
	return SQLITE_OK;
}

static int filter(
	sqlite3_vtab_cursor *cursor, int number, const char *text, int argc, sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)cursor;
	struct xf_vtab *config = ((struct table *)c->base.pVtab)->config;
	struct xf_reader_stats stats;
	struct xf_source *source;
	const char *path = number & 1 ? (const char *)sqlite3_value_text(argv[0]) : config->path;
	int code;

	(void)text;
	drop_reader(c);
	xf_error_clear(&config->err);
	config->again = config->exhausted = false;
	c->left = config->budget + 1;
	c->until_stop = 0;
	c->cpu_hz = config->cpu_hz;
	if (number & 2 && sqlite3_value_int64(argv[argc - 1]) > 0)
		c->cpu_hz = (uint64_t)sqlite3_value_int64(argv[argc - 1]);
	if (config->reader) {
		c->reader = config->reader;
	} else if (!path) {
		xf_fail(&config->err, XF_USAGE, "xentrace('FILE'): no file was named");
		return failed(c, config);
	} else {
		c->id = 0;
		code = xf_source_open(&source, path, &config->err);
		if (!code)
			code = xf_reader_open(&c->reader, source, &config->err);
		if (code)
			return failed(c, config);
		c->own = true;
	}
	code = next_row(cursor);
	if (config->pump) {
		c->tsc_first = xf_pump_tsc_first(config->pump);
	} else {
		xf_reader_stats(c->reader, &stats);
		c->tsc_first = stats.tsc_first;
	}
	return code;
}

static int at_end(sqlite3_vtab_cursor *cursor)
{
	return ((struct cursor *)cursor)->end;
}

static void symbol_column(const struct cursor *c, struct xf_vtab *config, sqlite3_context *context)
{
	char text[256];
	const char *name = NULL;

	if (config->symbol && c->event.has & XF_HAS_RIP)
		name = config->symbol(config->symbol_data,
			c->event.has & XF_HAS_OWNER ? c->event.domid : -1, c->event.rip, text,
			sizeof(text));
	if (name)
		sqlite3_result_text(context, name, -1, SQLITE_TRANSIENT);
}

static int column_value(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
	const struct cursor *c = (const struct cursor *)cursor;
	struct xf_vtab *config = ((struct table *)c->base.pVtab)->config;
	const struct xf_event *e = &c->event;
	uint64_t value = 0;
	unsigned has = 0; /* bit that must be set for a value */

	switch (column) {
	case COLUMN_EVENT_ID:
		value = (uint64_t)c->id;
		break;
	case COLUMN_TSC:
		value = e->tsc, has = XF_HAS_TSC;
		break;
	case COLUMN_US:
		if (c->cpu_hz && e->has & XF_HAS_TSC)
			sqlite3_result_double(context,
				(double)(int64_t)(e->tsc - c->tsc_first) * 1e6 / (double)c->cpu_hz);
		return SQLITE_OK;
	case COLUMN_PCPU:
		value = e->pcpu;
		break;
	case COLUMN_DOMID:
		value = e->domid, has = XF_HAS_OWNER;
		break;
	case COLUMN_VCPU:
		value = e->vcpu, has = XF_HAS_OWNER;
		break;
	case COLUMN_KIND:
		sqlite3_result_text(context, xf_kind_name(e->kind), -1, SQLITE_STATIC);
		return SQLITE_OK;
	case COLUMN_VA:
		value = e->va, has = XF_HAS_VA;
		break;
	case COLUMN_PT_PAGE:
	case COLUMN_SLOT:
		if (!xf_kind_writes_pte(e->kind))
			return SQLITE_OK;
		has = XF_HAS_VA;
		value = column == COLUMN_PT_PAGE ? e->va & ~4095ull
						 : (e->va & 4095) >> xf_pte_shift(e->raw_id);
		break;
	case COLUMN_RIP:
		value = e->rip, has = XF_HAS_RIP;
		break;
	case COLUMN_SYMBOL:
		symbol_column(c, config, context);
		return SQLITE_OK;
	case COLUMN_ERROR_CODE:
		value = e->error_code, has = XF_HAS_ERROR;
		break;
	case COLUMN_PTE:
		value = e->pte, has = XF_HAS_PTE;
		break;
	case COLUMN_FRAME:
		value = e->frame, has = XF_HAS_FRAME;
		break;
	case COLUMN_COUNT:
		value = e->count, has = XF_HAS_COUNT;
		break;
	case COLUMN_RAW_ID:
		value = e->raw_id;
		break;
	case COLUMN_TSC_LATE:
		value = e->tsc_late, has = XF_HAS_LATE;
		break;
	case COLUMN_ARG1:
		value = e->arg1, has = XF_HAS_ARG1;
		break;
	case COLUMN_ARG2:
		value = e->arg2, has = XF_HAS_ARG2;
		break;
	case COLUMN_PLACE:
	case COLUMN_TYPE:
		if (!config->dictionary)
			return SQLITE_OK;
		value = (uint64_t)(column == COLUMN_PLACE
					   ? xf_dictionary_place(config->dictionary, e)
					   : xf_dictionary_type(config->dictionary, e));
		if (!value)
			return SQLITE_NOMEM;
		break;
	default:
		return SQLITE_OK;
	}
	if ((e->has & has) == has)
		sqlite3_result_int64(context, (int64_t)value);
	return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id)
{
	*id = ((struct cursor *)cursor)->id;
	return SQLITE_OK;
}

/* No xCreate: the module is its own table, and takes its arguments as a function does. */
static const sqlite3_module module = {
	.iVersion = 0,
	.xConnect = connect_table,
	.xBestIndex = best_index,
	.xDisconnect = disconnect_table,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next_row,
	.xEof = at_end,
	.xColumn = column_value,
	.xRowid = row_id,
};

int xf_vtab_register(sqlite3 *db, struct xf_vtab *vtab, struct xf_error *err)
{
	if (sqlite3_create_module(db, "xentrace", &module, vtab) != SQLITE_OK)
		return xf_db_fail(db, "xentrace", err);
	return 0;
}

static void free_config(void *vtab)
{
	sqlite3_free(vtab);
}

int xf_vtab_register_own(sqlite3 *db)
{
	struct xf_vtab *vtab = sqlite3_malloc(sizeof(*vtab));

	if (!vtab)
		return SQLITE_NOMEM;
	memset(vtab, 0, sizeof(*vtab));
	return sqlite3_create_module_v2(db, "xentrace", &module, vtab, free_config);
}
