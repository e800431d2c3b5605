// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xenfault-drain, the privileged part: the only file that talks to Xen's libraries.
 * In: Xen's trace rings, which are shared memory and not trusted.  Out: on stdout xentrace's stream
 * of windows; on --status-fd lines key=value about what was found (without it, errors and warnings
 * on stderr).  On the way out, tracing and the event mask are as they were.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xenctrl.h>
#include <xenevtchn.h>
#include <xenforeignmemory.h>
#include <xentoollog.h>
#include <xen/trace.h>

#include "common/cpulist.h"
#include "common/error.h"
#include "common/eventmask.h"
#include "common/version.h"

#define WINDOW_HEADER (2u << 28 | TRC_TRACE_CPU_CHANGE) /* two payload words, no TSC */
#define GRACE	      2 /* seconds a reader may take for a write after the stop */

struct ring {
	struct t_buf *meta; /* NULL: the CPU has no ring */
	uint32_t cons;	    /* ours is the only true copy of the read index */
	bool ended;
};

struct drain {
	uint32_t events;
	struct xf_cpulist cpus;
	unsigned long asked; /* pages for each CPU */
	double seconds;
	unsigned long poll_ms;
	int status_fd; /* -1 = none */
	bool watch_stdin;
	bool off; /* --off */

	xc_interface *xch;
	xenevtchn_handle *evtchn;
	xenforeignmemory_handle *memory;
	evtchn_port_t port;
	unsigned pcpus, online;
	uint32_t found_events;
	bool found_on;
	unsigned pages;
	uint32_t size; /* data bytes of a ring */
	struct ring *rings;

	bool touched;	 /* masks or state in Xen are ours: restore them */
	bool quiet;	 /* tracing has been turned off */
	const char *end; /* why the capture ends; NULL = it goes on */
	int status;	 /* exit status */
	uint64_t windows, bytes, lost, lost_told;
};

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
	if (d->status_fd >= 0) {
		n = snprintf(line, sizeof(line), "%s=%s\n", key, text);
		done = write(d->status_fd, line, (size_t)n);
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
	if (d->status_fd >= 0)
		say(d, "error", "%s %s", class, text);
	else
		fprintf(stderr, "xenfault-drain: %s\n", text);
	if (!d->status)
		d->status = xf_exit_status(code);
	d->end = "error";
	return d->status;
}

/* ---- Why Xen cannot be used here ---- */

static bool first_line(const char *path, char *line, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, line, size - 1);

	if (fd >= 0)
		close(fd);
	line[n < 0 ? 0 : n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return n > 0;
}

/* True unless the kernel says that this is no control domain. */
static bool maybe_dom0(void)
{
	char text[64];

	return !first_line("/sys/hypervisor/properties/features", text, sizeof(text)) ||
	       (strtoul(text, NULL, 16) & 1ul << XENFEAT_dom0);
}

static bool is_pvh(void)
{
	char text[64];

	return first_line("/sys/hypervisor/guest_type", text, sizeof(text)) &&
	       strcmp(text, "PV") != 0;
}

static int fail_domu(struct drain *d)
{
	return fail(d, XF_LIVE, "domU",
		"this is a guest (domU), and traces are read in dom0: run it there");
}

static int fail_open(struct drain *d)
{
	static const char *const nodes[] = {"/dev/xen/privcmd", "/proc/xen/privcmd"};
	int sys = errno, node = 0;
	char type[64];

	if (first_line("/sys/hypervisor/type", type, sizeof(type)) ? strcmp(type, "xen") != 0
								   : access("/proc/xen", F_OK) != 0)
		return fail(d, XF_LIVE, "not-xen",
			"this machine does not run under Xen: live capture needs the dom0 of a Xen host "
			"(recorded traces can be read anywhere)");
	if (!maybe_dom0())
		return fail_domu(d);
	while (node < 2 && access(nodes[node], F_OK))
		node++;
	if (node == 2 && is_pvh())
		return fail(d, XF_LIVE, "pvh",
			"this PVH dom0's kernel has no privcmd device: load the module xen-privcmd, or boot "
			"dom0 as PV (without dom0=pvh on Xen's command line)");
	if (node == 2)
		return fail(d, XF_LIVE, "no-privcmd",
			"there is no /dev/xen/privcmd: load the module xen-privcmd, or mount xenfs on "
			"/proc/xen");
	if (access(nodes[node], R_OK | W_OK))
		return fail(d, XF_LIVE, "not-root", "%s may not be opened: run it as root",
			nodes[node]);
	return fail(d, XF_LIVE, "open", "cannot open %s: %s", nodes[node], strerror(sys));
}

