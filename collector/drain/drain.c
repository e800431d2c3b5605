// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xenfault-drain, the privileged part: the only file that talks to Xen's libraries.
 * In: Xen's trace rings, which are shared memory and not trusted.  Out: on stdout xentrace's stream
 * of windows; on --status-fd lines key=value about what was found (without it, errors and warnings
 * on stderr).
 *
 * Once the rings are mapped, this process has no way to Xen any more, and no rights: it copies bytes.
 * A second one (guard.h), which reads nothing but two short messages, turns tracing off when told to
 * and leaves Xen as it was, however the first one ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <xenctrl.h>
#include <xenevtchn.h>
#include <xenforeignmemory.h>
#include <xentoollog.h>
#include <xen/sys/privcmd.h>
#include <xen/trace.h>

#include "collector/drain/guard.h"
#include "collector/drain/options.h"
#include "collector/drain/host.h"
#include "collector/drain/ring.h"
#include "common/confine.h"
#include "common/eventmask.h"
#include "common/version.h"

#define GRACE	2   /* seconds a reader may take for a write after the stop */
#define TELL_MS 200 /* between two lines about losses */

_Static_assert(sizeof(struct xf_ring_head) == sizeof(struct t_buf) &&
		       offsetof(struct xf_ring_head, prod) == offsetof(struct t_buf, prod),
	"the start of a ring is as in Xen's header");

struct drain {
	struct xf_drain_options o;
	bool watch_stdin;

	xc_interface *xch;
	xenevtchn_handle *evtchn;
	xenforeignmemory_handle *memory;
	evtchn_port_t port;
	unsigned pcpus, online, pages;
	uint32_t found_events;
	bool found_on;
	struct xf_ring *rings;

	struct xf_guard guard;
	bool quiet; /* tracing has been turned off */
	bool reader_gone;
	const char *end; /* why the capture ends; NULL = it goes on */
	int status;	 /* exit status */
	uint64_t windows, bytes, lost, lost_told, lost_told_ms;
};

static const struct xf_cpulist every_cpu = {.all = true};

static volatile sig_atomic_t stopped, grace, gave_up;

static void on_signal(int sig)
{
	if (sig == SIGALRM && grace)
		gave_up = 1;
	else
		stopped = sig;
}

/* One line key=value for the parent.  A line is written whole: it is shorter than PIPE_BUF. */
__attribute__((format(printf, 3, 4))) static void say(
	const struct drain *d, const char *key, const char *format, ...)
{
	char text[1024], line[1100];
	ssize_t done;
	va_list ap;
	int n;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	for (char *c = text; *c; c++)
		*c = (unsigned char)*c < ' ' ? '?' : *c; /* arguments are quoted in errors */
	if (d->o.status_fd >= 0) {
		n = snprintf(line, sizeof(line), "%s=%s\n", key, text);
		done = write(d->o.status_fd, line, (size_t)n);
		(void)done; /* a parent that is gone is noticed in wait_for_records() */
	} else if (!strcmp(key, "warning")) {
		fprintf(stderr, "xenfault-drain: warning: %s\n", text);
	}
}

/* Reports an error, once and for all, and returns the exit status. */
__attribute__((format(printf, 4, 5))) static int fail(
	struct drain *d, enum xf_code code, const char *class, const char *format, ...)
{
	char text[900];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (d->o.status_fd >= 0)
		say(d, "error", "%s %s", class, text);
	else
		fprintf(stderr, "xenfault-drain: %s\n", text);
	if (!d->status)
		d->status = xf_exit_status(code);
	d->end = "error";
	return d->status;
}

/* ---- Why Xen cannot be used here ---- */

static int fail_cause(struct drain *d, const struct xf_host_cause *cause)
{
	return fail(d, XF_LIVE, cause->class, "%s", cause->text);
}

