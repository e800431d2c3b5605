// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events that cannot match.  In: the table of events, a word.  Out: a bit for each event.
 *
 * Bits are made block by block, when the first event of a block is asked for.  Where a doubt is left
 * the answer is maybe: the row is then formatted and looked at as any other.
 */
#include "tui/sieve.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "schemas/scan.h"
#include "schemas/xen.h"
#include "tui/format.h"

#define BLOCK	 16384		    /* events */
#define MOST	 (INT64_C(1) << 32) /* events with a bit: half a gigabyte */
#define CODES	 1024		    /* error codes whose words are remembered */
#define FLAGS	 8192		    /* flags of an entry: bits 0 to 11, and 63 */
#define VCPUS	 64		    /* answers about vCPUs, a power of two */
#define HEX_MOST 16

enum answer { UNKNOWN, NO, YES };

/* A column that is shown and whose text may hold the word. */
struct test {
	enum xf_tui_show show;
	unsigned at; /* enum value */
};

/* Where a column's value is in an event. */
enum value {
	EVENT_ID,
	TSC,
	VA,
	RIP,
	PT_PAGE,
	SLOT,
	PTE,
	FRAME,
	COUNT,
	RAW_ID,
	ARG1,
	ARG2,
	PCPU,
	LATE,
	OTHER
};

struct xf_tui_sieve {
	const struct xf_tui_model *model;
	char word[64];
	size_t length;
	bool any_case; /* then word is in small letters */
	bool digits;   /* it can be part of a number in decimal */
	bool hex;      /* ... in hexadecimal */
	bool only_hex; /* it is hexadecimal digits, and no more than a number has */
	bool prefix;   /* it is such digits behind 0x */
	size_t ndigits;
	uint64_t number;
	struct test tests[XF_TUI_MAX_COLUMNS];
	int ntests;
	struct xf_map symbols; /* rip -> 1: a name that holds the word */
	uint8_t kinds[XF_KIND_COUNT], codes[CODES], flags[FLAGS];
	struct {
		int64_t owner;
		uint8_t answer;
	} vcpus[VCPUS];
	int64_t low, high; /* ids that have bits */
	uint64_t *bits;
	uint8_t *done;	/* blocks whose bits are made */
	int64_t before; /* TSC of the event before, while a block is looked at */
};

static bool holds(const struct xf_tui_sieve *s, const char *text)
{
	return (s->any_case ? strcasestr(text, s->word) : strstr(text, s->word)) != NULL;
}

/* The same with the answer remembered. */
static bool holds_once(const struct xf_tui_sieve *s, uint8_t *answer, const char *text)
{
	if (*answer == UNKNOWN)
		*answer = holds(s, text) ? YES : NO;
	return *answer == YES;
}

/* The word's digits in a number as %llx prints it. */
static bool in_digits(const struct xf_tui_sieve *s, uint64_t value)
{
	uint64_t mask = ~0ull >> (64 - 4 * s->ndigits);
	unsigned digits = value ? (67 - (unsigned)__builtin_clzll(value)) / 4 : 1;

	for (; digits >= s->ndigits; digits--, value >>= 4)
		if ((value & mask) == s->number)
			return true;
	return false;
}

/* The word in a number as 0x%llx prints it. */
static bool in_hex(const struct xf_tui_sieve *s, uint64_t value)
{
	unsigned digits = value ? (67 - (unsigned)__builtin_clzll(value)) / 4 : 1;
	char text[32];

	if (s->only_hex)
		return in_digits(s, value) || !strcmp(s->word, "0");
	if (s->prefix)
		return !s->ndigits ||
		       (digits >= s->ndigits && value >> 4 * (digits - s->ndigits) == s->number);
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
	return holds(s, text);
}

/* The word in a number as %lld prints it. */
static bool in_decimal(const struct xf_tui_sieve *s, int64_t value)
{
	uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	char text[32], *at = text + sizeof(text);

	do
		*--at = (char)('0' + rest % 10);
	while (rest /= 10);
	if (value < 0)
		*--at = '-';
	return memmem(at, (size_t)(text + sizeof(text) - at), s->word, s->length) != NULL;
}