/* Xen refused a call: errno tells several causes apart only with what else is known. */
static int fail_call(struct drain *d, const char *what)
{
	int sys = errno, version = xc_version(d->xch, XENVER_version, NULL);
	char xen[32];

	if ((sys == EPERM || sys == EACCES) && !maybe_dom0())
		return fail_domu(d);
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
	if ((errno == ENOSYS || errno == EOPNOTSUPP) && maybe_dom0())
		return fail(d, XF_LIVE, "no-tracing",
			"this hypervisor was built without trace buffers (CONFIG_TRACEBUFFER): boot one "
			"that has them");
	return fail_call(d, "asking for the trace buffers");
}

static int set_masks(struct drain *d, uint32_t events, const struct xf_cpulist *cpus)
{
	int size = xc_get_cpumap_size(d->xch), ret;
	xc_cpumap_t map = xc_cpumap_alloc(d->xch);

	if (size <= 0 || !map)
		return fail_call(d, "asking for the number of CPUs");
	for (int i = 0; i < size; i++)
		map[i] = cpus->all ? 0xff : i < XF_CPULIST_MAX / 8 ? cpus->bits[i] : 0;
	d->touched = true;
	ret = xc_tbuf_set_cpu_mask(d->xch, map);
	free(map);
	if (ret)
		return fail_call(d, "setting the CPU mask");
	if (xc_tbuf_set_evt_mask(d->xch, events))
		return fail_call(d, "setting the event mask");
	return 0;
}

static void *map_frames(struct drain *d, int prot, size_t n, const xen_pfn_t *frames)
{
	void *at = xenforeignmemory_map(d->memory, DOMID_XEN, prot, n, frames, NULL);

	if (!at)
		fail(d, XF_LIVE, is_pvh() ? "pvh" : "map", "cannot map the trace buffers: %s%s",
			strerror(errno),
			is_pvh() ? ": this PVH dom0 cannot map Xen's own pages, boot dom0 as PV"
				 : "");
	return at;
}

/* A ring that cannot be trusted any more: said aloud, left alone from now on. */
static void end_ring(struct drain *d, unsigned cpu, uint32_t prod, uint32_t cons, const char *why)
{
	d->rings[cpu].ended = true;
	say(d, "ring_ended", "%u prod 0x%x cons 0x%x size 0x%x: %s", cpu, prod, cons, d->size, why);
	say(d, "warning", "CPU %u: %s: nothing more is read from its ring", cpu, why);
	for (unsigned i = 0; i < d->pcpus; i++)
		if (d->rings[i].meta && !d->rings[i].ended)
			return;
	fail(d, XF_LIVE, "rings", "no ring is left to read");
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
	d->size = d->pages * XC_PAGE_SIZE - (uint32_t)sizeof(struct t_buf);
	if (t_info && !d->pages)
		fail(d, XF_LIVE, "rings", "Xen says that its trace buffers have no pages");
	for (unsigned cpu = 0; cpu < d->pcpus && !d->status; cpu++) {
		size_t slot = offsetof(struct t_info, mfn_offset) + cpu * sizeof(uint16_t);
		size_t list = slot + sizeof(uint16_t) <= info->size ? t_info->mfn_offset[cpu] : 0;

		if (!list)
			continue;
		if ((list + d->pages) * sizeof(uint32_t) > info->size) {
			end_ring(d, cpu, 0, 0, "its list of pages does not fit into t_info");
			continue;
		}
		for (unsigned i = 0; i < d->pages; i++)
			frames[i] = ((const uint32_t *)t_info)[list + i];
		d->rings[cpu].meta = map_frames(d, PROT_READ | PROT_WRITE, d->pages, frames);
	}
	if (t_info)
		xenforeignmemory_unmap(d->memory, (void *)(uintptr_t)t_info, n);
	free(frames);
	return d->status;
}

