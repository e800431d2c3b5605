// SPDX-License-Identifier: GPL-2.0-or-later
/* A kernel's ftrace log.  In: text.  Out: events. */
#include "common/ftrace.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LINE	  4096 /* bytes; what is longer is no event that we know */
#define PATIENCE  1000 /* lines without an event, and it is no log */
#define COMM_ROOM 32   /* a task's name ends within so many bytes of a line */
#define COMM_WIDE 16   /* and in lines as the kernel writes them, right there */

struct xf_ftrace {
	FILE *file;
	char *path;
	unsigned long lines;
	uint64_t latest;
	bool any_clock;
	struct xf_ftrace_state state;
	char line[LINE];
	uint32_t lost[XF_FTRACE_CPUS]; /* before the CPU's next event */
};

/* Standard input, or another pipe: kept, as it is read twice. */
static int spool(FILE **file, const char *path, struct xf_error *err)
{
	FILE *kept = tmpfile();
	char block[65536];
	size_t n;
	int code = 0;

	if (!kept)
		return xf_fail_errno(err, XF_IO, "cannot make a temporary file for %s", path);
	while (!code && (n = fread(block, 1, sizeof(block), *file)))
		if (fwrite(block, 1, n, kept) != n)
			code = xf_fail_errno(
				err, XF_IO, "cannot keep %s in a temporary file", path);
	if (!code && ferror(*file))
		code = xf_fail_errno(err, XF_IO, "cannot read %s", path);
	if (!code && (fflush(kept) || fseek(kept, 0, SEEK_SET)))
		code = xf_fail_errno(err, XF_IO, "cannot keep %s in a temporary file", path);
	if (*file != stdin)
		fclose(*file);
	*file = kept;
	return code;
}

static int open_file(struct xf_ftrace *log, const char *path, struct xf_error *err)
{
	struct stat st;

	log->file = strcmp(path, "-") ? fopen(path, "rb") : stdin;
	if (!log->file || fstat(fileno(log->file), &st))
		return xf_fail_errno(err, XF_IO, "cannot open %s", path);
	if (S_ISDIR(st.st_mode))
		return xf_fail(err, XF_IO, "%s is a directory, not a log", path);
	return S_ISREG(st.st_mode) && log->file != stdin ? 0 : spool(&log->file, path, err);
}

int xf_ftrace_open(struct xf_ftrace **out, const char *path, struct xf_error *err)
{
	static const char magic[] = "\x17\x08\x44tracing";
	struct xf_ftrace *log = calloc(1, sizeof(*log));
	char head[sizeof(magic) - 1] = "";
	int code;

	if (!log || !(log->path = strdup(strcmp(path, "-") ? path : "standard input"))) {
		free(log);
		return xf_fail_nomem(err);
	}
	code = open_file(log, path, err);
	if (!code && fread(head, 1, sizeof(head), log->file) == sizeof(head) &&
		!memcmp(head, magic, sizeof(head)))
		code = xf_fail(err, XF_FORMAT,
			"%s is trace-cmd's binary file: give the text that trace-cmd report makes of it",
			path);
	if (!code)
		code = xf_ftrace_rewind(log, err);
	if (code) {
		xf_ftrace_close(log);
		return code;
	}
	*out = log;
	return 0;
}

int xf_ftrace_rewind(struct xf_ftrace *log, struct xf_error *err)
{
	log->lines = 0;
	log->latest = 0;
	log->state = (struct xf_ftrace_state){0};
	memset(log->lost, 0, sizeof(log->lost));
	return fseek(log->file, 0, SEEK_SET)
		       ? xf_fail_errno(err, XF_IO, "cannot read %s", log->path)
		       : 0;
}

void xf_ftrace_any_clock(struct xf_ftrace *log)
{
	log->any_clock = true;
}

void xf_ftrace_state(const struct xf_ftrace *log, struct xf_ftrace_state *state)
{
	*state = log->state;
}

void xf_ftrace_close(struct xf_ftrace *log)
{
	if (!log)
		return;
	if (log->file && log->file != stdin)
		fclose(log->file);
	free(log->path);
	free(log);
}

/*
 * Reads a line without its end; 1, 0 = end of the file.  *whole is false for what is no text, or too
 * long, or lacks its end because the log was cut.
 */
