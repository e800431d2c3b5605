// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Filter expressions: a recursive-descent parser that writes SQL as it reads.
 * In: text.  Out: a condition and the values to bind, or an error with its place.
 */
#include "schemas/filter.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "schemas/db.h"

#define DEEPEST 100 /* nesting; keeps the parser's and SQLite's stacks small */

enum token { END, OPEN, CLOSE, AND, OR, NOT, OPERATOR, WORD, QUOTED };

struct parser {
	const char *text, *at; /* at: behind the token */
	const char *start;     /* of the token */
	enum token token;
	char *word; /* of WORD, QUOTED, OPERATOR; owned */
	const struct xf_filter_column *columns;
	size_t ncolumns;
	struct xf_filter *filter;
	sqlite3_str *sql;
	int depth;
	size_t *where;
	struct xf_error *err;
};

static int fail_at(struct parser *p, const char *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail_at(struct parser *p, const char *at, const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	*p->where = (size_t)(at - p->text);
	return xf_fail(p->err, XF_USAGE, "%s", text);
}

static bool in_word(char c)
{
	return c && !isspace((unsigned char)c) && !strchr("()=!<>~&|'\"", c);
}

static int set_word(struct parser *p, const char *from, size_t length)
{
	free(p->word);
	p->word = strndup(from, length);
	return p->word ? 0 : xf_fail_nomem(p->err);
}

static int read_quoted(struct parser *p)
{
	const char *end = strchr(p->start + 1, *p->start);

	if (!end)
		return fail_at(p, p->start, "this quote has no end");
	p->token = QUOTED;
	p->at = end + 1;
	return set_word(p, p->start + 1, (size_t)(end - p->start - 1));
}

static int read_word(struct parser *p)
{
	static const struct {
		const char *name;
		enum token token;
	} words[] = {{"and", AND}, {"or", OR}, {"not", NOT}};

	while (in_word(*p->at))
		p->at++;
	p->token = WORD;
	if (set_word(p, p->start, (size_t)(p->at - p->start)))
		return -XF_INTERNAL;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcasecmp(p->word, words[i].name))
			p->token = words[i].token;
	return 0;
}

/* Reads the next token. */
static int next(struct parser *p)
{
	static const struct {
		const char *text;
		enum token token;
	} signs[] = {{"&&", AND}, {"||", OR}, {"==", OPERATOR}, {"!=", OPERATOR}, {"<>", OPERATOR},
		{"<=", OPERATOR}, {">=", OPERATOR}, {"!~", OPERATOR}, {"=", OPERATOR},
		{"<", OPERATOR}, {">", OPERATOR}, {"~", OPERATOR}, {"!", NOT}, {"(", OPEN},
		{")", CLOSE}};

	while (isspace((unsigned char)*p->at))
		p->at++;
	p->start = p->at;
	if (!*p->at) {
		p->token = END;
		return 0;
	}
	if (*p->at == '\'' || *p->at == '"')
		return read_quoted(p);
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		size_t length = strlen(signs[i].text);

		if (strncmp(p->at, signs[i].text, length))
			continue;
		p->token = signs[i].token;
		p->at += length;
		return set_word(p, p->start, length);
	}
	if (in_word(*p->at))
		return read_word(p);
	return fail_at(p, p->start, "a single %c means nothing here; and, or, not join conditions",
		*p->at);
}

/* Room for one more value; its parameter number is filter->first + index. */
static struct xf_filter_value *add_value(struct parser *p)
{
	struct xf_filter *f = p->filter;
	struct xf_filter_value *more =
		realloc(f->values, ((size_t)f->nvalues + 1) * sizeof(*f->values));

	if (!more) {
		xf_fail_nomem(p->err);
		return NULL;
	}
	f->values = more;
	f->values[f->nvalues] = (struct xf_filter_value){0};
	return &f->values[f->nvalues++];
}