static int fail_open(struct drain *d)
{
	int sys = errno;
	const struct xf_host_cause *cause = xf_host_why_closed();

	return cause ? fail_cause(d, cause)
		     : fail(d, XF_LIVE, "open", "cannot open Xen's interface: %s", strerror(sys));
}

/* Xen refused a call: errno tells several causes apart only with what else is known. */
static int fail_call(struct drain *d, const char *what)
{
	int sys = errno, version = xc_version(d->xch, XENVER_version, NULL);
	char xen[32];

	if ((sys == EPERM || sys == EACCES) && !xf_host_maybe_dom0())
		return fail_cause(d, &xf_host_domu);
	snprintf(xen, sizeof(xen), "%d.%d.", version >> 16, version & 0xffff);
	if (sys == EACCES && version >= 0 && strncmp(XF_XEN_TOOLS ".", xen, strlen(xen)) != 0)
		return fail(d, XF_LIVE, "versions",
			"the hypervisor is Xen %d.%d, this program was built with the libraries of Xen %s: "
			"install the build that fits the hypervisor",
			version >> 16, version & 0xffff, XF_XEN_TOOLS);
	if (sys == EPERM || sys == EACCES)
		return fail(d, XF_LIVE, "denied",
			"%s: denied by Xen's security policy (XSM/FLASK): the policy must let this domain "
			"use trace buffers (xen:tbufcontrol) and read physical CPU data (xen:physinfo)",
			what);
	return fail(d, XF_LIVE, "xen", "%s: %s", what, strerror(sys));
}

/* ---- Buffers ---- */

static int get_info(struct drain *d, struct xen_sysctl_tbuf_op *info)
{
	struct xen_sysctl op = {
		.cmd = XEN_SYSCTL_tbuf_op, .interface_version = XEN_SYSCTL_INTERFACE_VERSION};

	op.u.tbuf_op.cmd = XEN_SYSCTL_TBUFOP_get_info;
	if (xc_sysctl(d->xch, &op) == 0) {
		*info = op.u.tbuf_op;
		return 0;
	}
	if ((errno == ENOSYS || errno == EOPNOTSUPP) && xf_host_maybe_dom0())
		return fail(d, XF_LIVE, "no-tracing",
			"this hypervisor was built without trace buffers (CONFIG_TRACEBUFFER): boot one "
			"that has them");
	return fail_call(d, "asking for the trace buffers");
}

/* What the guard needs to know to restore Xen. */
struct left {
	uint32_t found_events;
	unsigned pages;
	bool found_on;
};

static void touch(struct drain *d)
{
	struct left left = {
		.found_events = d->found_events, .pages = d->pages, .found_on = d->found_on};

	if (d->guard.fd >= 0)
		xf_guard_note(&d->guard, &left, sizeof(left));
}

static int set_cpu_mask(struct drain *d, const struct xf_cpulist *cpus)
{
	int size = xc_get_cpumap_size(d->xch), ret;
	xc_cpumap_t map = xc_cpumap_alloc(d->xch);

	if (size <= 0 || !map)
		return fail_call(d, "asking for the number of CPUs");
	for (int i = 0; i < size; i++)
		map[i] = cpus->all ? 0xff : i < XF_CPULIST_MAX / 8 ? cpus->bits[i] : 0;
	touch(d);
	ret = xc_tbuf_set_cpu_mask(d->xch, map) ? fail_call(d, "setting the CPU mask") : 0;
	free(map);
	return ret;
}

static int set_event_mask(struct drain *d, uint32_t events)
{
	return xc_tbuf_set_evt_mask(d->xch, events) ? fail_call(d, "setting the event mask") : 0;
}

static int set_masks(struct drain *d, uint32_t events, const struct xf_cpulist *cpus)
{
	int failed = set_cpu_mask(d, cpus);

	return failed ? failed : set_event_mask(d, events);
}

