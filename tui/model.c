// SPDX-License-Identifier: GPL-2.0-or-later
/* Which rows, in which order.  In: source, filter, order.  Out: count, ids, windows of rows. */
#include "common/clock.h"
#include "tui/model.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FILTER_PARAM 11
#define SMALL	     20000 /* ids; lists of that many are simply made again */

void xf_tui_model_init(struct xf_tui_model *m, sqlite3 *db, const struct xf_tui_source *source,
	const struct xf_tui_units *units, unsigned *next_table)
{
	*m = (struct xf_tui_model){
		.db = db, .source = source, .units = units, .sort = -1, .next_table = next_table};
	m->low = 1;
	for (int i = 0; i < source->ncolumns; i++)
		if (!(source->columns[i].flags & (XF_COL_HIDE | XF_COL_FILTER)))
			m->shown |= 1ull << i;
}

static void drop_table(struct xf_tui_model *m, unsigned table)
{
	char sql[60];

	if (!table)
		return;
	snprintf(sql, sizeof(sql), "DROP TABLE temp.list%u", table);
	sqlite3_exec(m->db, sql, NULL, NULL, NULL);
}

void xf_tui_model_free(struct xf_tui_model *m)
{
	drop_table(m, m->table);
	xf_filter_free(&m->filter);
	free(m->filter_text);
	*m = (struct xf_tui_model){0};
}

static int new_table(struct xf_tui_model *m, unsigned *table, struct xf_error *err)
{
	char sql[80];
	int code;

	snprintf(sql, sizeof(sql), "CREATE TEMP TABLE list%u (pos INTEGER PRIMARY KEY, id INTEGER)",
		*m->next_table + 1);
	code = xf_db_exec(m->db, sql, err);
	if (!code)
		*table = ++*m->next_table;
	return code;
}

/* Binds the source's parameters, as far as the statement has them, and the filter's values. */
static int bind(const struct xf_tui_model *m, sqlite3_stmt *stmt, bool filter, struct xf_error *err)
{
	int n = sqlite3_bind_parameter_count(stmt);

	for (int i = 0; i < XF_TUI_PARAMS && i < n; i++)
		if (!(m->nulls & 1u << i))
			sqlite3_bind_int64(stmt, i + 1, m->params[i]);
	return filter && m->filter.sql ? xf_filter_bind(&m->filter, stmt, err) : 0;
}

static int prepare(const struct xf_tui_model *m, sqlite3_stmt **stmt, char *sql, bool filter,
	struct xf_error *err)
{
	int code;

	if (!sql)
		return xf_fail_nomem(err);
	code = xf_db_prepare(m->db, stmt, sql, err);
	sqlite3_free(sql);
	if (!code && (code = bind(m, *stmt, filter, err))) {
		sqlite3_finalize(*stmt);
		*stmt = NULL;
	}
	return code;
}

/* Runs a statement without rows. */
static int run(const struct xf_tui_model *m, char *sql, bool filter, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = prepare(m, &stmt, sql, filter, err);

	if (code)
		return code;
	code = xf_db_step(stmt, err);
	sqlite3_finalize(stmt);
	return code < 0 ? code : 0;
}

static int read_bounds(
	const struct xf_tui_model *m, int64_t *low, int64_t *high, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = prepare(m, &stmt, sqlite3_mprintf("%s", m->source->bounds), false, err);

	*low = 1;
	*high = 0;
	if (code)
		return code;
	code = xf_db_step(stmt, err);
	if (code == 1 && sqlite3_column_type(stmt, 0) != SQLITE_NULL) {
		*low = sqlite3_column_int64(stmt, 0);
		*high = sqlite3_column_int64(stmt, 1);
	}
	sqlite3_finalize(stmt);
	return code < 0 ? code : 0;
}

static const char *conditions(const struct xf_tui_model *m)
{
	return m->source->where ? m->source->where : "1";
}

static bool by_id(const struct xf_tui_model *m)
{
	return m->sort < 0 || (m->source->columns[m->sort].flags & XF_COL_ORDER);
}