static int last_param(const struct parser *p)
{
	return p->filter->first + p->filter->nvalues - 1;
}

static int add_int(struct parser *p, int64_t integer)
{
	struct xf_filter_value *value = add_value(p);

	if (!value)
		return -XF_INTERNAL;
	value->type = XF_FILTER_IS_INT;
	value->integer = integer;
	return 0;
}

static int add_text(struct parser *p, const char *text)
{
	struct xf_filter_value *value = add_value(p);

	if (!value)
		return -XF_INTERNAL;
	value->type = XF_FILTER_IS_TEXT;
	value->text = strdup(text);
	return value->text ? 0 : xf_fail_nomem(p->err);
}

/* dN -> N << 16, *whole false; dNvM -> both. */
static bool parse_vcpu(const char *text, int64_t *value, bool *whole)
{
	char *end;
	unsigned long dom, vcpu = 0;

	if (tolower((unsigned char)text[0]) != 'd' || !isdigit((unsigned char)text[1]))
		return false;
	dom = strtoul(text + 1, &end, 10);
	*whole = tolower((unsigned char)*end) == 'v';
	if (*whole) {
		if (!isdigit((unsigned char)end[1]))
			return false;
		vcpu = strtoul(end + 1, &end, 10);
	}
	*value = (int64_t)(dom << 16 | vcpu);
	return !*end && dom <= 0x7fff && vcpu <= 0xffff;
}

/* An integer: decimal, 0x..., and for addresses also bare hexadecimal digits with a letter. */
static bool parse_int(const char *text, bool hex, int64_t *value)
{
	const char *digits = *text == '-' ? text + 1 : text;
	bool bare = hex && text[strspn(text, "0123456789")] &&
		    !text[strspn(text, "0123456789abcdefABCDEF")];
	char *end;
	unsigned long long u;

	errno = 0;
	if (bare) {
		u = strtoull(text, &end, 16);
	} else {
		if (!isdigit((unsigned char)*digits))
			return false;
		u = strtoull(digits, &end, digits[0] == '0' && (digits[1] | 32) == 'x' ? 16 : 10);
		if (*text == '-')
			u = 0 - u;
	}
	*value = (int64_t)u;
	return end != text && !*end && !errno;
}

static bool parse_real(const char *text, double *value)
{
	char *end;
	double factor = 1;

	*value = strtod(text, &end);
	if (end == text)
		return false;
	if (*end && !end[1]) {
		factor = *end == 'k' || *end == 'K' ? 1e3
			 : *end == 'M'		    ? 1e6
			 : *end == 'G'		    ? 1e9
						    : 0;
		end++;
	}
	*value *= factor;
	return !*end && factor != 0;
}

static int compare_number(struct parser *p, const struct xf_filter_column *c, const char *op)
{
	struct xf_filter_value *value;
	int64_t integer;
	double real;

	if (parse_int(p->word, false, &integer)) {
		if (add_int(p, integer))
			return -XF_INTERNAL;
	} else if (parse_real(p->word, &real)) {
		value = add_value(p);
		if (!value)
			return -XF_INTERNAL;
		value->type = XF_FILTER_IS_REAL;
		value->real = real;
	} else {
		return fail_at(
			p, p->start, "%s is a number; this is none: %.40s", c->name, p->word);
	}
	sqlite3_str_appendf(p->sql, "ifnull((%s) %s ?%d,0)", c->sql, op, last_param(p));
	return 0;
}

static int compare_hex(struct parser *p, const struct xf_filter_column *c, const char *op)
{
	int64_t integer;
	bool equal = *op == '=' || *op == 'I';

	if (!parse_int(p->word, true, &integer))
		return fail_at(p, p->start,
			"%s is an address such as 0xffff8880; this is none: %.40s", c->name,
			p->word);
	if (add_int(p, integer))
		return -XF_INTERNAL;
	if (equal)
		sqlite3_str_appendf(p->sql, "ifnull((%s) %s ?%d,0)", c->sql, op, last_param(p));
	else /* the sign bit first: two's complement ordered as unsigned */
		sqlite3_str_appendf(p->sql, "ifnull(((%s)<0,(%s)) %s (?%d<0,?%d),0)", c->sql,
			c->sql, op, last_param(p), last_param(p));
	return 0;
}

