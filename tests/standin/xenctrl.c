// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stand-in for Xen's libraries: does what a healthy host will not do.
 * In: environment variables (below), the calls of xenfault-drain.  Out: rings in ordinary memory, a
 * log of the calls that change something.  Put in place with LD_PRELOAD.
 *
 * XFS_LOG=FILE          one line per call that changes state, and at the end the truth of each ring
 * XFS_FAIL=CALL:ERRNO,...  that call fails with that name or number of errno
 * XFS_CPUS=N XFS_HOLES=LIST XFS_ONLINE=N   CPUs, those without a ring, how many are said to be online
 * XFS_PAGES=N XFS_MAX_PAGES=N   buffers exist already / are cut to that size
 * XFS_ON=1 XFS_MASK=M   tracing is on, the event mask is M, when the program starts
 * XFS_XEN=4.17          version of the hypervisor
 * XFS_ROOT=DIR          what stands below /sys/hypervisor, /dev/xen and /proc/xen
 * XFS_START=N           both indices of every ring start there (negative: before the end of 2*size)
 * XFS_PRODUCER=KIND     records: numbered records, made when asked; calm: a few every 10 ms;
 *                       thread: the same by a thread at full speed; whole: the whole ring
 *                       again and again, at no cost
 * XFS_BYTES=N           after that many bytes SIGTERM is sent to the program
 * XFS_FAULT=CPU:KIND,...  empty full over odd range max moved flicker flicker-bad tinfo
 * XFS_ATTACK=1          once tracing is on the library does what a broken reader would be made to do
 *                       ("attack NAME: what came of it" in the log), in the guard too
 *
 * Xen's state is shared with processes that the program forks, as that of a real Xen is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <xenctrl.h>
#include <xenevtchn.h>
#include <xenforeignmemory.h>
#include <xen/trace.h>

#define MAX_CPUS    256
#define PAGE	    4096u
#define T_INFO_MFN  0x1000u
#define T_INFO_SIZE (32 * PAGE)
#define RINGS_MFN   0x100000u
#define FIRST_LIST  512u /* words before the lists of pages in t_info */
#define LOST_BYTES  28u

struct ring {
	struct t_buf *head;
	uint32_t lost, sequence, fault_step;
	uint64_t first_lost, records, total_lost;
};

/* What Xen is; the memory of the rings belongs to the process that maps them. */
struct xen {
	struct ring rings[MAX_CPUS];
	uint32_t event_mask;
	atomic_int opened, running; /* connections; threads that produce */
	atomic_bool attacked, enabled, threads_end, begun, producing;
	pid_t first; /* who opened it first: the rings are mapped there */
	uint64_t produced, limit, clock_now;
};

static struct xen *xen;
static struct t_info *t_info;
static unsigned pages, cpus;
static uint32_t size;
static int event_fd = -1, log_fd = -1; /* HIGH and up, as no descriptor of the program's is */

#define HIGH 300

/* ---- Environment ---- */