/* The useful direction of the column first, unknown last; addresses as unsigned. */
static char *sorted_sql(const struct xf_tui_model *m, unsigned table)
{
	const struct xf_tui_column *column = &m->source->columns[m->sort];
	const char *key = m->source->key, *down = column->flags & XF_COL_UP ? "" : " DESC";
	sqlite3_str *sql = sqlite3_str_new(NULL);

	sqlite3_str_appendf(sql,
		"INSERT INTO temp.list%u (id) SELECT %s FROM %s WHERE xf_seen(%s) AND (%s) AND %s "
		"ORDER BY (%s) IS NULL, ",
		table, key, m->source->from, key, conditions(m),
		m->filter.sql ? m->filter.sql : "1", column->sql);
	if (column->show == XF_SHOW_HEX)
		sqlite3_str_appendf(sql, "(%s) < 0%s, ", column->sql, down);
	sqlite3_str_appendf(sql, "(%s)%s, %s", column->sql, down, key);
	return sqlite3_str_finish(sql);
}

static int make_sorted(struct xf_tui_model *m, struct xf_error *err)
{
	unsigned table;
	int code = new_table(m, &table, err);

	if (code)
		return code;
	code = run(m, sorted_sql(m, table), true, err);
	if (code) {
		drop_table(m, table);
		return code;
	}
	drop_table(m, m->table);
	m->table = table;
	m->rows = sqlite3_changes64(m->db);
	m->scanned = m->high;
	return 0;
}

int xf_tui_model_restart(struct xf_tui_model *m, struct xf_error *err)
{
	int code = read_bounds(m, &m->low, &m->high, err);

	if (code)
		return code;
	m->generation++;
	m->direct = m->source->dense && by_id(m) && !m->filter.sql;
	if (m->direct) {
		drop_table(m, m->table);
		m->table = 0;
		m->scanned = m->high;
		return 0;
	}
	if (!by_id(m)) {
		code = make_sorted(m, err);
		if (code != -XF_INTERRUPTED || m->table)
			return code;
		m->sort = -1; /* never sorted before: go on by id */
		return code;
	}
	drop_table(m, m->table);
	m->table = 0;
	m->rows = 0;
	m->scanned = m->low - 1;
	m->slice = SMALL;
	return new_table(m, &m->table, err);
}

int xf_tui_model_grow(struct xf_tui_model *m, struct xf_error *err)
{
	int64_t low, high;
	int code = read_bounds(m, &low, &high, err);

	if (code)
		return code;
	if (low != m->low || high < m->high || (!m->direct && high - low < SMALL) ||
		(!m->direct && !m->table)) {
		code = xf_tui_model_restart(m, err);
		return code ? code : xf_tui_model_work(m, INT64_MAX, err) < 0 ? -XF_DB : 0;
	}
	if (high != m->high && m->backwards)
		m->generation++; /* positions count from the end */
	if (!m->direct && !by_id(m))
		return 0; /* a long list keeps its order until it is sorted again */
	m->high = high;
	if (m->direct)
		m->scanned = high;
	return 0;
}

static int scan_slice(struct xf_tui_model *m, struct xf_error *err)
{
	int64_t upto = (uint64_t)m->high - (uint64_t)m->scanned > (uint64_t)m->slice
			       ? m->scanned + m->slice
			       : m->high;
	sqlite3_stmt *stmt;
	int code = prepare(m, &stmt,
		sqlite3_mprintf("INSERT INTO temp.list%u (id) SELECT %s FROM %s "
				"WHERE %s > ?7 AND %s <= ?8 AND (%s) AND %s ORDER BY %s",
			m->table, m->source->key, m->source->from, m->source->key, m->source->key,
			conditions(m), m->filter.sql ? m->filter.sql : "1", m->source->key),
		true, err);

	if (code)
		return code;
	sqlite3_bind_int64(stmt, 7, m->scanned);
	sqlite3_bind_int64(stmt, 8, upto);
	code = xf_db_step(stmt, err);
	sqlite3_finalize(stmt);
	if (code < 0)
		return code;
	m->rows += sqlite3_changes64(m->db);
	m->scanned = upto;
	if (m->backwards)
		m->generation++; /* positions count from the end */
	return 0;
}