static int compare_vcpu(struct parser *p, const struct xf_filter_column *c, const char *op)
{
	int64_t value;
	bool whole;

	if (!parse_vcpu(p->word, &value, &whole)) {
		if (!parse_int(p->word, false, &value))
			return fail_at(p, p->start,
				"%s is dN, dNvM or a vCPU number, such as d0v1; this is none: %.40s",
				c->name, p->word);
		if (add_int(p, value))
			return -XF_INTERNAL;
		sqlite3_str_appendf(
			p->sql, "ifnull((%s)&65535 %s ?%d,0)", c->sql, op, last_param(p));
		return 0;
	}
	if (add_int(p, whole ? value : value >> 16))
		return -XF_INTERNAL;
	sqlite3_str_appendf(p->sql, whole ? "ifnull((%s) %s ?%d,0)" : "ifnull((%s)>>16 %s ?%d,0)",
		c->sql, op, last_param(p));
	return 0;
}

static int compare_text(struct parser *p, const struct xf_filter_column *c, const char *op)
{
	if (add_text(p, p->word))
		return -XF_INTERNAL;
	if (c->type == XF_FILTER_SYMBOL && (*op == '=' || *op == 'I') && !strchr(p->word, '+'))
		sqlite3_str_appendf(p->sql,
			"ifnull(substr((%s),1,instr((%s)||'+','+')-1) %s ?%d,0)", c->sql, c->sql,
			op, last_param(p));
	else
		sqlite3_str_appendf(p->sql, "ifnull((%s) %s ?%d,0)", c->sql, op, last_param(p));
	return 0;
}

static int compare_regex(struct parser *p, const struct xf_filter_column *c, bool negated)
{
	const char *shape = "%s";
	char message[200];
	regex_t regex;
	int code = regcomp(&regex, p->word, xf_filter_regex_flags(p->word) | REG_NOSUB);

	if (code) {
		regerror(code, &regex, message, sizeof(message));
		return fail_at(p, p->start, "regular expression: %s", message);
	}
	regfree(&regex);
	if (add_text(p, p->word))
		return -XF_INTERNAL;
	if (c->type == XF_FILTER_HEX)
		shape = "printf('0x%%llx',%s)";
	else if (c->type == XF_FILTER_VCPU)
		shape = "printf('d%%dv%%d',(%s)>>16,(%s)&65535)";
	sqlite3_str_appendall(p->sql, negated ? "NOT " : "");
	sqlite3_str_appendf(p->sql, "ifnull((%s) IS NOT NULL AND xf_match(", c->sql);
	sqlite3_str_appendf(p->sql, shape, c->sql, c->sql);
	sqlite3_str_appendf(p->sql, ",?%d),0)", last_param(p));
	return 0;
}

/* The operator in SQL; NULL for the two regular-expression ones. */
static const char *sql_operator(const char *op)
{
	if (!strcmp(op, "==") || !strcmp(op, "="))
		return "=";
	if (!strcmp(op, "!=") || !strcmp(op, "<>"))
		return "IS NOT";
	return strchr(op, '~') ? NULL : op;
}