/* Checked write index of a ring, read once; false = the ring has ended. */
static bool read_prod(struct drain *d, unsigned cpu, uint32_t *prod)
{
	*prod = __atomic_load_n(&d->rings[cpu].meta->prod, __ATOMIC_ACQUIRE);
	if (*prod % 4 == 0 && *prod < 2 * d->size)
		return true;
	end_ring(d, cpu, *prod, d->rings[cpu].cons, "its write index is absurd");
	return false;
}

static void set_cons(struct ring *ring, uint32_t cons)
{
	ring->cons = cons;
	/* all reads of the window are before this store, else Xen may overwrite what we read */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&ring->meta->cons, cons, __ATOMIC_RELEASE);
}

/* Throws away what is in the rings; returns how many bytes. */
static uint64_t discard(struct drain *d)
{
	uint64_t bytes = 0;

	for (unsigned cpu = 0; cpu < d->pcpus; cpu++) {
		struct ring *ring = &d->rings[cpu];
		uint32_t prod, cons;

		if (!ring->meta || ring->ended || !read_prod(d, cpu, &prod))
			continue;
		cons = __atomic_load_n(&ring->meta->cons, __ATOMIC_RELAXED);
		bytes += (prod + 2ull * d->size - cons % (2 * d->size)) % (2 * d->size);
		set_cons(ring, prod);
	}
	return bytes;
}

/*
 * Xen does not tell whether tracing is on.  But with every event selected, this domain's own sleep
 * and system calls leave records if it is.
 */
static bool tracing_is_on(struct drain *d)
{
	static const struct xf_cpulist all = {.all = true};

	discard(d);
	if (set_masks(d, XF_EVENTS_ALL, &all))
		return false;
	usleep(2000);
	return discard(d) > 0;
}

