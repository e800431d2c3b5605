// SPDX-License-Identifier: GPL-2.0-or-later
/* Cells of the list model as text.  In: a row's values, the units in use.  Out: text and role. */
#include <string.h>

#include "schemas/xen.h"
#include "tui/format.h"
#include "tui/model.h"

bool xf_tui_column_is_text(const struct xf_tui_column *c)
{
	switch (c->show) {
	case XF_SHOW_TEXT:
	case XF_SHOW_SYMBOL:
	case XF_SHOW_KIND:
	case XF_SHOW_VCPU:
	case XF_SHOW_PTE:
	case XF_SHOW_ERROR:
	case XF_SHOW_SHARE:
	case XF_SHOW_EXTRA:
		return true;
	default:
		return false;
	}
}

int xf_tui_column_by_name(const struct xf_tui_source *source, const char *name)
{
	for (int i = 0; i < source->ncolumns; i++)
		if (!strcmp(source->columns[i].name, name))
			return i;
	return -1;
}

const char *xf_tui_units_span_name(const struct xf_tui_units *u)
{
	return u->hz && u->mode != XF_TIME_CYCLES ? "us" : "cyc";
}

const char *xf_tui_units_time_name(const struct xf_tui_units *u, bool inner)
{
	if (u->mode == XF_TIME_CYCLES)
		return "TSC";
	if (!u->hz)
		return "+cyc";
	return u->mode == XF_TIME_START ? inner ? "+us" : "+s" : "us";
}

void xf_tui_units_span(const struct xf_tui_units *u, int64_t cycles, char *text, size_t size)
{
	if (u->hz && u->mode != XF_TIME_CYCLES)
		xf_tui_format_real(text, size, (double)cycles * 1e6 / (double)u->hz);
	else
		snprintf(text, size, "%lld", (long long)cycles);
}

void xf_tui_model_time(const struct xf_tui_model *m, int64_t tsc, char *text, size_t size)
{
	const struct xf_tui_units *u = m->units;

	if (u->mode == XF_TIME_CYCLES)
		snprintf(text, size, "%lld", (long long)tsc);
	else if (!u->hz)
		snprintf(text, size, "%lld", (long long)(tsc - m->origin));
	else if (u->mode == XF_TIME_US)
		xf_tui_format_real(text, size, (double)(tsc - u->first) * 1e6 / (double)u->hz);
	else if (m->inner)
		xf_tui_format_real(text, size, (double)(tsc - m->origin) * 1e6 / (double)u->hz);
	else
		snprintf(text, size, "%.6f", (double)(tsc - m->origin) / (double)u->hz);
}

/* "12.3% ####": the share in figures and as a bar; the longest fork fills the bar. */
static void share(const struct xf_tui_model *m, double cycles, int width, char *text, size_t size,
	enum xf_tui_role *role)
{
	const struct xf_tui_units *u = m->units;
	struct xf_tui_cell cells[64];
	struct xf_tui_grid bar = {.utf8 = u->utf8, .width = 0, .height = 1, .cells = cells};
	size_t used;

	snprintf(text, size, "%5.1f%%", u->whole > 0 ? cycles * 100 / u->whole : 0);
	bar.width = width - 7 > 64 ? 64 : width - 7;
	if (bar.width < 1)
		return;
	xf_tui_bar(&bar, 0, 0, bar.width, u->largest > 0 ? cycles / u->largest : 0, XF_TUI_BAR);
	used = strlen(text);
	text[used++] = ' ';
	for (int i = 0; i < bar.width && used + 5 < size; i++)
		used += (size_t)xf_tui_utf8(text + used, cells[i].ch);
	*role = XF_TUI_BAR;
}