static int compare(struct parser *p, const struct xf_filter_column *c)
{
	char text[4];
	const char *op;

	snprintf(text, sizeof(text), "%s", p->word);
	op = sql_operator(text);
	if (next(p))
		return -XF_USAGE;
	if (p->token != WORD && p->token != QUOTED)
		return fail_at(p, p->start, "a value for %s is missing here", c->name);
	if (!op)
		return compare_regex(p, c, *text == '!');
	if (p->token == WORD && (!strcasecmp(p->word, "null") || !strcasecmp(p->word, "unknown"))) {
		if (*op != '=' && *op != 'I')
			return fail_at(p, p->start, "null goes with = and != only");
		sqlite3_str_appendf(p->sql, "(%s) %s NULL", c->sql, *op == '=' ? "IS" : "IS NOT");
		return 0;
	}
	switch (c->type) {
	case XF_FILTER_INT:
	case XF_FILTER_REAL:
		return compare_number(p, c, op);
	case XF_FILTER_HEX:
		return compare_hex(p, c, op);
	case XF_FILTER_VCPU:
		return compare_vcpu(p, c, op);
	case XF_FILTER_TEXT:
	case XF_FILTER_SYMBOL:
		break;
	}
	return compare_text(p, c, op);
}

static int no_column(struct parser *p)
{
	char names[400] = "";
	size_t used = 0;

	for (size_t i = 0; i < p->ncolumns; i++) {
		int n = snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
			p->columns[i].name);

		if (n < 0 || used + (size_t)n >= sizeof(names)) {
			names[used] = '\0';
			break;
		}
		used += (size_t)n;
	}
	return fail_at(p, p->start, "no column %.40s here; there are: %s", p->word, names);
}

static int condition(struct parser *p)
{
	const struct xf_filter_column *c = NULL;

	for (size_t i = 0; i < p->ncolumns && !c; i++)
		if (!strcasecmp(p->columns[i].name, p->word))
			c = &p->columns[i];
	if (!c)
		return no_column(p);
	if (next(p))
		return -XF_USAGE;
	if (p->token == OPERATOR) {
		int code = compare(p, c);

		return code ? code : next(p);
	}
	if (p->token == WORD || p->token == QUOTED)
		return fail_at(p, p->start, "an operator is missing here: = != < <= > >= ~ !~");
	if (c->type == XF_FILTER_TEXT || c->type == XF_FILTER_SYMBOL)
		sqlite3_str_appendf(p->sql, "(%s) IS NOT NULL", c->sql);
	else
		sqlite3_str_appendf(p->sql, "ifnull((%s)<>0,0)", c->sql);
	return 0;
}

static int expression(struct parser *p);

static int factor(struct parser *p)
{
	const char *open = p->start;
	int code;

	if (++p->depth > DEEPEST)
		return fail_at(p, p->start, "nested too deep");
	switch (p->token) {
	case NOT:
		sqlite3_str_appendall(p->sql, "NOT (");
		code = next(p);
		if (!code)
			code = factor(p);
		sqlite3_str_appendall(p->sql, ")");
		break;
	case OPEN:
		code = next(p);
		if (!code)
			code = expression(p);
		if (!code && p->token != CLOSE)
			code = fail_at(p, open, "this ( has no )");
		if (!code)
			code = next(p);
		break;
	case WORD:
		code = condition(p);
		break;
	case END:
		code = fail_at(p, p->start, "a condition is missing here, such as: vcpu = d0v1");
		break;
	default:
		code = fail_at(p, p->start, "a column should stand here, such as: vcpu = d0v1");
	}
	p->depth--;
	return code;
}

static int term(struct parser *p)
{
	int code = factor(p);

	while (!code && p->token == AND) {
		sqlite3_str_appendall(p->sql, " AND ");
		code = next(p);
		if (!code)
			code = factor(p);
	}
	return code;
}

static int expression(struct parser *p)
{
	int code;

	sqlite3_str_appendall(p->sql, "((");
	code = term(p);
	while (!code && p->token == OR) {
		sqlite3_str_appendall(p->sql, ") OR (");
		code = next(p);
		if (!code)
			code = term(p);
	}
	sqlite3_str_appendall(p->sql, "))");
	return code;
}