static void *map_frames(struct drain *d, int prot, size_t n, const xen_pfn_t *frames)
{
	void *at = xenforeignmemory_map(d->memory, DOMID_XEN, prot, n, frames, NULL);

	if (!at)
		fail(d, XF_LIVE, xf_host_is_pvh() ? "pvh" : "map",
			"cannot map the trace buffers: %s%s", strerror(errno),
			xf_host_is_pvh()
				? ": this PVH dom0 cannot map Xen's own pages, boot dom0 as PV"
				: "");
	return at;
}

static bool readable(const struct xf_ring *ring)
{
	return ring->head && !ring->ended;
}

/* A ring that cannot be trusted any more: said aloud, left alone from now on. */
static void end_ring(struct drain *d, unsigned cpu, uint32_t prod, const char *why)
{
	struct xf_ring *ring = &d->rings[cpu];

	ring->ended = true;
	say(d, "ring_ended", "%u %s", cpu, why);
	say(d, "warning",
		"CPU %u: %s (write index 0x%x, read index 0x%x, size 0x%x): its ring is left alone",
		cpu, why, prod, ring->cons, ring->size);
}

/* Maps t_info and the rings that it names; `info` is what Xen said of it. */
static int map_rings(struct drain *d, const struct xen_sysctl_tbuf_op *info)
{
	size_t n = info->size / XC_PAGE_SIZE, most = n > UINT16_MAX ? n : UINT16_MAX;
	xen_pfn_t *frames = calloc(most, sizeof(*frames));
	const struct t_info *t_info;

	d->rings = calloc(d->pcpus, sizeof(*d->rings));
	if (!frames || !d->rings)
		return fail(d, XF_INTERNAL, "memory", "out of memory");
	for (size_t i = 0; i < n; i++)
		frames[i] = info->buffer_mfn + i;
	t_info = map_frames(d, PROT_READ, n, frames);
	d->pages = t_info ? t_info->tbuf_size : 0;
	if (t_info && !d->pages)
		fail(d, XF_LIVE, "rings", "Xen says that its trace buffers have no pages");
	for (unsigned cpu = 0; cpu < d->pcpus && !d->status; cpu++) {
		struct xf_ring *ring = &d->rings[cpu];
		size_t slot = offsetof(struct t_info, mfn_offset) + cpu * sizeof(uint16_t);
		size_t list = slot + sizeof(uint16_t) <= info->size ? t_info->mfn_offset[cpu] : 0;

		if (!list)
			continue;
		if ((list + d->pages) * sizeof(uint32_t) > info->size) {
			end_ring(d, cpu, 0, "its list of pages does not fit into t_info");
			continue;
		}
		for (unsigned i = 0; i < d->pages; i++)
			frames[i] = ((const uint32_t *)t_info)[list + i];
		ring->head = map_frames(d, PROT_READ | PROT_WRITE, d->pages, frames);
		ring->size = d->pages * XC_PAGE_SIZE - (uint32_t)sizeof(*ring->head);
	}
	if (t_info)
		xenforeignmemory_unmap(d->memory, (void *)(uintptr_t)t_info, n);
	free(frames);
	return d->status;
}

/* Throws away what is in the rings; returns how many bytes. */
static uint64_t discard(struct drain *d)
{
	uint64_t bytes = 0;

	for (unsigned cpu = 0; cpu < d->pcpus; cpu++) {
		struct xf_ring *ring = &d->rings[cpu];
		uint32_t prod = 0;
		const char *absurd = readable(ring) ? xf_ring_discard(ring, &bytes, &prod) : NULL;

		if (absurd)
			end_ring(d, cpu, prod, absurd);
	}
	return bytes;
}

/*
 * Xen does not tell whether tracing is on.  But with every event selected, this domain's own sleep
 * and system calls leave records if it is.
 */
static bool tracing_is_on(struct drain *d)
{
	discard(d);
	if (set_masks(d, XF_EVENTS_ALL, &every_cpu))
		return false;
	usleep(2000);
	return discard(d) > 0;
}

