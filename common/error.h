/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One list of error codes: it gives the enum, the text and the exit status of the programs.
 * In: a cause and its remedy in words.  Out: a filled struct xf_error and a negative return value.
 */
#ifndef XF_COMMON_ERROR_H
#define XF_COMMON_ERROR_H

#include <stdint.h>

/* X(name, exit status, text) */
#define XF_ERRORS(X)                                                 \
	X(INTERNAL, 1, "internal error")                             \
	X(USAGE, 2, "bad usage")                                     \
	X(MISSING, 2, "this build lacks a part")                     \
	X(IO, 3, "input/output error")                               \
	X(FORMAT, 4, "not a trace or not a xenfault database")       \
	X(DB, 5, "database error")                                   \
	X(BUSY, 5, "somebody else writes the file")                  \
	X(LIVE, 6, "live capture is not possible here")              \
	X(LOSS, 7, "records were lost and --fail-on-loss was given") \
	X(GONE, 8, "the database was removed or replaced")           \
	X(INTERRUPTED, 130, "interrupted")

enum xf_code {
	XF_OK,
#define X(name, status, text) XF_##name,
	XF_ERRORS(X)
#undef X
		XF_CODES
};

/* Not an error: a live source has nothing complete to give right now; ask again later. */
#define XF_AGAIN (-1000)

struct xf_error {
	enum xf_code code;
	int sys;	 /* errno at the failure, 0 = none */
	char text[1024]; /* cause and remedy, one line, no newline */
};

/*
 * Fills *err (which may be NULL) and returns -code, so that `return xf_fail(...)` reads well.
 * The first failure stands: a second call on the same object keeps the first text.
 */
int xf_fail(struct xf_error *err, enum xf_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same with ": strerror(errno)" behind the text; errno is saved in err->sys. */
int xf_fail_errno(struct xf_error *err, enum xf_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* "out of memory", code XF_INTERNAL. */
int xf_fail_nomem(struct xf_error *err);

/* Forgets an earlier failure, so that the object can be used again. */
void xf_error_clear(struct xf_error *err);

/* Exit status and fixed text of a code. */
int xf_exit_status(enum xf_code code);
const char *xf_code_text(enum xf_code code);

#endif
