// SPDX-License-Identifier: GPL-2.0-or-later
/* Doubts by cause.  In: a cause, its place.  Out: counts. */
#include "collector/trace/doubt.h"

static const struct {
	const char *code, *text;
	bool incomplete;
} table[XF_DOUBT_COUNT] = {
#define X(id, code, text, incomplete) [XF_DOUBT_##id] = {code, text, incomplete},
	XF_DOUBTS(X)
#undef X
};

const char *xf_doubt_code(enum xf_doubt_code code)
{
	return table[code].code;
}

const char *xf_doubt_text(enum xf_doubt_code code)
{
	return table[code].text;
}

bool xf_doubt_incomplete(enum xf_doubt_code code)
{
	return table[code].incomplete;
}

void xf_doubt_add(
	struct xf_doubt *doubts, enum xf_doubt_code code, uint64_t n, uint64_t tsc, uint64_t offset)
{
	if (!doubts[code].count) {
		doubts[code].tsc = tsc;
		doubts[code].offset = offset;
	}
	doubts[code].count += n;
}