int xf_tui_model_work(struct xf_tui_model *m, int64_t nanoseconds, struct xf_error *err)
{
	int64_t start = xf_clock_ns(), before = start;

	while (m->table && m->scanned < m->high) {
		int code = scan_slice(m, err);
		int64_t after = xf_clock_ns();

		if (code)
			return code;
		if (after - before < 5000000 && m->slice < INT64_C(1) << 60)
			m->slice *= 2;
		else if (after - before > 20000000 && m->slice > 100)
			m->slice /= 2;
		before = after;
		if (after - start > nanoseconds)
			break;
	}
	return m->table && m->scanned < m->high;
}

double xf_tui_model_progress(const struct xf_tui_model *m)
{
	if (m->direct || m->high < m->low)
		return 1;
	return (double)(m->scanned - m->low + 1) / (double)(m->high - m->low + 1);
}

int64_t xf_tui_model_count(const struct xf_tui_model *m)
{
	return m->direct ? m->high - m->low + 1 : m->rows;
}

int xf_tui_model_filter(
	struct xf_tui_model *m, const char *text, size_t *where, struct xf_error *err)
{
	struct xf_filter_column columns[XF_TUI_MAX_COLUMNS];
	static const enum xf_filter_type types[] = {[XF_SHOW_INT] = XF_FILTER_INT,
		[XF_SHOW_HEX] = XF_FILTER_HEX,
		[XF_SHOW_REAL] = XF_FILTER_REAL,
		[XF_SHOW_TEXT] = XF_FILTER_TEXT,
		[XF_SHOW_SYMBOL] = XF_FILTER_SYMBOL,
		[XF_SHOW_VCPU] = XF_FILTER_VCPU,
		[XF_SHOW_TIME] = XF_FILTER_INT,
		[XF_SHOW_SPAN] = XF_FILTER_INT,
		[XF_SHOW_SINCE] = XF_FILTER_INT,
		[XF_SHOW_KIND] = XF_FILTER_TEXT,
		[XF_SHOW_PTE] = XF_FILTER_HEX,
		[XF_SHOW_ERROR] = XF_FILTER_INT,
		[XF_SHOW_SHARE] = XF_FILTER_INT};
	struct xf_filter filter = {0}, old = m->filter;
	char *copy = NULL, *old_text = m->filter_text;
	size_t n = 0;
	int code;

	for (int i = 0; i < m->source->ncolumns; i++) {
		const struct xf_tui_column *c = &m->source->columns[i];

		if (c->sql && c->show != XF_SHOW_SINCE && c->show != XF_SHOW_SHARE)
			columns[n++] = (struct xf_filter_column){c->name, c->sql, types[c->show]};
	}
	*where = 0;
	if (text && text[strspn(text, " \t")]) {
		code = xf_filter_compile(&filter, text, columns, n, FILTER_PARAM, where, err);
		if (code)
			return code;
		copy = strdup(text);
		if (!copy) {
			xf_filter_free(&filter);
			return xf_fail_nomem(err);
		}
	}
	m->filter = filter;
	m->filter_text = copy;
	code = xf_tui_model_restart(m, err);
	if (code) { /* an interrupted sort, or a failure: as it was */
		m->filter = old;
		m->filter_text = old_text;
		old = filter;
		old_text = copy;
	}
	xf_filter_free(&old);
	free(old_text);
	return code;
}

int xf_tui_model_sort(struct xf_tui_model *m, int column, bool backwards, struct xf_error *err)
{
	int old = m->sort, code;
	bool same = old == column ||
		    (by_id(m) && (column < 0 || (m->source->columns[column].flags & XF_COL_ORDER)));

	m->sort = column;
	if (same && (m->direct || m->table)) {
		m->backwards = backwards;
		m->generation++;
		return 0;
	}
	code = xf_tui_model_restart(m, err);
	if (code)
		m->sort = old;
	else
		m->backwards = backwards;
	return code;
}

/* Id at an index of the temporary table. */
static int id_at(struct xf_tui_model *m, sqlite3_stmt *stmt, int64_t index, int64_t *id,
	struct xf_error *err)
{
	int code;

	(void)m;
	sqlite3_bind_int64(stmt, 1, index + 1);
	code = xf_db_step(stmt, err);
	if (code == 1)
		*id = sqlite3_column_int64(stmt, 0);
	sqlite3_reset(stmt);
	return code < 0 ? code : 0;
}