static int make_buffers(struct drain *d, struct xen_sysctl_tbuf_op *info)
{
	int sys;

	/* a new buffer starts with tracing on, under the masks of that moment */
	if (set_masks(d, d->o.events, &d->o.cpus))
		return d->status;
	sys = xc_tbuf_set_size(d->xch, d->o.pages) ? errno : 0;
	if (get_info(d, info))
		return d->status;
	errno = sys;
	if (!info->size && (sys == ENOMEM || sys == EINVAL))
		return fail(d, XF_LIVE, "size",
			"Xen could not make trace buffers of %lu pages for each CPU (%s): ask for fewer "
			"with -S",
			d->o.pages, strerror(sys));
	return info->size ? 0 : fail_call(d, "making the trace buffers");
}

/* ---- Start ---- */

static void ignore(struct xentoollog_logger *logger, xentoollog_level level, int sys,
	const char *context, const char *format, va_list ap)
{
	(void)logger, (void)level, (void)sys, (void)context, (void)format, (void)ap;
}

static struct xentoollog_logger silent = {.vmessage = ignore}; /* the causes are told by us */

static int open_xen(struct drain *d)
{
	xc_physinfo_t physinfo = {0};
	xen_extraversion_t extra = "";
	int version, port;

	d->xch = xc_interface_open(&silent, &silent, 0);
	if (!d->xch)
		return fail_open(d);
	d->memory = xenforeignmemory_open(&silent, 0);
	if (!d->memory)
		return fail_open(d);
	if (xc_physinfo(d->xch, &physinfo))
		return fail_call(d, "asking for the physical CPUs");
	d->pcpus = physinfo.max_cpu_id + 1;
	d->online = physinfo.nr_cpus;
	version = xc_version(d->xch, XENVER_version, NULL);
	xc_version(d->xch, XENVER_extraversion, extra);
	extra[sizeof(extra) - 1] = '\0';
	say(d, "version", "%s", XF_VERSION);
	say(d, "xen", "%d.%d%s", version >> 16, version & 0xffff, extra);
	say(d, "xen_tools", "%s", XF_XEN_TOOLS);
	say(d, "cpu_hz", "%llu", physinfo.cpu_khz * 1000ull);
	say(d, "pcpus", "%u", d->pcpus);
	say(d, "pcpus_online", "%u", d->online);
	if (d->o.cpus.last >= (int)d->pcpus)
		return fail(d, XF_USAGE, "usage",
			"-c: there is no CPU %d: this host has CPUs 0 to %u", d->o.cpus.last,
			d->pcpus - 1);
	d->evtchn = xenevtchn_open(&silent, 0);
	if (!d->evtchn)
		return fail(d, XF_LIVE, "no-evtchn",
			"cannot open /dev/xen/evtchn: %s: load the module xen-evtchn",
			strerror(errno));
	/* Xen gives this interrupt to one consumer: it is the lock that keeps a second one out */
	port = xenevtchn_bind_virq(d->evtchn, VIRQ_TBUF);
	if (port < 0 && (errno == EEXIST || errno == EBUSY))
		return fail(d, XF_LIVE, "busy",
			"another program reads the trace buffers (xentrace, xenmon or another "
			"xenfault-drain): end it first");
	if (port < 0)
		return fail_call(d, "binding the trace interrupt");
	d->port = (evtchn_port_t)port;
	return 0;
}

static void tell_rings(struct drain *d)
{
	struct xf_cpulist without = {.last = -1};
	char list[512];
	unsigned rings = 0;

	for (unsigned cpu = 0; cpu < d->pcpus; cpu++) {
		if (d->rings[cpu].head)
			rings++;
		else if (cpu < XF_CPULIST_MAX)
			xf_cpulist_add(&without, cpu);
	}
	xf_cpulist_format(&without, list, sizeof(list));
	say(d, "rings", "%u", rings);
	say(d, "cpus_without_ring", "%s", list);
	if (rings < d->online)
		say(d, "warning",
			"%u CPUs are online, %u have a trace buffer (none: %s): a CPU brought online after "
			"the buffers were made has none until the next boot",
			d->online, rings, list);
}

