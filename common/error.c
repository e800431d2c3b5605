// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Errors as values.  In: code, printf-style cause.  Out: struct xf_error, negative code.
 */
#include "common/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	int status;
	const char *text;
} codes[XF_CODES] = {[XF_OK] = {0, "done"},
#define X(name, status, text) [XF_##name] = {status, text},
	XF_ERRORS(X)
#undef X
};

static void fill(struct xf_error *err, enum xf_code code, int sys, const char *format, va_list ap)
{
	size_t used;

	if (!err || err->code != XF_OK)
		return;
	err->code = code;
	err->sys = sys;
	vsnprintf(err->text, sizeof(err->text), format, ap);
	used = strlen(err->text);
	if (sys)
		snprintf(err->text + used, sizeof(err->text) - used, ": %s", strerror(sys));
}

int xf_fail(struct xf_error *err, enum xf_code code, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fill(err, code, 0, format, ap);
	va_end(ap);
	return -(int)code;
}

int xf_fail_errno(struct xf_error *err, enum xf_code code, const char *format, ...)
{
	int sys = errno;
	va_list ap;

	va_start(ap, format);
	fill(err, code, sys, format, ap);
	va_end(ap);
	return -(int)code;
}

int xf_fail_nomem(struct xf_error *err)
{
	return xf_fail(err, XF_INTERNAL, "out of memory");
}

void xf_error_clear(struct xf_error *err)
{
	err->code = XF_OK;
	err->sys = 0;
	err->text[0] = '\0';
}

int xf_exit_status(enum xf_code code)
{
	return (unsigned)code < XF_CODES ? codes[code].status : 1;
}

const char *xf_code_text(enum xf_code code)
{
	return (unsigned)code < XF_CODES ? codes[code].text : "unknown error";
}