static bool in_pte(struct xf_tui_sieve *s, uint64_t pte)
{
	char text[64];

	if (!pte)
		return holds(s, "0 (cleared)");
	if (s->only_hex && in_digits(s, XF_PTE_FRAME(pte)))
		return true;
	xf_pte_letters(pte, NULL, text, sizeof(text));
	return holds_once(s, &s->flags[(pte & 0xfff) | pte >> 63 << 12], text);
}

static bool in_error_code(struct xf_tui_sieve *s, uint32_t code)
{
	uint8_t once = UNKNOWN, *answer = code < CODES ? &s->codes[code] : &once;
	char text[XF_WORDS];

	if (*answer == UNKNOWN)
		xf_error_code_text(code, text, sizeof(text));
	return holds_once(s, answer, text);
}

static bool in_vcpu(struct xf_tui_sieve *s, const struct xf_event *e)
{
	int64_t owner = (int64_t)e->domid << 16 | e->vcpu;
	unsigned at = (e->domid ^ (unsigned)e->vcpu << 3) % VCPUS;
	char text[32];

	if (s->vcpus[at].owner != owner || s->vcpus[at].answer == UNKNOWN) {
		xf_tui_format_vcpu(text, sizeof(text), owner);
		s->vcpus[at].owner = owner;
		s->vcpus[at].answer = holds(s, text) ? YES : NO;
	}
	return s->vcpus[at].answer == YES;
}

/* Its value for a column; false: NULL. */
static bool value_of(unsigned at, int64_t id, const struct xf_event *e, uint64_t *value)
{
	static const uint16_t has[OTHER] = {[TSC] = XF_HAS_TSC,
		[VA] = XF_HAS_VA,
		[RIP] = XF_HAS_RIP,
		[PT_PAGE] = XF_HAS_VA,
		[SLOT] = XF_HAS_VA,
		[PTE] = XF_HAS_PTE,
		[FRAME] = XF_HAS_FRAME,
		[COUNT] = XF_HAS_COUNT,
		[ARG1] = XF_HAS_ARG1,
		[ARG2] = XF_HAS_ARG2,
		[LATE] = XF_HAS_LATE};
	const uint64_t values[OTHER] = {[EVENT_ID] = (uint64_t)id,
		[TSC] = e->tsc,
		[VA] = e->va,
		[RIP] = e->rip,
		[PT_PAGE] = e->va & ~4095ull,
		[SLOT] = (e->va & 4095) >> xf_pte_shift(e->raw_id),
		[PTE] = e->pte,
		[FRAME] = e->frame,
		[COUNT] = e->count,
		[RAW_ID] = e->raw_id,
		[ARG1] = e->arg1,
		[ARG2] = e->arg2,
		[PCPU] = e->pcpu,
		[LATE] = e->tsc_late};

	*value = values[at];
	if ((at == PT_PAGE || at == SLOT) && !xf_kind_writes_pte(e->kind))
		return false;
	return (e->has & has[at]) == has[at];
}

static bool in_time(
	const struct xf_tui_sieve *s, enum xf_tui_show show, const struct xf_event *e, uint64_t tsc)
{
	const struct xf_tui_units *u = s->model->units;
	char text[64];

	if (u->mode == XF_TIME_CYCLES || !u->hz)
		return in_decimal(s, show == XF_SHOW_SINCE	 ? (int64_t)e->tsc - s->before
				     : u->mode == XF_TIME_CYCLES ? (int64_t)tsc
								 : (int64_t)tsc - s->model->origin);
	if (show == XF_SHOW_TIME)
		xf_tui_model_time(s->model, (int64_t)tsc, text, sizeof(text));
	else
		xf_tui_units_span(s->model->units, (int64_t)e->tsc - s->before, text, sizeof(text));
	return holds(s, text);
}