static int read_line(struct xf_ftrace *log, bool *whole)
{
	size_t n = 0;
	int c;

	*whole = true;
	while ((c = getc_unlocked(log->file)) != '\n' && c != EOF) {
		*whole &= c && n < LINE - 1;
		if (*whole)
			log->line[n++] = (char)c;
	}
	if (c == EOF && !n && *whole)
		return 0;
	*whole &= c == '\n';
	if (*whole && n && log->line[n - 1] == '\r')
		n--;
	log->line[n] = '\0';
	log->lines++;
	return 1;
}

static bool digits(char **at, uint64_t *value, uint64_t limit)
{
	char *p = *at;

	if (!isdigit((unsigned char)*p))
		return false;
	for (*value = 0; isdigit((unsigned char)*p); p++) {
		if (*value > (UINT64_MAX - 9) / 10)
			return false;
		*value = 10 * *value + (uint64_t)(*p - '0');
	}
	*at = p;
	return *value <= limit;
}

static char *blanks(char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

/* "[001]", behind the thread group where the log has it: "(    165)". */
static bool cpu_field(char **at, uint64_t *cpu)
{
	char *p = blanks(*at);

	if (*p == '(') {
		p = strchr(p, ')');
		if (!p)
			return false;
		p = blanks(p + 1);
	}
	if (*p++ != '[' || !digits(&p, cpu, XF_FTRACE_CPUS - 1) || *p++ != ']')
		return false;
	*at = p;
	return true;
}

/* Behind the point: digits of a second, as nanoseconds. */
static bool fraction(char **at, uint64_t seconds, uint64_t *ns)
{
	uint64_t unit = 1000000000;

	if (seconds >= UINT64_MAX / 2 / unit)
		return false;
	*ns = seconds * unit;
	for (++*at; isdigit((unsigned char)**at) && unit > 1; ++*at) {
		unit /= 10;
		*ns += unit * (uint64_t)(**at - '0');
	}
	return true;
}

/* Flags (may be missing), time, name, text: 1 = an event, 0 = none, -1 = one of a clock in seconds. */
static int rest(char *p, struct xf_ftrace_line *line)
{
	int found = 1;
	char *name;

	p = blanks(p);
	if (!isdigit((unsigned char)*p) || strcspn(p, ":") > strcspn(p, " \t"))
		p = blanks(p + strcspn(p, " \t"));
	if (!digits(&p, &line->tsc, UINT64_MAX))
		return 0;
	if (*p == '.' && isdigit((unsigned char)p[1])) {
		if (!fraction(&p, line->tsc, &line->tsc))
			return 0;
		found = -1;
	}
	if (*p++ != ':')
		return 0;
	name = p = blanks(p);
	p += strcspn(p, ": \t");
	if (p == name || *p != ':')
		return 0;
	*p++ = '\0';
	line->event = name;
	line->text = blanks(p);
	return found;
}

/* The line with its task's name up to this dash; as rest(). */
static int read_with(struct xf_ftrace *log, char *dash, struct xf_ftrace_line *line)
{
	char *p = dash + 1;
	uint64_t pid, cpu;
	int found;

	if (!digits(&p, &pid, XF_FTRACE_PIDS) || !cpu_field(&p, &cpu))
		return 0;
	found = rest(p, line);
	if (!found)
		return 0;
	*dash = '\0';
	line->comm = blanks(log->line);
	line->pid = (uint32_t)pid;
	line->cpu = (uint32_t)cpu;
	line->number = log->lines;
	line->lost = log->lost[cpu];
	return found;
}

/*
 * A task's name may hold blanks, dashes, brackets, even what looks like an event.  The kernel writes it
 * into COMM_WIDE columns; of a log that lost its blanks the first reading that fits to the end is taken.
 */
static int parse(struct xf_ftrace *log, struct xf_ftrace_line *line)
{
	char *begin = blanks(log->line);
	int found = 0;

	if (memchr(log->line, '\0', COMM_WIDE + 1) == NULL && log->line[COMM_WIDE] == '-')
		found = read_with(log, log->line + COMM_WIDE, line);
	for (char *dash = strchr(begin, '-'); !found && dash && dash - begin < COMM_ROOM;
		dash = strchr(dash + 1, '-'))
		found = read_with(log, dash, line);
	return found;
}

/* "CPU:1 [LOST 12 EVENTS]"; without a number it is at least one. */
static void lost_events(struct xf_ftrace *log, const char *p, const char *lost)
{
	unsigned long n = strncmp(lost, "[LOST ", 6) ? strtoul(lost + 1, NULL, 10)
						     : strtoul(lost + 6, NULL, 10);
	char *number = (char *)(uintptr_t)p + 4;
	uint64_t cpu;

	n = n ? n : 1;
	log->state.lost += n;
	if (!strncmp(p, "CPU:", 4) && digits(&number, &cpu, XF_FTRACE_CPUS - 1))
		log->lost[cpu] =
			n > UINT32_MAX - log->lost[cpu] ? UINT32_MAX : log->lost[cpu] + (uint32_t)n;
}

/* Lines that are no events, and no fault of the log's. */
static bool remark(struct xf_ftrace *log)
{
	unsigned long long kept, written;
	const char *lost, *p = blanks(log->line);

	if (!*p || !strncmp(p, "cpus=", 5) || (!strncmp(p, "CPU", 3) && strstr(p, "started")))
		return true;
	if (sscanf(p, "# entries-in-buffer/entries-written: %llu/%llu", &kept, &written) == 2)
		log->state.overwritten |= kept < written;
	lost = strstr(p, "[LOST ");
	if (!lost && strstr(p, "EVENTS DROPPED"))
		lost = strchr(p, '[');
	if (lost && (!strncmp(p, "CPU:", 4) || *p == '[')) {
		lost_events(log, p, lost);
		return true;
	}
	return *p == '#';
}

static int at_end(struct xf_ftrace *log, struct xf_error *err)
{
	if (ferror(log->file))
		return xf_fail_errno(err, XF_IO, "cannot read %s", log->path);
	if (!log->state.events)
		return xf_fail(err, XF_FORMAT,
			"%s: not one event of an ftrace text log in %lu lines", log->path,
			log->lines);
	return 0;
}

int xf_ftrace_next(struct xf_ftrace *log, struct xf_ftrace_line *line, struct xf_error *err)
{
	bool whole;

	while (read_line(log, &whole)) {
		int found = !whole ? 0 : remark(log) ? 2 : parse(log, line);

		if (found == 2)
			continue;
		if (found < 0 && !log->any_clock)
			return xf_fail(err, XF_FORMAT,
				"%s, line %lu: a time in seconds; the log's clock must be the TSC:"
				" echo x86-tsc >trace_clock",
				log->path, log->lines);
		if (!found) {
			if (!log->state.bad++)
				log->state.first_bad = log->lines;
			if (!log->state.events && log->state.bad >= PATIENCE)
				return at_end(log, err);
			continue;
		}
		if (log->state.events++ && log->state.seconds != (found < 0))
			return xf_fail(err, XF_FORMAT,
				"%s, line %lu: times in seconds and in cycles in one log",
				log->path, log->lines);
		log->state.seconds = found < 0;
		log->lost[line->cpu] = 0;
		if (line->tsc < log->latest)
			log->state.back++;
		else
			log->latest = line->tsc;
		return 1;
	}
	return at_end(log, err);
}

/* What stands behind the first or the last "key=", NULL = nothing. */
static const char *value_of(const char *text, const char *key, bool last)
{
	size_t length = strlen(key);
	const char *found = NULL;

	for (const char *p = strstr(text, key); p && (last || !found); p = strstr(p + 1, key))
		if (p[length] == '=' && (p == text || p[-1] == ' ' || p[-1] == '\t'))
			found = p + length + 1;
	return found;
}

static bool number_at(const char *p, int base, uint64_t *value)
{
	char *end;

	if (!p || !isxdigit((unsigned char)*p))
		return false;
	if (!strncmp(p, "0x", 2))
		base = 16;
	errno = 0;
	*value = strtoull(p, &end, base);
	return end != p && !errno && (!*end || *end == ' ' || *end == '\t' || *end == ')');
}

bool xf_ftrace_number(const char *text, const char *key, int base, uint64_t *value)
{
	return number_at(value_of(text, key, true), base, value);
}

bool xf_ftrace_first(const char *text, const char *key, int base, uint64_t *value)
{
	return number_at(value_of(text, key, false), base, value);
}

bool xf_ftrace_word(const char *text, const char *key, char *word, unsigned long size)
{
	const char *p = value_of(text, key, false);

	if (!p)
		return false;
	snprintf(word, size, "%.*s", (int)strcspn(p, " \t"), p);
	return true;
}