/* In a table that grows with the id: the last row not above id. */
static int find_by_id(
	struct xf_tui_model *m, int64_t id, int64_t *index, bool *exact, struct xf_error *err)
{
	int64_t from = 0, to = m->rows - 1, there = 0;
	sqlite3_stmt *stmt;
	int code = prepare(m, &stmt,
		sqlite3_mprintf("SELECT id FROM temp.list%u WHERE pos = ?1", m->table), false, err);

	while (!code && from < to) {
		int64_t middle = from + (to - from + 1) / 2;

		code = id_at(m, stmt, middle, &there, err);
		if (there <= id)
			from = middle;
		else
			to = middle - 1;
	}
	if (!code)
		code = id_at(m, stmt, from, &there, err);
	*index = from;
	*exact = there == id;
	sqlite3_finalize(stmt);
	return code;
}

/* In any other table: looks at all rows. */
static int find_sorted(
	struct xf_tui_model *m, int64_t id, int64_t *index, bool *exact, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = prepare(m, &stmt,
		sqlite3_mprintf("SELECT pos FROM temp.list%u WHERE id = %lld", m->table, id), false,
		err);

	if (code)
		return code;
	code = xf_db_step(stmt, err);
	*exact = code == 1;
	*index = code == 1 ? sqlite3_column_int64(stmt, 0) - 1 : -1;
	sqlite3_finalize(stmt);
	return code < 0 ? code : 0;
}

int xf_tui_model_find(
	struct xf_tui_model *m, int64_t id, int64_t *position, bool *exact, struct xf_error *err)
{
	int64_t count = xf_tui_model_count(m), index = 0;
	int code = 0;

	*position = -1;
	*exact = false;
	if (!count)
		return 0;
	if (m->direct) {
		*exact = id >= m->low && id <= m->high;
		index = id < m->low ? 0 : id > m->high ? count - 1 : id - m->low;
	} else if (by_id(m)) {
		code = find_by_id(m, id, &index, exact, err);
	} else {
		code = find_sorted(m, id, &index, exact, err);
		if (index < 0)
			return code;
	}
	*position = m->backwards ? count - 1 - index : index;
	return code;
}

static void clear_row(struct xf_tui_row *row)
{
	for (int i = 0; i < XF_TUI_MAX_COLUMNS; i++)
		free(row->values[i].text);
	memset(row, 0, sizeof(*row));
}

void xf_tui_window_free(struct xf_tui_window *w)
{
	for (int i = 0; i < w->nrows; i++)
		clear_row(&w->rows[i]);
	free(w->rows);
	*w = (struct xf_tui_window){0};
}

const struct xf_tui_row *xf_tui_window_row(const struct xf_tui_window *w, int64_t position)
{
	if (position < w->first || position >= w->first + w->nrows)
		return NULL;
	return &w->rows[position - w->first];
}

static int make_room(struct xf_tui_window *w, int n, struct xf_error *err)
{
	for (int i = 0; i < w->nrows; i++)
		clear_row(&w->rows[i]);
	w->nrows = 0;
	if (n > w->room) {
		struct xf_tui_row *rows = realloc(w->rows, (size_t)n * sizeof(*rows));

		if (!rows)
			return xf_fail_nomem(err);
		memset(rows, 0, (size_t)n * sizeof(*rows));
		w->rows = rows;
		w->room = n;
	}
	return 0;
}

/* SELECT key, flag, every column that is needed (NULL for the others) FROM ... */
static char *select_sql(const struct xf_tui_model *m)
{
	const struct xf_tui_source *s = m->source;
	sqlite3_str *sql = sqlite3_str_new(NULL);

	sqlite3_str_appendf(sql, "SELECT %s, %s", s->key, s->flag ? s->flag : "0");
	for (int i = 0; i < s->ncolumns; i++) {
		const struct xf_tui_column *c = &s->columns[i];
		bool read = (m->shown & 1ull << i) || (c->flags & XF_COL_ALWAYS);

		sqlite3_str_appendf(sql, ", %s", read && c->sql ? c->sql : "NULL");
	}
	if (m->direct)
		sqlite3_str_appendf(sql, " FROM %s WHERE %s BETWEEN ?7 AND ?8 ORDER BY %s", s->from,
			s->key, s->key);
	else
		sqlite3_str_appendf(sql,
			" FROM temp.list%u i CROSS JOIN %s WHERE %s = i.id AND i.pos BETWEEN ?7 AND ?8 "
			"ORDER BY i.pos",
			m->table, s->from, s->key);
	return sqlite3_str_finish(sql);
}