static bool may_match(struct xf_tui_sieve *s, int64_t id, const struct xf_event *e)
{
	for (int i = 0; i < s->ntests; i++) {
		const struct test *t = &s->tests[i];
		bool found = false;
		uint64_t value;

		switch (t->show) {
		case XF_SHOW_KIND:
			found = e->kind >= XF_KIND_COUNT ||
				holds_once(s, &s->kinds[e->kind], xf_kind_name(e->kind));
			break;
		case XF_SHOW_VCPU:
			found = e->has & XF_HAS_OWNER && in_vcpu(s, e);
			break;
		case XF_SHOW_SYMBOL:
			found = e->has & XF_HAS_RIP && xf_map_get(&s->symbols, e->rip);
			break;
		case XF_SHOW_ERROR:
			found = e->has & XF_HAS_ERROR && in_error_code(s, e->error_code);
			break;
		case XF_SHOW_PTE:
			found = e->has & XF_HAS_PTE && in_pte(s, e->pte);
			break;
		case XF_SHOW_HEX:
			found = value_of(t->at, id, e, &value) && in_hex(s, value);
			break;
		case XF_SHOW_TIME:
		case XF_SHOW_SINCE:
			found = value_of(t->at, id, e, &value) && in_time(s, t->show, e, value);
			break;
		default:
			found = value_of(t->at, id, e, &value) && in_decimal(s, (int64_t)value);
		}
		if (found)
			return true;
	}
	return false;
}

static void end_piece(struct xf_tui_sieve *s, char *piece, size_t *n)
{
	if (*n > s->length) {
		memcpy(s->word, piece, *n);
		s->word[*n] = '\0';
		s->length = *n;
	}
	*n = 0;
}

/* The longest piece of the pattern that stands in each match as it is, and within one cell. */
static void find_word(struct xf_tui_sieve *s, const char *pattern)
{
	char piece[sizeof(s->word)];
	size_t n = 0;

	if (strpbrk(pattern, "\\[](){}|") || strspn(pattern, "*+?"))
		return;
	for (; *pattern; pattern++) {
		char quantifier = strchr("*+?", pattern[1]) ? pattern[1] : '\0';

		if (strchr(".^$ ", *pattern) || quantifier == '*' || quantifier == '?' ||
			n + 1 == sizeof(piece))
			end_piece(s, piece, &n);
		else
			piece[n++] = *pattern;
		if (quantifier) {
			end_piece(s, piece, &n);
			pattern += strspn(pattern + 1, "*+?");
		}
	}
	end_piece(s, piece, &n);
}

static void look_at_word(struct xf_tui_sieve *s)
{
	s->digits = s->hex = s->only_hex = true;
	for (size_t i = 0; i < s->length; i++) {
		unsigned char c = (unsigned char)s->word[i];

		if (s->any_case)
			s->word[i] = (char)(c = (unsigned char)tolower(c));
		s->digits &= isdigit(c) || c == '-' || c == '.';
		s->only_hex &= isdigit(c) || (c >= 'a' && c <= 'f');
		s->hex &= isdigit(c) || (c >= 'a' && c <= 'f') || c == 'x';
	}
	s->prefix = !strncmp(s->word, "0x", 2) && s->length <= HEX_MOST + 2 &&
		    s->word[2 + strspn(s->word + 2, "0123456789abcdef")] == '\0';
	s->only_hex &= s->length <= HEX_MOST;
	s->ndigits = s->prefix ? s->length - 2 : s->length;
	if (s->prefix || s->only_hex)
		s->number = strtoull(s->word, NULL, 16);
}

static unsigned value_by_name(const char *name)
{
	static const char *const names[OTHER] = {[EVENT_ID] = "event_id",
		[TSC] = "tsc",
		[VA] = "va",
		[RIP] = "rip",
		[PT_PAGE] = "pt_page",
		[SLOT] = "slot",
		[PTE] = "pte",
		[FRAME] = "frame",
		[COUNT] = "count",
		[RAW_ID] = "raw_id",
		[ARG1] = "arg1",
		[ARG2] = "arg2",
		[PCPU] = "pcpu",
		[LATE] = "tsc_late"};
	unsigned at = 0;

	while (at < OTHER && strcmp(names[at], name))
		at++;
	return at;
}