static enum xf_tui_role kind_role(const char *kind)
{
	static const struct {
		const char *kind;
		enum xf_tui_role role;
	} roles[] = {{"emulate", XF_TUI_EMULATE}, {"unhook", XF_TUI_UNHOOK}, {"oos", XF_TUI_UNHOOK},
		{"rehook", XF_TUI_REHOOK}, {"page_fault", XF_TUI_FAULT}, {"fixup", XF_TUI_FAULT},
		{"not_shadow", XF_TUI_FAULT}, {"flush", XF_TUI_FLUSH}, {"spurious", XF_TUI_ERROR},
		{"loss", XF_TUI_ERROR}, {"batch", XF_TUI_BATCH}, {"multicall", XF_TUI_BATCH},
		{"mmuext", XF_TUI_BATCH}, {"hypercall", XF_TUI_BATCH}, {"iret", XF_TUI_BATCH},
		{"task_switch", XF_TUI_BATCH}, {"raced", XF_TUI_WARN}, {"rehooked", XF_TUI_WARN},
		{"reported", XF_TUI_ERROR}, {"doubt", XF_TUI_WARN}, {"finding", XF_TUI_WARN}};

	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (!strcmp(roles[i].kind, kind))
			return roles[i].role;
	return XF_TUI_NORMAL;
}

/* Time since the row before, "-" for the first and in any other order. */
static void since(const struct xf_tui_model *m, const struct xf_tui_window *w, int64_t position,
	int column, char *text, size_t size)
{
	const struct xf_tui_row *row = xf_tui_window_row(w, position);
	const struct xf_tui_row *before = xf_tui_window_row(w, position - 1);
	bool order = m->sort < 0 || (m->source->columns[m->sort].flags & XF_COL_ORDER);

	if (m->backwards)
		before = xf_tui_window_row(w, position + 1);
	if (!order || !before || before->values[column].type != SQLITE_INTEGER)
		snprintf(text, size, "-");
	else
		xf_tui_units_span(m->units,
			row->values[column].integer - before->values[column].integer, text, size);
}

static void number(const struct xf_tui_model *m, const struct xf_tui_value *v,
	enum xf_tui_show show, int width, char *text, size_t size, enum xf_tui_role *role)
{
	switch (show) {
	case XF_SHOW_HEX:
		snprintf(text, size, "0x%llx", (unsigned long long)v->integer);
		break;
	case XF_SHOW_REAL:
		xf_tui_format_real(text, size, v->real);
		break;
	case XF_SHOW_VCPU:
		xf_tui_format_vcpu(text, size, v->integer);
		break;
	case XF_SHOW_TIME:
		xf_tui_model_time(m, v->integer, text, size);
		break;
	case XF_SHOW_SPAN:
		xf_tui_units_span(m->units, v->integer, text, size);
		break;
	case XF_SHOW_PTE:
		xf_tui_format_pte(text, size, (uint64_t)v->integer);
		break;
	case XF_SHOW_ERROR:
		xf_error_code_text((uint64_t)v->integer, text, size);
		break;
	case XF_SHOW_SHARE:
		share(m, v->real, width, text, size, role);
		break;
	default:
		snprintf(text, size, "%lld", (long long)v->integer);
	}
}

void xf_tui_model_cell(const struct xf_tui_model *m, const struct xf_tui_window *w,
	int64_t position, int column, int width, char *text, size_t size, enum xf_tui_role *role)
{
	const struct xf_tui_row *row = xf_tui_window_row(w, position);
	const struct xf_tui_column *c = &m->source->columns[column];
	const struct xf_tui_value *v = row ? &row->values[column] : NULL;

	*role = XF_TUI_NORMAL;
	*text = '\0';
	if (!row)
		return;
	if (c->show == XF_SHOW_EXTRA) {
		if (m->extra)
			m->extra(m->extra_data, row, column, width, text, size, role);
	} else if (v->type == SQLITE_NULL) {
		snprintf(text, size, "-");
		*role = XF_TUI_DIM;
	} else if (c->show == XF_SHOW_SINCE) {
		since(m, w, position, column, text, size);
	} else if (v->type == SQLITE_TEXT) {
		snprintf(text, size, "%s", v->text);
		if (c->show == XF_SHOW_KIND)
			*role = kind_role(v->text);
	} else {
		number(m, v, c->show, width, text, size, role);
	}
}