static int start(struct drain *d)
{
	struct xen_sysctl_tbuf_op info;
	unsigned long mfn, size;
	bool made;

	if (get_info(d, &info))
		return d->status;
	d->found_events = info.evt_mask;
	made = !info.size;
	if ((made && make_buffers(d, &info)) || map_rings(d, &info))
		return d->status;
	d->found_on = !made && tracing_is_on(d);
	/* off, so that what comes is all under the masks asked for, and counts of losses start at 0 */
	if (xc_tbuf_disable(d->xch))
		return fail_call(d, "turning tracing off");
	if (d->status || set_masks(d, d->o.events, &d->o.cpus))
		return d->status;
	say(d, "pages_asked", "%lu", d->o.pages);
	say(d, "pages", "%u", d->pages);
	if (d->pages != d->o.pages)
		say(d, "warning",
			made ? "Xen made buffers of %u page%s for each CPU of the %lu asked for"
			     : "buffers keep the size they first got in this boot: %u page%s for each CPU, not "
			       "the %lu asked for with -S",
			d->pages, d->pages == 1 ? "" : "s", d->o.pages);
	tell_rings(d);
	say(d, "tracing_found", "%s", d->found_on ? "on" : "off");
	if (d->found_on)
		say(d, "warning",
			"tracing was on and nobody read it (xentrace -x, tevt_mask= at boot, or a reader that "
			"was killed): it will be left on; this turns it off: %s --off",
			program_invocation_name);
	say(d, "events_found", "0x%08x", d->found_events);
	say(d, "events", "0x%08x", d->o.events);
	say(d, "discarded", "%llu", (unsigned long long)discard(d));
	if (!d->status && xc_tbuf_enable(d->xch, d->pages, &mfn, &size))
		return fail_call(d, "turning tracing on");
	return d->status;
}

/* ---- Draining ---- */

static void set_timer(double seconds)
{
	/* it repeats: a signal just before a blocking write would be lost */
	struct itimerval timer = {.it_interval.tv_sec = 1};

	timer.it_value.tv_sec = (time_t)seconds;
	timer.it_value.tv_usec = (suseconds_t)((seconds - (double)timer.it_value.tv_sec) * 1e6);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void fail_off(struct drain *d, int sys)
{
	if (sys)
		fail(d, XF_LIVE, "xen", "cannot turn tracing off: %s; this tries again: %s --off",
			strerror(sys), program_invocation_name);
}

/* No new records from here on; what is in the rings can still be read. */
static void turn_off(struct drain *d)
{
	if (d->quiet)
		return;
	d->quiet = true;
	grace = 1;
	set_timer(GRACE);
	fail_off(d, xf_guard_stop(&d->guard));
}

static int write_parts(struct drain *d, struct iovec *part, int parts)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

	while (parts) {
		ssize_t n = writev(STDOUT_FILENO, part, parts);
		int sys = n < 0 ? errno : 0;

		if (stopped)
			turn_off(d);
		if (sys == EPIPE) {
			d->reader_gone = true;
			d->end = "reader";
			return -1;
		}
		if (sys && gave_up)
			return fail(d, XF_IO, "io",
				"nobody reads the stream: its last windows are lost");
		if (sys == EAGAIN)
			poll(&out, 1, 1000);
		else if (sys && sys != EINTR)
			return fail(d, XF_IO, "io", "cannot write the stream: %s", strerror(sys));
		if (n > 0 && grace) {
			gave_up = 0;
			set_timer(GRACE);
		}
		for (; parts && n >= (ssize_t)part->iov_len; part++, parts--)
			n -= (ssize_t)part->iov_len;
		if (parts && n > 0) {
			part->iov_base = (char *)part->iov_base + n;
			part->iov_len -= (size_t)n;
		}
	}
	return 0;
}