int xf_filter_compile(struct xf_filter *filter, const char *text,
	const struct xf_filter_column *columns, size_t ncolumns, int first, size_t *where,
	struct xf_error *err)
{
	struct parser p = {.text = text,
		.at = text,
		.columns = columns,
		.ncolumns = ncolumns,
		.filter = filter,
		.where = where,
		.err = err};
	int code;

	*filter = (struct xf_filter){.first = first};
	*where = 0;
	p.sql = sqlite3_str_new(NULL);
	code = next(&p);
	if (!code && p.token == END) {
		sqlite3_str_appendall(p.sql, "(1)");
	} else if (!code) {
		code = expression(&p);
		if (!code && p.token == CLOSE)
			code = fail_at(&p, p.start, "this ) has no (");
		if (!code && p.token != END)
			code = fail_at(&p, p.start, "and, or or the end should stand here");
	}
	if (!code && filter->nvalues > 500)
		code = fail_at(&p, text, "more than 500 values");
	filter->sql = sqlite3_str_finish(p.sql);
	if (!code && !filter->sql)
		code = xf_fail_nomem(err);
	free(p.word);
	if (code)
		xf_filter_free(filter);
	return code;
}

int xf_filter_bind(const struct xf_filter *filter, sqlite3_stmt *stmt, struct xf_error *err)
{
	for (int i = 0; i < filter->nvalues; i++) {
		const struct xf_filter_value *value = &filter->values[i];
		int n = filter->first + i, code;

		if (value->type == XF_FILTER_IS_INT)
			code = sqlite3_bind_int64(stmt, n, value->integer);
		else if (value->type == XF_FILTER_IS_REAL)
			code = sqlite3_bind_double(stmt, n, value->real);
		else
			code = sqlite3_bind_text(stmt, n, value->text, -1, SQLITE_TRANSIENT);
		if (code != SQLITE_OK)
			return xf_db_fail(sqlite3_db_handle(stmt), "filter", err);
	}
	return 0;
}

void xf_filter_free(struct xf_filter *filter)
{
	for (int i = 0; i < filter->nvalues; i++)
		free(filter->values[i].text);
	free(filter->values);
	sqlite3_free(filter->sql);
	*filter = (struct xf_filter){0};
}

int xf_filter_regex_flags(const char *pattern)
{
	for (; *pattern; pattern++) {
		if (*pattern == '\\' && pattern[1])
			pattern++; /* \W is a class, not a capital */
		else if (isupper((unsigned char)*pattern))
			return REG_EXTENDED;
	}
	return REG_EXTENDED | REG_ICASE;
}

static void free_regex(void *regex)
{
	regfree(regex);
	free(regex);
}

/* xf_match(text, pattern): the pattern is compiled once per statement. */
static void match(sqlite3_context *context, int n, sqlite3_value **values)
{
	const char *text = (const char *)sqlite3_value_text(values[0]);
	const char *pattern = (const char *)sqlite3_value_text(values[1]);
	regex_t *regex = sqlite3_get_auxdata(context, 1), *fresh = NULL;

	(void)n;
	if (!text || !pattern) {
		sqlite3_result_null(context);
		return;
	}
	if (!regex) {
		regex = fresh = malloc(sizeof(*regex));
		if (!regex) {
			sqlite3_result_error_nomem(context);
			return;
		}
		if (regcomp(regex, pattern, xf_filter_regex_flags(pattern) | REG_NOSUB)) {
			free(regex);
			sqlite3_result_error(context, "bad regular expression", -1);
			return;
		}
	}
	sqlite3_result_int(context, regexec(regex, text, 0, NULL, 0) == 0);
	if (fresh)
		sqlite3_set_auxdata(context, 1, fresh, free_regex);
}

int xf_filter_functions(sqlite3 *db, struct xf_error *err)
{
	if (sqlite3_create_function(db, "xf_match", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
		    match, NULL, NULL) != SQLITE_OK)
		return xf_db_fail(db, "xf_match", err);
	return 0;
}