static int make_buffers(struct drain *d, struct xen_sysctl_tbuf_op *info)
{
	int sys;

	/* a new buffer starts with tracing on, under the masks of that moment */
	if (set_masks(d, d->events, &d->cpus))
		return d->status;
	sys = xc_tbuf_set_size(d->xch, d->asked) ? errno : 0;
	if (get_info(d, info))
		return d->status;
	errno = sys;
	if (!info->size && (sys == ENOMEM || sys == EINVAL))
		return fail(d, XF_LIVE, "size",
			"Xen could not make trace buffers of %lu pages for each CPU (%s): ask for fewer "
			"with -S",
			d->asked, strerror(sys));
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
	if (d->cpus.last >= (int)d->pcpus)
		return fail(d, XF_USAGE, "usage",
			"-c: there is no CPU %d: this host has CPUs 0 to %u", d->cpus.last,
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

/* The CPUs without a ring as a list: 1,3-5. */
static void tell_rings(struct drain *d)
{
	char list[900] = "";
	unsigned rings = 0;
	size_t used = 0;

	for (unsigned cpu = 0, next; cpu < d->pcpus; cpu = next) {
		next = cpu + 1;
		if (d->rings[cpu].meta) {
			rings++;
			continue;
		}
		while (next < d->pcpus && !d->rings[next].meta)
			next++;
		if (used < sizeof(list) - 32)
			used += (size_t)sprintf(list + used, next - cpu > 1 ? "%s%u-%u" : "%s%u",
				used ? "," : "", cpu, next - 1);
	}
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

	if (open_xen(d) || get_info(d, &info))
		return d->status;
	d->found_events = info.evt_mask;
	made = !info.size;
	if ((made && make_buffers(d, &info)) || map_rings(d, &info))
		return d->status;
	d->found_on = !made && tracing_is_on(d);
	/* off, so that what comes is all under the masks asked for, and counts of losses start at 0 */
	if (xc_tbuf_disable(d->xch))
		return fail_call(d, "turning tracing off");
	if (d->status || set_masks(d, d->events, &d->cpus))
		return d->status;
	say(d, "pages_asked", "%lu", d->asked);
	say(d, "pages", "%u", d->pages);
	if (d->pages != d->asked)
		say(d, "warning",
			made ? "Xen made buffers of %u pages for each CPU of the %lu asked for"
			     : "buffers keep the size they first got in this boot: %u pages for each CPU, not "
			       "the %lu asked for with -S",
			d->pages, d->asked);
	tell_rings(d);
	say(d, "tracing_found", "%s", d->found_on ? "on" : "off");
	say(d, "events_found", "0x%08x", d->found_events);
	say(d, "events", "0x%08x", d->events);
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

/* No new records from here on; what is in the rings can still be read. */
static void turn_off(struct drain *d)
{
	if (d->quiet)
		return;
	d->quiet = true;
	grace = 1;
	set_timer(GRACE);
	if (xc_tbuf_disable(d->xch))
		fail(d, XF_LIVE, "xen",
			"cannot turn tracing off: %s: xenfault-drain --off tries again",
			strerror(errno));
}

static int write_parts(struct drain *d, struct iovec *part, int parts)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

	while (parts) {
		ssize_t n = writev(STDOUT_FILENO, part, parts);

		if (stopped)
			turn_off(d);
		if (n < 0 && errno == EPIPE) {
			d->end = "reader";
			return -1;
		}
		if (n < 0 && gave_up)
			return fail(d, XF_IO, "io",
				"nobody reads the stream: its last windows are lost");
		if (n < 0 && errno == EAGAIN)
			poll(&out, 1, 1000);
		else if (n < 0 && errno != EINTR)
			return fail(d, XF_IO, "io", "cannot write the stream: %s", strerror(errno));
		if (n > 0 && grace)
			set_timer(GRACE);
		for (; parts && n >= (ssize_t)part->iov_len; part++, parts--)
			n -= (ssize_t)part->iov_len;
		if (parts && n > 0) {
			part->iov_base = (char *)part->iov_base + n;
			part->iov_len -= (size_t)n;
		}
	}
	return 0;
}

/* Sum of the counts in lost records; stops at what does not look like records. */
static uint64_t count_lost(const struct iovec *part)
{
	const uint32_t *word = part->iov_base;
	size_t left = part->iov_len / sizeof(*word);
	uint64_t lost = 0;

	while (left) {
		uint32_t header = __atomic_load_n(word, __ATOMIC_RELAXED);
		size_t before = header >> 31 ? 3 : 1, words = before + (header >> 28 & 7);

		if (words > left)
			break;
		if ((header & 0x0fffffff) == TRC_LOST_RECORDS && words > before)
			lost += word[before];
		word += words;
		left -= words;
	}
	return lost;
}

/* One window, or nothing; true if the ring was more than half full. */
static bool drain_ring(struct drain *d, unsigned cpu)
{
	struct ring *ring = &d->rings[cpu];
	uint32_t cons = __atomic_load_n(&ring->meta->cons, __ATOMIC_RELAXED), prod, length, start;
	uint32_t header[3];
	unsigned char *data = (unsigned char *)(ring->meta + 1);
	struct iovec part[3];

	if (!read_prod(d, cpu, &prod))
		return false;
	length = prod >= ring->cons ? prod - ring->cons : prod + 2 * d->size - ring->cons;
	if (cons != ring->cons || length > d->size) {
		end_ring(d, cpu, prod, cons,
			cons != ring->cons ? "another program moved its read index"
					   : "it claims more records than it can hold");
		return false;
	}
	if (!length)
		return false;
	start = cons % d->size;
	header[0] = WINDOW_HEADER;
	header[1] = cpu;
	header[2] = length;
	part[0] = (struct iovec){header, sizeof(header)};
	part[1] = (struct iovec){data + start, length < d->size - start ? length : d->size - start};
	part[2] = (struct iovec){data, length - part[1].iov_len};
	d->lost += count_lost(&part[1]) + count_lost(&part[2]);
	if (write_parts(d, part, 3))
		return false;
	set_cons(ring, prod);
	d->windows++;
	d->bytes += length;
	return length > d->size / 2;
}

/* Every ring once, in the order of CPUs; true if one was more than half full. */
static bool pass(struct drain *d)
{
	bool busy = false;

	for (unsigned cpu = 0; cpu < d->pcpus && !d->status; cpu++) {
		if (d->end && !strcmp(d->end, "reader"))
			return false;
		if (d->rings[cpu].meta && !d->rings[cpu].ended && drain_ring(d, cpu))
			busy = true;
	}
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
		[STATUS] = {.fd = d->status_fd},
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
	if (fds[OUT].revents)
		d->end = "reader";
	if (fds[VIRQ].revents &&
		(xenevtchn_pending(d->evtchn) < 0 || xenevtchn_unmask(d->evtchn, d->port) < 0))
		fail(d, XF_LIVE, "xen", "the trace interrupt fails: %s", strerror(errno));
}

/* Tells the sum of losses when it has grown, but never waits for a parent that does not read. */
static void tell_lost(struct drain *d)
{
	struct pollfd room = {.fd = d->status_fd, .events = POLLOUT};

	if (d->lost == d->lost_told || d->status_fd < 0 || poll(&room, 1, 0) != 1)
		return;
	say(d, "lost", "%llu", (unsigned long long)d->lost);
	d->lost_told = d->lost;
}

static void run(struct drain *d)
{
	if (d->seconds > 0)
		set_timer(d->seconds);
	say(d, "state", "running");
	while (!d->end) {
		bool busy = pass(d);

		tell_lost(d);
		if (!d->end)
			wait_for_records(d, busy ? 0 : d->poll_ms);
	}
	/* once more before tracing is off: with room in its ring Xen still tells what it lost */
	if (!d->quiet)
		pass(d);
	turn_off(d);
	pass(d);
}

/* Xen as it was found.  Only the CPU mask is not: Xen does not tell what it was. */
static void restore(struct drain *d)
{
	static const struct xf_cpulist all = {.all = true};
	unsigned long mfn, size;

	if (!d->touched)
		return;
	turn_off(d);
	if (set_masks(d, d->found_events, &all))
		return;
	if (d->found_on && xc_tbuf_enable(d->xch, d->pages, &mfn, &size)) {
		fail_call(d, "turning tracing on again, as it was found");
		return;
	}
	say(d, "events_left", "0x%08x", d->found_events);
	say(d, "cpus_left", "all");
	say(d, "tracing_left", d->found_on ? "on" : "off");
	if (!d->cpus.all)
		say(d, "warning",
			"the CPU mask is open for all CPUs now: Xen does not tell what it was");
}

/* --off: what is left to do after a drain that was killed. */
static void off(struct drain *d)
{
	if (open_xen(d))
		return;
	d->found_events = XF_EVENTS_ALL;
	d->touched = true;
	restore(d);
}

/* ---- Command line ---- */

static void help(void)
{
	puts("usage: xenfault-drain [OPTION ...] >FILE\n"
	     "Drains Xen's trace buffers to standard output, in xentrace's format.  Needs root in dom0.\n\n"
	     "  -e EVENTS       a mask (0x0021f000), or names with commas; default: pt\n"
	     "  -c CPUS         physical CPUs: 0-3,8 or 0x0f or all; default: all\n"
	     "  -S PAGES        buffer of each CPU in pages of 4 KiB; default: 256.  Xen keeps the first\n"
	     "                  size it is given until the next boot\n"
	     "  -T SECONDS      stop after that time\n"
	     "      --poll MS   look at the rings at least that often; default: 100\n"
	     "      --status-fd N  write key=value lines about the capture to descriptor N; the capture\n"
	     "                  ends when its reader, or a pipe on standard input, is closed\n"
	     "      --off       turn tracing off, open both masks and leave: for after a kill -9\n"
	     "      --help, --version\n\n"
	     "At the end tracing and the event mask are left as found, the CPU mask open for all CPUs\n"
	     "(Xen does not tell what it was).  Exit status: 0 done, 2 usage, 3 output, 6 Xen cannot be\n"
	     "traced here.\n\nEVENTS:");
#define X(name, mask, what) printf("  %-8s 0x%08x  %s\n", name, mask, what);
	XF_EVENT_CLASSES(X)
#undef X
}

static int fail_usage(struct drain *d, const char *text)
{
	return fail(d, XF_USAGE, "usage", "%s; see: xenfault-drain --help", text);
}

/* A number between least and most; false if the text is not one. */
static bool number(const char *text, double least, double most, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return end != text && !*end && *value >= least && *value <= most;
}

enum { OPT_POLL = 256, OPT_STATUS, OPT_OFF, OPT_HELP, OPT_VERSION };

static int set_option(struct drain *d, int key, const char *value)
{
	struct xf_error err = {0};
	double n = 0;

	switch (key) {
	case 'e':
		return xf_eventmask_parse(&d->events, value, &err) ? fail_usage(d, err.text) : 0;
	case 'c':
		return xf_cpulist_parse(&d->cpus, value, &err) ? fail_usage(d, err.text) : 0;
	case 'S':
		if (!number(value, 1, 65535, &n) || n != (unsigned long)n)
			return fail_usage(d, "-S: a number of pages, 1 to 65535");
		d->asked = (unsigned long)n;
		return 0;
	case 'T':
		return number(value, 0.001, 1e9, &d->seconds)
			       ? 0
			       : fail_usage(d, "-T: seconds, more than 0");
	case OPT_POLL:
		if (!number(value, 1, 60000, &n))
			return fail_usage(d, "--poll: milliseconds, 1 to 60000");
		d->poll_ms = (unsigned long)n;
		return 0;
	case OPT_STATUS:
		if (!number(value, 0, 65535, &n) || (int)n == STDOUT_FILENO ||
			fcntl((int)n, F_GETFD) < 0)
			return fail_usage(d, "--status-fd: an open descriptor other than 1");
		d->status_fd = (int)n;
		return 0;
	case OPT_OFF:
		d->off = true;
		return 0;
	}
	return fail_usage(d, "unknown option, or a value is missing");
}

static int options(struct drain *d, int argc, char **argv)
{
	static const struct option longs[] = {{"poll", 1, NULL, OPT_POLL},
		{"status-fd", 1, NULL, OPT_STATUS}, {"off", 0, NULL, OPT_OFF},
		{"help", 0, NULL, OPT_HELP}, {"version", 0, NULL, OPT_VERSION}, {0}};
	int key;

	opterr = 0;
	while ((key = getopt_long(argc, argv, "e:c:S:T:h", longs, NULL)) != -1) {
		if (key == OPT_HELP || key == 'h') {
			help();
			exit(0);
		}
		if (key == OPT_VERSION) {
			puts("xenfault-drain " XF_VERSION " (Xen " XF_XEN_TOOLS ")");
			exit(0);
		}
		if (set_option(d, key, optarg))
			return d->status;
	}
	if (optind < argc)
		return fail_usage(d, "there are no arguments, the stream goes to standard output");
	if (!d->off && isatty(STDOUT_FILENO))
		return fail_usage(d, "the stream is binary: send it to a file or a pipe");
	return 0;
}

static void prepare_process(struct drain *d)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM};
	struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: writes end */
	struct stat in;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	fcntl(STDOUT_FILENO, F_SETPIPE_SZ, 1 << 20); /* fails where it is no pipe */
	d->watch_stdin = d->status_fd >= 0 && fstat(STDIN_FILENO, &in) == 0 &&
			 (S_ISFIFO(in.st_mode) || S_ISSOCK(in.st_mode));
}

int main(int argc, char **argv)
{
	struct drain d = {.cpus.all = true, .asked = 256, .poll_ms = 100, .status_fd = -1};

	xf_eventmask_parse(&d.events, "pt", NULL);
	if (options(&d, argc, argv))
		return d.status;
	prepare_process(&d);
	if (d.off)
		off(&d);
	else if (start(&d) == 0)
		run(&d);
	restore(&d);
	say(&d, "lost", "%llu", (unsigned long long)d.lost);
	say(&d, "windows", "%llu", (unsigned long long)d.windows);
	say(&d, "bytes", "%llu", (unsigned long long)d.bytes);
	say(&d, "end", "%s", d.end ? d.end : "off");
	if (d.evtchn)
		xenevtchn_close(d.evtchn);
	if (d.memory)
		xenforeignmemory_close(d.memory);
	if (d.xch)
		xc_interface_close(d.xch);
	free(d.rings);
	return d.status;
}