/* One window, or nothing; true if the ring was more than half full. */
static bool drain_ring(struct drain *d, unsigned cpu)
{
	struct xf_ring *ring = &d->rings[cpu];
	struct xf_window window;
	const char *absurd = xf_ring_window(ring, cpu, &window);

	if (absurd)
		end_ring(d, cpu, window.prod, absurd);
	if (!window.length)
		return false;
	d->lost += xf_window_lost(&window);
	if (write_parts(d, window.part, 3))
		return false;
	xf_ring_consume(ring, window.prod);
	d->windows++;
	d->bytes += window.length;
	return window.length > ring->size / 2;
}

/* Every ring once, in the order of CPUs; true if one was more than half full. */
static bool pass(struct drain *d)
{
	bool busy = false, any = false;

	for (unsigned cpu = 0; cpu < d->pcpus && !d->status && !d->reader_gone; cpu++) {
		busy |= readable(&d->rings[cpu]) && drain_ring(d, cpu);
		any |= readable(&d->rings[cpu]);
	}
	if (!any && !d->end)
		fail(d, XF_LIVE, "rings", "no ring is left to read");
	return busy;
}

/* Sleeps until there may be records; notices what ends the capture. */
static void wait_for_records(struct drain *d, unsigned long ms)
{
	enum { VIRQ, OUT, STATUS, IN, FDS };
	struct timespec timeout = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
	struct pollfd fds[FDS] = {
		[VIRQ] = {.fd = xenevtchn_fd(d->evtchn), .events = POLLIN},
		[OUT] = {.fd = STDOUT_FILENO}, /* nothing asked: only errors are reported */
		[STATUS] = {.fd = d->o.status_fd},
		[IN] = {.fd = d->watch_stdin ? STDIN_FILENO : -1, .events = POLLIN},
	};
	sigset_t block, unblocked;
	char byte;
	int n;

	sigfillset(&block);
	sigprocmask(SIG_BLOCK, &block, &unblocked);
	n = stopped ? 0 : ppoll(fds, FDS, &timeout, &unblocked);
	sigprocmask(SIG_SETMASK, &unblocked, NULL);
	if (stopped)
		d->end = stopped == SIGALRM ? "time" : "signal";
	if (n <= 0)
		return;
	if (fds[STATUS].revents || (fds[IN].revents && read(STDIN_FILENO, &byte, 1) <= 0))
		d->end = "parent";
	if (fds[OUT].revents) {
		d->reader_gone = true;
		d->end = "reader";
	}
	if (fds[VIRQ].revents &&
		(xenevtchn_pending(d->evtchn) < 0 || xenevtchn_unmask(d->evtchn, d->port) < 0))
		fail(d, XF_LIVE, "xen", "the trace interrupt fails: %s", strerror(errno));
}

/* Tells the sum of losses now and then, but never waits for a parent that does not read. */
static void tell_lost(struct drain *d)
{
	struct pollfd room = {.fd = d->o.status_fd, .events = POLLOUT};
	struct timespec now;
	uint64_t ms;

	if (d->lost == d->lost_told || d->o.status_fd < 0)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	if (ms - d->lost_told_ms < TELL_MS || poll(&room, 1, 0) != 1)
		return;
	say(d, "lost", "%llu", (unsigned long long)d->lost);
	d->lost_told = d->lost;
	d->lost_told_ms = ms;
}

static void run(struct drain *d)
{
	if (d->o.seconds > 0)
		set_timer(d->o.seconds);
	say(d, "state", "running");
	while (!d->end) {
		bool busy = pass(d);

		tell_lost(d);
		if (!d->end)
			wait_for_records(d, busy ? 0 : d->o.poll_ms);
	}
	/* once more before tracing is off: with room in its ring Xen still tells what it lost */
	if (!d->quiet)
		pass(d);
	turn_off(d);
	pass(d);
}