static void read_value(struct xf_tui_value *value, sqlite3_stmt *stmt, int column)
{
	value->type = sqlite3_column_type(stmt, column);
	switch (value->type) {
	case SQLITE_INTEGER:
		value->integer = sqlite3_column_int64(stmt, column);
		value->real = (double)value->integer;
		break;
	case SQLITE_FLOAT:
		value->real = sqlite3_column_double(stmt, column);
		value->integer = sqlite3_column_int64(stmt, column);
		break;
	case SQLITE_TEXT:
		value->text = strdup(xf_db_text(stmt, column));
		break;
	default: /* no view of ours has BLOBs */
		value->type = SQLITE_NULL;
	}
	if (value->type == SQLITE_TEXT && !value->text)
		value->type = SQLITE_NULL;
}

static void read_row(const struct xf_tui_model *m, struct xf_tui_row *row, sqlite3_stmt *stmt)
{
	row->id = sqlite3_column_int64(stmt, 0);
	row->flag = sqlite3_column_int(stmt, 1);
	for (int i = 0; i < m->source->ncolumns; i++)
		read_value(&row->values[i], stmt, i + 2);
}

int xf_tui_model_fetch(
	struct xf_tui_model *m, struct xf_tui_window *w, int64_t first, int n, struct xf_error *err)
{
	int64_t count = xf_tui_model_count(m), from, base;
	sqlite3_stmt *stmt;
	int code;

	if (first < 0)
		first = 0;
	if (first + n > count)
		n = first < count ? (int)(count - first) : 0;
	code = make_room(w, n, err);
	w->first = first;
	if (code || !n)
		return code;
	code = prepare(m, &stmt, select_sql(m), false, err);
	if (code)
		return code;
	from = m->backwards ? count - first - n : first;
	base = m->direct ? m->low : 1;
	sqlite3_bind_int64(stmt, 7, from + base);
	sqlite3_bind_int64(stmt, 8, from + base + n - 1);
	while (w->nrows < n && (code = xf_db_step(stmt, err)) == 1)
		read_row(m, &w->rows[w->nrows++], stmt);
	sqlite3_finalize(stmt);
	if (m->backwards)
		for (int i = 0, j = w->nrows - 1; i < j; i++, j--) {
			struct xf_tui_row row = w->rows[i];

			w->rows[i] = w->rows[j];
			w->rows[j] = row;
		}
	return code < 0 ? code : 0;
}

int xf_tui_model_ids(
	struct xf_tui_model *m, int64_t first, int n, int64_t *ids, struct xf_error *err)
{
	int64_t count = xf_tui_model_count(m), from = m->backwards ? count - first - n : first;
	sqlite3_stmt *stmt;
	int code, i = 0;

	if (m->direct) {
		for (; i < n; i++)
			ids[m->backwards ? n - 1 - i : i] = m->low + from + i;
		return 0;
	}
	code = prepare(m, &stmt,
		sqlite3_mprintf(
			"SELECT id FROM temp.list%u WHERE pos BETWEEN ?7 AND ?8 ORDER BY pos",
			m->table),
		false, err);
	if (code)
		return code;
	sqlite3_bind_int64(stmt, 7, from + 1);
	sqlite3_bind_int64(stmt, 8, from + n);
	while (i < n && (code = xf_db_step(stmt, err)) == 1) {
		ids[m->backwards ? n - 1 - i : i] = sqlite3_column_int64(stmt, 0);
		i++;
	}
	sqlite3_finalize(stmt);
	if (code >= 0 && i < n)
		return xf_fail(err, XF_INTERNAL, "the list is shorter than it was");
	return code < 0 ? code : 0;
}