static const char *env(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

static long long env_number(const char *name, long long otherwise)
{
	return *env(name) ? strtoll(env(name), NULL, 0) : otherwise;
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	char line[512];
	va_list ap;
	int n;

	if (log_fd < 0)
		return;
	va_start(ap, format);
	n = vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (write(log_fd, line, (size_t)n) != n)
		abort();
}

/* Before the program: it gives up the right to open the log, and its guard closes the first 256 descriptors. */
__attribute__((constructor)) static void prepare(void)
{
	int fd = *env("XFS_LOG")
			 ? open(env("XFS_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)
			 : -1;

	if (fd >= 0) {
		log_fd = fcntl(fd, F_DUPFD_CLOEXEC, HIGH);
		close(fd);
	}
	xen = mmap(NULL, sizeof(*xen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (xen == MAP_FAILED)
		abort();
	xen->clock_now = 1000;
}

/* What stands behind "name:" in a comma-separated list; NULL = it is not there. */
static const char *lookup(const char *list, const char *name, char *value, size_t room)
{
	size_t length = strlen(name);

	for (const char *item = list; item && *item; item = strchr(item, ',')) {
		item += *item == ',';
		if (!strncmp(item, name, length) && item[length] == ':') {
			snprintf(value, room, "%.*s", (int)strcspn(item + length + 1, ","),
				item + length + 1);
			return value;
		}
	}
	return NULL;
}

static bool fails(const char *call)
{
	static const struct {
		const char *name;
		int number;
	} names[] = {{"EACCES", EACCES}, {"EPERM", EPERM}, {"ENOSYS", ENOSYS}, {"EINVAL", EINVAL},
		{"EBUSY", EBUSY}, {"EEXIST", EEXIST}, {"ENOMEM", ENOMEM}, {"ENOENT", ENOENT}};
	char value[32];

	if (!lookup(env("XFS_FAIL"), call, value, sizeof(value)))
		return false;
	errno = atoi(value);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(value, names[i].name))
			errno = names[i].number;
	return true;
}

static const char *fault(unsigned cpu)
{
	static _Thread_local char value[32];
	char name[16];

	snprintf(name, sizeof(name), "%u", cpu);
	return lookup(env("XFS_FAULT"), name, value, sizeof(value)) ? value : "";
}

static bool is_hole(unsigned cpu)
{
	for (const char *item = env("XFS_HOLES"); *item; item += *item == ',') {
		char *end;
		unsigned long first = strtoul(item, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (cpu >= first && cpu <= last)
			return true;
		item = end;
	}
	return false;
}

/* ---- Rings ---- */

/* Memory that ends at a page nobody may touch: reads beyond a ring are noticed. */
static void *guarded(size_t bytes)
{
	char *at = mmap(
		NULL, bytes + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || mprotect(at + bytes, PAGE, PROT_NONE))
		abort();
	return at;
}

static void make_rings(unsigned wanted)
{
	long long start = env_number("XFS_START", 0);

	pages = wanted;
	size = pages * PAGE - (uint32_t)sizeof(struct t_buf);
	t_info = guarded(T_INFO_SIZE);
	t_info->tbuf_size = (uint16_t)pages;
	for (unsigned cpu = 0, list = FIRST_LIST; cpu < cpus; cpu++) {
		if (is_hole(cpu))
			continue;
		if (!strcmp(fault(cpu), "tinfo")) {
			t_info->mfn_offset[cpu] = 0xfff0;
			continue;
		}
		t_info->mfn_offset[cpu] = (uint16_t)list;
		for (unsigned i = 0; i < pages && (list + i + 1) * 4 <= T_INFO_SIZE; i++)
			((uint32_t *)t_info)[list + i] = RINGS_MFN + cpu * 0x10000 + i;
		list += pages;
		xen->rings[cpu].head = guarded((size_t)pages * PAGE);
		xen->rings[cpu].head->prod = xen->rings[cpu].head->cons =
			(uint32_t)(start < 0 ? 2ll * size + start : start);
	}
}

static uint32_t advance(uint32_t index, uint32_t bytes)
{
	return (index + bytes) % (2 * size);
}

static void put(struct ring *ring, const uint32_t *words, size_t n)
{
	uint32_t prod = ring->head->prod;

	memcpy((char *)(ring->head + 1) + prod % size, words, n * sizeof(*words));
	__atomic_store_n(&ring->head->prod, advance(prod, (uint32_t)(n * 4)), __ATOMIC_RELEASE);
	xen->produced += n * 4;
}

/* Fills the rest of a ring up to its end, as Xen does when the next record does not fit. */
static void put_wrap(struct ring *ring, uint32_t left)
{
	uint32_t words[10] = {0}, n = left / 4;
	bool timed = n > 8;

	words[0] = (uint32_t)timed << 31 | (n - 1 - (timed ? 2 : 0)) << 28 | TRC_TRACE_WRAP_BUFFER;
	if (timed)
		memcpy(words + 1, &xen->clock_now, 8);
	put(ring, words, n);
}

static uint32_t left_to_end(const struct ring *ring)
{
	return size - ring->head->prod % size;
}

/* One numbered record of 4 to 10 words, or one more lost one. */
static void put_record(struct ring *ring)
{
	uint32_t words[10], n = 1 + ring->sequence * 2654435761u % 7, bytes = (3 + n) * 4;
	uint32_t cons = __atomic_load_n(&ring->head->cons, __ATOMIC_ACQUIRE);
	uint32_t used = (ring->head->prod + 2 * size - cons) % (2 * size);
	uint32_t left = left_to_end(ring), total = 0;

	xen->clock_now++;
	if (ring->lost) {
		total += LOST_BYTES > left ? left : 0;
		left = LOST_BYTES > left ? size : left;
		total += LOST_BYTES;
		left = left == LOST_BYTES ? size : left - LOST_BYTES;
	}
	total += (bytes > left ? left : 0) + bytes;
	if (total > size - used) {
		if (!ring->lost++)
			ring->first_lost = xen->clock_now;
		ring->sequence++;
		return;
	}
	if (ring->lost) {
		uint32_t lost[7] = {0xc0000000u | TRC_LOST_RECORDS, 0, 0, ring->lost, 0, 0, 0};

		if (LOST_BYTES > left_to_end(ring))
			put_wrap(ring, left_to_end(ring));
		memcpy(lost + 1, &xen->clock_now, 8);
		memcpy(lost + 5, &ring->first_lost, 8);
		put(ring, lost, 7);
		ring->total_lost += ring->lost;
		ring->lost = 0;
	}
	if (bytes > left_to_end(ring))
		put_wrap(ring, left_to_end(ring));
	words[0] = 1u << 31 | n << 28 | 0x00201104;
	memcpy(words + 1, &xen->clock_now, 8);
	for (uint32_t i = 0; i < n; i++)
		words[3 + i] = ring->sequence;
	put(ring, words, 3 + n);
	ring->sequence++;
	ring->records++;
}

/* A ring full of records, which stays valid however often its indices go round. */
static void fill(struct ring *ring)
{
	uint32_t *word = (uint32_t *)(ring->head + 1), left = size / 4;

	for (; left >= 12; left -= 6, word += 6) {
		word[0] = 0xb0201104u;
		memcpy(word + 1, &xen->clock_now, 8);
	}
	for (; left; left -= left > 8 ? 4 : left) {
		uint32_t n = left > 8 ? 4 : left;

		*word = (n - 1) << 28 | TRC_TRACE_WRAP_BUFFER;
		word += n;
	}
}

/* ---- Faults and producers ---- */

/* A write index that moves on all the time, or is absurd every other moment. */
static void *flicker(void *unused)
{
	uint32_t prod[MAX_CPUS] = {0};

	(void)unused;
	while (!xen->threads_end) {
		for (unsigned cpu = 0; cpu < cpus; cpu++) {
			struct t_buf *head = xen->rings[cpu].head;
			bool bad = !strcmp(fault(cpu), "flicker-bad");

			if (!head || strncmp(fault(cpu), "flicker", 7) != 0)
				continue;
			for (int i = 0; i < 1000; i++) {
				uint32_t cons = __atomic_load_n(&head->cons, __ATOMIC_ACQUIRE);

				if ((prod[cpu] + 2 * size - cons) % (2 * size) <= size - 24)
					prod[cpu] = advance(prod[cpu], 24);
				if (bad)
					__atomic_store_n(
						&head->prod, 0xfffffffeu, __ATOMIC_RELAXED);
				__atomic_store_n(&head->prod, prod[cpu], __ATOMIC_RELEASE);
			}
		}
	}
	xen->running--;
	return NULL;
}

static void apply_fault(struct ring *ring, const char *kind)
{
	struct t_buf *head = ring->head;

	if (ring->fault_step++)
		return;
	if (!strcmp(kind, "full"))
		head->prod = advance(head->cons, size);
	else if (!strcmp(kind, "over"))
		head->prod = advance(head->cons, size + 4);
	else if (!strcmp(kind, "odd"))
		head->prod = head->cons + 2;
	else if (!strcmp(kind, "range"))
		head->prod = 2 * size;
	else if (!strcmp(kind, "max"))
		head->prod = 0xfffffffcu;
	else if (!strcmp(kind, "moved"))
		head->cons = head->prod = advance(head->prod, 24);
}

static void check_limit(void)
{
	if (!xen->limit || xen->produced < xen->limit)
		return;
	xen->limit = 0;
	xen->producing = false;
	if (kill(getpid(), SIGTERM))
		raise(SIGTERM); /* where it may send signals to itself alone */
}

static void *produce_at_full_speed(void *unused)
{
	(void)unused;
	while (!xen->threads_end) {
		for (unsigned cpu = 0; cpu < cpus && xen->producing; cpu++)
			for (int i = 0; i < 256 && xen->rings[cpu].head; i++)
				put_record(&xen->rings[cpu]);
		check_limit();
		if (!xen->producing)
			break;
		eventfd_write(event_fd, 1);
	}
	xen->running--;
	return NULL;
}

static void start_thread(void *(*function)(void *))
{
	pthread_t thread;

	xen->running++;
	if (pthread_create(&thread, NULL, function, NULL) || pthread_detach(thread))
		abort();
}

/* What happens between two looks at the xen->rings. */
static void tick(void)
{
	bool whole = !strcmp(env("XFS_PRODUCER"), "whole"),
	     calm = !strcmp(env("XFS_PRODUCER"), "calm"),
	     records = calm || !strcmp(env("XFS_PRODUCER"), "records");

	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		struct ring *ring = &xen->rings[cpu];

		if (!ring->head)
			continue;
		if (*fault(cpu)) {
			apply_fault(ring, fault(cpu));
		} else if (whole && xen->producing && ring->head->prod == ring->head->cons) {
			ring->head->prod = advance(ring->head->cons, size);
			xen->produced += size;
		} else if (records && xen->producing) {
			for (uint32_t i = 0; i < size / (calm ? 160 : 16); i++)
				put_record(ring);
		}
	}
	if (!*env("XFS_PRODUCER") || whole || records)
		check_limit();
}

static void begin(void)
{
	const char *kind = env("XFS_PRODUCER");

	xen->begun = true;
	xen->limit = (uint64_t)env_number("XFS_BYTES", 0);
	xen->producing = *kind;
	for (unsigned cpu = 0; cpu < cpus; cpu++)
		if (xen->rings[cpu].head &&
			(!strcmp(kind, "whole") || !strcmp(fault(cpu), "full") ||
				!strncmp(fault(cpu), "flicker", 7)))
			fill(&xen->rings[cpu]);
	if (xen->producing && !strcmp(kind, "thread"))
		start_thread(produce_at_full_speed);
	if (strstr(env("XFS_FAULT"), "flicker"))
		start_thread(flicker);
	if (*kind || *env("XFS_FAULT"))
		eventfd_write(event_fd, 1);
}

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ll + ts.tv_nsec / 1000000;
}

/* May run in the guard, which waits for threads of the program unless that was killed. */
static void finish(void)
{
	long long end = now_ms() + 2000;

	xen->threads_end = true;
	while (xen->running && now_ms() < end)
		;
	xen->producing = xen->begun = false;
	for (unsigned cpu = 0; cpu < cpus; cpu++)
		if (xen->rings[cpu].records)
			note("truth %u records %llu lost %llu\n", cpu,
				(unsigned long long)xen->rings[cpu].records,
				(unsigned long long)xen->rings[cpu].total_lost);
}

/* ---- What a broken reader would be made to do ---- */

static void tried(const char *who, const char *what, long result)
{
	note("attack %s %s: %s\n", who, what, result < 0 ? "failed" : "done");
}

static void attack(const char *who)
{
	static const struct sockaddr_un bus = {AF_UNIX, "/run/dbus/system_bus_socket"};
	char *none[] = {NULL};
	int s;

	if (!*env("XFS_ATTACK") || !xen->begun)
		return;
	if (!strcmp(who, "drain") && xen->attacked)
		return;
	xen->attacked = true;
	tried(who, "open", open("/etc/passwd", O_WRONLY));
	tried(who, "read", open("/etc/passwd", O_RDONLY));
	tried(who, "make", open("/tmp/xenfault-attack", O_WRONLY | O_CREAT, 0600));
	tried(who, "execve", execve("/bin/does-not-exist", none, none) && errno == ENOSYS ? -1 : 0);
	s = socket(AF_UNIX, SOCK_STREAM, 0);
	tried(who, "socket", s);
	tried(who, "connect",
		errno == ENOSYS || connect(s, (const struct sockaddr *)&bus, sizeof(bus)) ? -1 : 0);
	tried(who, "kill", kill(getppid(), 0));
	tried(who, "setuid", setuid(0));
	tried(who, "ptrace", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	tried(who, "fork", fork());
	tried(who, "code",
		mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
				MAP_FAILED
			? -1
			: 0);
	tried(who, "terminal", ioctl(2, TIOCSTI, ""));
}

/* ---- What libxenctrl has ---- */

xc_interface *xc_interface_open(
	xentoollog_logger *logger, xentoollog_logger *dombuild, unsigned flags)
{
	(void)logger, (void)dombuild, (void)flags;
	if (fails("interface_open"))
		return NULL;
	cpus = (unsigned)env_number("XFS_CPUS", 2);
	xen->opened++;
	if (xen->first)
		return (xc_interface *)&xen->enabled;
	xen->first = getpid();
	xen->event_mask = (uint32_t)env_number("XFS_MASK", 0x0ffff000);
	if (env_number("XFS_PAGES", 0))
		make_rings((unsigned)env_number("XFS_PAGES", 0));
	xen->enabled = env_number("XFS_ON", 0);
	return (xc_interface *)&xen->enabled;
}

int xc_interface_close(xc_interface *xch)
{
	(void)xch;
	if (!--xen->opened)
		note("close tracing %s events 0x%08x\n", xen->enabled ? "on" : "off",
			xen->event_mask);
	return 0;
}

int xc_version(xc_interface *xch, int command, void *text)
{
	const char *version = *env("XFS_XEN") ? env("XFS_XEN") : "4.17";
	char *dot;
	long major = strtol(version, &dot, 10);

	(void)xch;
	if (command == XENVER_extraversion)
		strcpy(text, ".9-standin");
	return command == XENVER_version ? (int)(major << 16 | atoi(dot + 1)) : 0;
}

int xc_physinfo(xc_interface *xch, xc_physinfo_t *info)
{
	unsigned online = 0;

	(void)xch;
	if (fails("physinfo"))
		return -1;
	for (unsigned cpu = 0; cpu < cpus; cpu++)
		online += !is_hole(cpu);
	info->max_cpu_id = cpus - 1;
	info->nr_cpus = (unsigned)env_number("XFS_ONLINE", online);
	info->cpu_khz = 2445402;
	return 0;
}

int xc_sysctl(xc_interface *xch, struct xen_sysctl *op)
{
	(void)xch;
	if (fails("sysctl"))
		return -1;
	op->u.tbuf_op.evt_mask = xen->event_mask;
	op->u.tbuf_op.buffer_mfn = t_info ? T_INFO_MFN : 0;
	op->u.tbuf_op.size = t_info ? T_INFO_SIZE : 0;
	return 0;
}

int xc_tbuf_set_size(xc_interface *xch, unsigned long wanted)
{
	unsigned long most = (unsigned long)env_number("XFS_MAX_PAGES", 65535);

	(void)xch;
	note("set_size %lu\n", wanted);
	if (fails("set_size"))
		return -1;
	if (t_info) {
		errno = wanted == pages ? EBUSY : EINVAL;
		return -1;
	}
	make_rings((unsigned)(wanted < most ? wanted : most));
	return 0;
}

int xc_tbuf_enable(
	xc_interface *xch, unsigned long wanted, unsigned long *mfn, unsigned long *bytes)
{
	(void)xch, (void)wanted;
	note("enable\n");
	if (fails("enable"))
		return -1;
	*mfn = T_INFO_MFN;
	*bytes = T_INFO_SIZE;
	xen->enabled = true;
	if (!xen->threads_end && getpid() == xen->first)
		begin();
	return 0;
}

int xc_tbuf_disable(xc_interface *xch)
{
	(void)xch;
	note("disable\n");
	if (getpid() != xen->first)
		attack("guard");
	if (fails("disable"))
		return -1;
	if (xen->begun)
		finish();
	xen->enabled = false;
	return 0;
}

int xc_get_cpumap_size(xc_interface *xch)
{
	(void)xch;
	return (int)(cpus + 7) / 8;
}

xc_cpumap_t xc_cpumap_alloc(xc_interface *xch)
{
	return fails("cpumap") ? NULL : calloc(1, (size_t)xc_get_cpumap_size(xch));
}

int xc_tbuf_set_cpu_mask(xc_interface *xch, xc_cpumap_t mask)
{
	char text[2 * MAX_CPUS / 8 + 1] = "";

	for (int i = xc_get_cpumap_size(xch), at = 0; i-- > 0; at += 2)
		sprintf(text + at, "%02x", mask[i]);
	note("cpu_mask %s\n", text);
	return fails("set_cpu_mask") ? -1 : 0;
}

int xc_tbuf_set_evt_mask(xc_interface *xch, uint32_t mask)
{
	(void)xch;
	note("evt_mask 0x%08x\n", mask);
	if (fails("set_evt_mask"))
		return -1;
	/* a system call is itself an event, where tracing is on */
	if (xen->enabled && !xen->producing && !*env("XFS_FAULT"))
		for (unsigned cpu = 0; cpu < cpus; cpu++)
			if (xen->rings[cpu].head)
				put_record(&xen->rings[cpu]);
	xen->event_mask = mask;
	return 0;
}

/* ---- What libxenevtchn and libxenforeignmemory have ---- */

xenevtchn_handle *xenevtchn_open(struct xentoollog_logger *logger, unsigned int flags)
{
	int fd;

	(void)logger, (void)flags;
	if (fails("evtchn_open"))
		return NULL;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	event_fd = fcntl(fd, F_DUPFD_CLOEXEC, HIGH);
	close(fd);
	return event_fd < 0 ? NULL : (xenevtchn_handle *)&event_fd;
}

int xenevtchn_close(xenevtchn_handle *handle)
{
	(void)handle;
	return close(event_fd);
}

int xenevtchn_fd(xenevtchn_handle *handle)
{
	(void)handle;
	return event_fd;
}

xenevtchn_port_or_error_t xenevtchn_bind_virq(xenevtchn_handle *handle, unsigned int virq)
{
	(void)handle;
	note("bind_virq %u\n", virq);
	return fails("bind_virq") ? -1 : 7;
}

xenevtchn_port_or_error_t xenevtchn_pending(xenevtchn_handle *handle)
{
	eventfd_t value;

	(void)handle;
	if (fails("pending"))
		return -1;
	eventfd_read(event_fd, &value);
	if (!strcmp(env("XFS_PRODUCER"), "calm"))
		poll(NULL, 0, 10);
	attack("drain");
	if (xen->enabled)
		tick();
	if (xen->producing && strcmp(env("XFS_PRODUCER"), "thread") != 0)
		eventfd_write(event_fd, 1);
	return 7;
}

int xenevtchn_unmask(xenevtchn_handle *handle, evtchn_port_t port)
{
	(void)handle, (void)port;
	return fails("unmask") ? -1 : 0;
}

xenforeignmemory_handle *xenforeignmemory_open(struct xentoollog_logger *logger, unsigned flags)
{
	(void)logger, (void)flags;
	return fails("memory_open") ? NULL : (xenforeignmemory_handle *)&t_info;
}

int xenforeignmemory_close(xenforeignmemory_handle *handle)
{
	(void)handle;
	return 0;
}

void *xenforeignmemory_map(xenforeignmemory_handle *handle, uint32_t dom, int prot, size_t n,
	const xen_pfn_t frames[], int err[])
{
	(void)handle, (void)prot, (void)n, (void)err;
	if (fails(frames[0] == T_INFO_MFN ? "map_info" : "map"))
		return NULL;
	if (dom != DOMID_XEN)
		abort();
	return frames[0] == T_INFO_MFN ? (void *)t_info
				       : xen->rings[(frames[0] - RINGS_MFN) >> 16].head;
}

int xenforeignmemory_unmap(xenforeignmemory_handle *handle, void *at, size_t n)
{
	(void)handle, (void)at, (void)n;
	return 0;
}

/* ---- The kernel's files about Xen ---- */

static const char *redirect(const char *path, char *other, size_t room)
{
	if (!*env("XFS_ROOT") ||
		(strncmp(path, "/sys/hypervisor", 15) != 0 && strncmp(path, "/dev/xen", 8) != 0 &&
			strncmp(path, "/proc/xen", 9) != 0))
		return path;
	snprintf(other, room, "%s%s", env("XFS_ROOT"), path);
	return other;
}

int open(const char *path, int flags, ...)
{
	static int (*real)(const char *, int, ...);
	char other[4096];
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "open");
	return real(redirect(path, other, sizeof(other)), flags, mode);
}

int access(const char *path, int mode)
{
	static int (*real)(const char *, int);
	char other[4096];

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "access");
	return real(redirect(path, other, sizeof(other)), mode);
}