/* ---- The guard: what runs in the other process ---- */

static int stop_tracing(void *data)
{
	struct drain *d = data;

	d->quiet = true;
	return xc_tbuf_disable(d->xch) ? errno : 0;
}

/* Xen as it was found.  Only the CPU mask is not: Xen does not tell what it was. */
static int restore(void *data, const void *note, size_t size)
{
	struct drain *d = data;
	struct left left;
	unsigned long mfn, bytes;
	int failed;

	if (size != sizeof(left)) {
		xc_interface_close(d->xch); /* nothing was touched */
		return 0;
	}
	memcpy(&left, note, size);
	if (!d->quiet)
		fail_off(d, stop_tracing(d));
	/* each of them, whatever became of the others */
	failed = set_cpu_mask(d, &every_cpu);
	failed |= set_event_mask(d, left.found_events);
	if (left.found_on && xc_tbuf_enable(d->xch, left.pages, &mfn, &bytes))
		failed = fail_call(d, "turning tracing on again, as it was found");
	if (!failed) {
		say(d, "events_left", "0x%08x", left.found_events);
		say(d, "cpus_left", "all");
		say(d, "tracing_left", left.found_on ? "on" : "off");
		if (!d->o.cpus.all)
			say(d, "warning",
				"the CPU mask is open for all CPUs now: Xen does not tell what it was");
	}
	xc_interface_close(d->xch);
	return d->status;
}

/* ---- Rights ---- */

#define CALL(name)                   \
	{                            \
		.number = SYS_##name \
	}
#define CALL_IF(name, argument, mask, value)      \
	{                                         \
		SYS_##name, argument, mask, value \
	}

/* What both processes call at the end, and for memory that holds no program. */
#define COMMON_CALLS                                                                              \
	CALL(recvfrom), CALL(sendto), CALL(write), CALL(close), CALL(rt_sigreturn),               \
		CALL(restart_syscall), CALL(exit_group), CALL(munmap), CALL(madvise), CALL(brk),  \
		CALL_IF(mmap, 2, PROT_EXEC, 0), CALL(getpid), CALL(gettid), CALL(rt_sigprocmask), \
		CALL_IF(tgkill, 0, UINT32_MAX, (uint32_t)getpid())

static void tell_confined(
	const struct drain *d, const char *who, const struct xf_confined *confined)
{
	say(d, "confined", "%s: %s", who, confined->done);
	if (*confined->missing)
		say(d, "unconfined", "%s, not here: %s", who, confined->missing);
}

/* Its own connection to Xen: libxenctrl's must not be used on the other side of a fork(). */
static int prepare_guard(void *data)
{
	const struct xf_confine_call calls[] = {
		COMMON_CALLS, CALL_IF(ioctl, 1, UINT32_MAX, (uint32_t)IOCTL_PRIVCMD_HYPERCALL)};
	struct xf_confined confined = {0};
	struct xf_confine_who nobody;
	struct drain *d = data;

	d->xch = xc_interface_open(&silent, &silent, 0);
	if (!d->xch)
		return errno ? errno : EIO;
	xf_confine_nobody(&nobody);
	xf_confine_rights(&confined, &nobody);
	xf_confine_calls(&confined, calls, sizeof(calls) / sizeof(calls[0]));
	tell_confined(d, "guard", &confined);
	return 0;
}

static int start_guard(struct drain *d)
{
	const struct xf_guard_work work = {prepare_guard, stop_tracing, restore, d};

	if (xf_guard_start(&d->guard, d->o.status_fd, &work))
		return fail(d, XF_INTERNAL, "guard",
			"cannot start the process that guards Xen's state: %s", strerror(errno));
	return 0;
}

static void close_xen(struct drain *d)
{
	if (d->memory)
		xenforeignmemory_close(d->memory);
	if (d->xch)
		xc_interface_close(d->xch);
	d->memory = NULL;
	d->xch = NULL;
}