/* Which columns are looked at; false: one of them cannot be told beforehand. */
static bool choose_tests(struct xf_tui_sieve *s)
{
	const struct xf_tui_source *source = s->model->source;

	for (int i = 0; i < source->ncolumns; i++) {
		const struct xf_tui_column *c = &source->columns[i];
		struct test t = {c->show, value_by_name(c->name)};

		if (!(s->model->shown & 1ull << i))
			continue;
		switch (c->show) {
		case XF_SHOW_KIND:
		case XF_SHOW_VCPU:
		case XF_SHOW_SYMBOL:
		case XF_SHOW_ERROR:
			break;
		case XF_SHOW_PTE:
			t.at = PTE;
			break;
		case XF_SHOW_HEX:
			if (!s->hex)
				continue;
			if (t.at == OTHER)
				return false;
			break;
		case XF_SHOW_SINCE:
			if (!s->digits)
				continue;
			/* the row before is the event before in the whole list alone */
			if (!s->model->direct)
				return false;
			t.at = TSC;
			break;
		case XF_SHOW_INT:
		case XF_SHOW_TIME:
			if (!s->digits)
				continue;
			if (t.at == OTHER)
				return false;
			break;
		default:
			return false;
		}
		s->tests[s->ntests++] = t;
	}
	return true;
}

static int read_symbols(struct xf_tui_sieve *s, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(s->model->db, &stmt, "SELECT rip, name FROM symbol", err);

	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		code = 0;
		if (holds(s, xf_db_text(stmt, 1)) &&
			!xf_map_put(&s->symbols, (uint64_t)sqlite3_column_int64(stmt, 0)))
			code = xf_fail_nomem(err);
	}
	sqlite3_finalize(stmt);
	return code;
}

int xf_tui_sieve_new(struct xf_tui_sieve **sieve, const struct xf_tui_model *model,
	const char *pattern, struct xf_error *err)
{
	const struct xf_tui_source *source = model->source;
	struct xf_tui_sieve *s;
	int64_t n = model->high - model->low + 1;
	int code;

	*sieve = NULL;
	if (strcmp(source->from, "events r") || !source->dense || n <= 0 || n > MOST)
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return xf_fail_nomem(err);
	s->model = model;
	s->low = model->low;
	s->high = model->high;
	s->any_case = xf_filter_regex_flags(pattern) & REG_ICASE;
	find_word(s, pattern);
	look_at_word(s);
	/* a hyphen alone stands for what is unknown as well */
	if (!s->length || s->word[strspn(s->word, "-")] == '\0' || !choose_tests(s)) {
		xf_tui_sieve_free(s);
		return 0;
	}
	s->bits = calloc((size_t)n / 64 + 1, sizeof(*s->bits));
	s->done = calloc((size_t)n / BLOCK + 1, 1);
	code = s->bits && s->done ? read_symbols(s, err) : xf_fail_nomem(err);
	if (code)
		xf_tui_sieve_free(s);
	else
		*sieve = s;
	return code;
}

static int make_block(struct xf_tui_sieve *s, int64_t block, struct xf_error *err)
{
	int64_t from = s->low + block * BLOCK, to = from + BLOCK - 1, id;
	struct xf_event_scan scan;
	struct xf_event event;
	/* with the one before, for the time since it */
	int code = xf_event_scan_open(
		&scan, s->model->db, from > s->low ? from - 1 : from, to, true, err);

	while (!code && (code = xf_event_scan_next(&scan, &id, &event, err)) == 1) {
		code = 0;
		if (id >= from && id <= s->high && may_match(s, id, &event))
			s->bits[(id - s->low) / 64] |= 1ull << (id - s->low) % 64;
		s->before = (int64_t)event.tsc;
	}
	xf_event_scan_close(&scan);
	if (!code)
		s->done[block] = 1;
	return code;
}

int xf_tui_sieve_may(struct xf_tui_sieve *s, int64_t id, struct xf_error *err)
{
	int64_t at = id - s->low;
	int code;

	if (!s->ntests)
		return 0;
	if (id < s->low || id > s->high)
		return 1;
	if (!s->done[at / BLOCK]) {
		code = make_block(s, at / BLOCK, err);
		return code ? code : XF_AGAIN;
	}
	return s->bits[at / 64] >> at % 64 & 1;
}

void xf_tui_sieve_free(struct xf_tui_sieve *s)
{
	if (!s)
		return;
	xf_map_free(&s->symbols);
	free(s->bits);
	free(s->done);
	free(s);
}