/* The rings are mapped and the guard knows what to do: nothing else is needed from here on. */
static void give_up_rights(struct drain *d)
{
	const struct xf_confine_call calls[] = {
#ifdef SYS_poll
		CALL(poll),
#endif
		CALL(ppoll), CALL(read), CALL(writev), CALL(setitimer), CALL(clock_gettime),
		CALL(wait4), COMMON_CALLS};
	struct xf_confined confined = {0};
	struct xf_confine_who nobody;

	close_xen(d);
	xf_confine_nobody(&nobody);
	xf_confine_rights(&confined, &nobody);
	xf_confine_calls(&confined, calls, sizeof(calls) / sizeof(calls[0]));
	tell_confined(d, "drain", &confined);
}

/* Has the guard restore Xen, and waits for it. */
static void end_guard(struct drain *d)
{
	int status;

	close_xen(d);
	status = xf_guard_release(&d->guard);
	if (status < 0)
		fail(d, XF_LIVE, "xen",
			"the process that guards Xen's state was killed: tracing may be on; this turns "
			"it off: %s --off",
			program_invocation_name);
	if (status <= 0)
		return;
	d->end = "error";
	if (!d->status)
		d->status = status;
}

/* Without a guard there is nothing that has been touched. */
static void work(struct drain *d)
{
	if (open_xen(d) || start_guard(d))
		return;
	if (d->o.action == XF_DRAIN_OFF) {
		/* for after a drain that was killed: the guard does it */
		d->found_events = XF_EVENTS_ALL;
		touch(d);
	} else if (!start(d)) {
		give_up_rights(d);
		run(d);
	}
}

static void prepare_process(struct drain *d)
{
	/* all that would end it and can be told from a fault of its own */
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2,
		SIGXCPU, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGSTKFLT};
	struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: writes end */
	struct stat in;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGTSTP, SIG_IGN); /* stopped, it would lose records, and heed no other signal */
	fcntl(STDOUT_FILENO, F_SETPIPE_SZ, 1 << 20); /* fails where it is no pipe */
	d->watch_stdin = d->o.status_fd >= 0 && fstat(STDIN_FILENO, &in) == 0 &&
			 (S_ISFIFO(in.st_mode) || S_ISSOCK(in.st_mode));
}

int main(int argc, char **argv)
{
	struct drain d = {.guard.fd = -1};
	struct xf_error err = {0};

	if (xf_drain_options_parse(&d.o, argc, argv, &err))
		return fail(&d, XF_USAGE, "usage", "%s", err.text);
	if (d.o.action == XF_DRAIN_HELP)
		xf_drain_options_help(stdout);
	if (d.o.action == XF_DRAIN_VERSION)
		puts("xenfault-drain " XF_VERSION " (Xen " XF_XEN_TOOLS ")");
	if (d.o.action == XF_DRAIN_HELP || d.o.action == XF_DRAIN_VERSION)
		return 0;
	prepare_process(&d);
	work(&d);
	end_guard(&d);
	if (d.lost)
		say(&d, "warning",
			"%llu records were lost; pages of buffer for each CPU: %u (asked for with -S: %lu).  "
			"Fewer are lost with a larger -S from the start of the next boot, with fewer events "
			"(-e)%s",
			(unsigned long long)d.lost, d.pages, d.o.pages,
			d.o.status_fd < 0 ? " or with a shorter --poll" : "");
	say(&d, "lost", "%llu", (unsigned long long)d.lost);
	say(&d, "windows", "%llu", (unsigned long long)d.windows);
	say(&d, "bytes", "%llu", (unsigned long long)d.bytes);
	say(&d, "end", "%s", d.end ? d.end : "off");
	if (d.evtchn)
		xenevtchn_close(d.evtchn);
	free(d.rings);
	return d.status;
}
