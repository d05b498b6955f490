/* SPDX-License-Identifier: MIT */
/*
 * waits [-t SECONDS] [-m] [-l] [-s RUN,STOP] [-f FILE] WAY...: threads that wait for known times.
 *
 * A WAY is THREADS[@CPU]:STEP=TIME[..TIME],...: THREADS threads, pinned to a CPU or not, repeat the
 * steps. A TIME is 10us, 5ms or 2s; of two, each turn draws one between them (logarithmically).
 *
 *   work      uses a CPU          nap    clock_nanosleep         disk   a read past the page cache
 *   futex     another thread      pipe   wakes it by             sync   a write and fdatasync
 *   epoll     these               poll   means                   vfork  a child that naps
 *   birth     a thread that naps and is joined
 *
 * Each step is a function of its own (work, wait_nap, ...), called by way_0 for the first WAY,
 * way_1 for the next. Those woken by another thread have one each, in the functions wait_request
 * and wait_delay of the same way (below SPIN_NS it spins: wake). -m: that one moves the thread to
 * the next CPU before it wakes it. -l: the main thread exits, and another one reads the commands.
 * -s: a child stops the process for STOP after each RUN. -t: how long turns begin after "go".
 *
 * Says "ready TID" (of the thread that reads), then obeys lines:
 *
 *   go              the threads begin; "going" when they have
 *   look            prints a line of JSON for each way and function, for each thread, and then
 *                   {"looked_ns": N}: what there was up to that time of CLOCK_MONOTONIC, waits that
 *                   go on included
 *   join            waits until they have ended; "ended"
 *   exec PROGRAM..  looks, and becomes that one
 *
 * off_ns is the time without a CPU: that of CLOCK_MONOTONIC less that of the thread's CPU clock. A
 * step begins when the one before ends, so no time is left out: between them is enter(), which has
 * what is in no step, too. delay_ns is what the kernel says that a thread waited for a CPU
 * (schedstat).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "waits_account.h"

#define KEEP       __attribute__((noinline, noclone))
#define SPIN_NS    60000
#define N_STEPS    12
#define STACK      (64 << 10)
#define DISK_BYTES (4 << 20)

struct step {
	enum function function;
	uint64_t least_ns, most_ns;
};

/* What wakes a thread, and is asked for it. */
struct partner {
	_Atomic uint32_t asked, answered;
	uint64_t delay_ns;
	enum function function;
	int pipe[2], event, epoll;
	pid_t tid;
};

struct way {
	unsigned number, n_threads, n_steps;
	int cpu;
	struct step steps[N_STEPS];
};

struct thread {
	struct way *way;
	struct partner *partner;
	uint64_t random, nap_ns;
	void (*body)(struct thread *);
};

static struct {
	struct way ways[N_WAYS];
	unsigned n_ways, n_cpus;
	int cpus[1024];
	atomic_uint n_begun;
	_Atomic uint32_t go;
	uint64_t for_ns;
	_Atomic uint64_t end_ns;
	double loops_a_ns;
	int moves, disk, sync, has_main_exited;
	uint64_t run_ns, stop_ns;
	pthread_t *threads;
	unsigned n_threads;
	char **argv;
} all = {.disk = -1, .sync = -1};

static volatile uint64_t sink;

static long futex(_Atomic uint32_t *word, int op, uint32_t value)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

/* --- the steps ------------------------------------------------------------------------------ */

static struct timespec span(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / NS), .tv_nsec = (long)(ns % NS)};
}

KEEP static int work(struct thread *t, uint64_t ns)
{
	uint64_t x = ns, n = (uint64_t)((double)ns * all.loops_a_ns);

	(void)t;
	for (uint64_t i = 0; i < n; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	sink = x;
	return 1;
}

KEEP static int wait_nap(struct thread *t, uint64_t ns)
{
	struct timespec left = span(ns);

	(void)t;
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
		continue;
	return 1;
}

KEEP static int wait_futex(struct thread *t, uint64_t ns)
{
	struct partner *p = t->partner;

	(void)ns;
	while (atomic_load(&p->answered) != atomic_load(&p->asked))
		futex(&p->answered, FUTEX_WAIT, atomic_load(&p->asked) - 1);
	return 1;
}

KEEP static int wait_pipe(struct thread *t, uint64_t ns)
{
	struct partner *p = t->partner;
	char c;

	(void)ns;
	return read(p->pipe[0], &c, 1) == 1 ? 1 : -1;
}

static int take_event(struct partner *p)
{
	uint64_t n;

	return read(p->event, &n, sizeof(n)) == sizeof(n) ? 1 : -1;
}

KEEP static int wait_epoll(struct thread *t, uint64_t ns)
{
	struct partner *p = t->partner;
	struct epoll_event event;

	(void)ns;
	while (epoll_wait(p->epoll, &event, 1, -1) != 1)
		continue;
	return take_event(p);
}

KEEP static int wait_poll(struct thread *t, uint64_t ns)
{
	struct partner *p = t->partner;
	struct pollfd event = {.fd = p->event, .events = POLLIN};

	(void)ns;
	while (poll(&event, 1, -1) != 1)
		continue;
	return take_event(p);
}

KEEP static int wait_disk(struct thread *t, uint64_t ns)
{
	static _Thread_local char *page;
	off_t at = (off_t)(t->random >> 33) % (DISK_BYTES / 4096) * 4096;

	(void)ns;
	if (!page && posix_memalign((void **)&page, 4096, 4096) != 0)
		abort();
	return pread(all.disk, page, 4096, at) == 4096 ? 1 : -1;
}

KEEP static int wait_sync(struct thread *t, uint64_t ns)
{
	(void)ns;
	if (pwrite(all.sync, &t->random, sizeof(t->random), 0) < 0)
		return -1;
	return fdatasync(all.sync) + 1;
}

KEEP static int wait_vfork(struct thread *t, uint64_t ns)
{
	struct timespec nap = span(ns);
	pid_t child = vfork();

	(void)t;
	if (child == 0) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
		_exit(0);
	}
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		continue;
	return 1;
}

KEEP static int wait_request(struct partner *p)
{
	while (atomic_load(&p->asked) == atomic_load(&p->answered))
		futex(&p->asked, FUTEX_WAIT, atomic_load(&p->answered));
	return 1;
}

KEEP static int wait_delay(uint64_t ns)
{
	struct timespec t = span(ns);

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	return 1;
}

/* --- threads ------------------------------------------------------------------------------- */

/* clang-format off */
#define WAYS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
/* clang-format on */
#define WAY_FUNCTION(i)                           \
	KEEP static int way_##i(struct thread *t) \
	{                                         \
		t->body(t);                       \
		return i + 1;                     \
	}
WAYS(WAY_FUNCTION)
#define WAY_ENTRY(i) way_##i,
static int (*const way_functions[])(struct thread *) = {WAYS(WAY_ENTRY)};

static void pin(pid_t tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(tid, sizeof(set), &set);
}

KEEP static void wake(struct partner *p, uint64_t spin_ns)
{
	static atomic_uint next;
	const uint64_t one = 1;
	ssize_t n = 1;

	if (spin_ns)
		work(NULL, spin_ns);
	if (all.moves)
		pin(p->tid, all.cpus[atomic_fetch_add(&next, 1) % all.n_cpus]);
	atomic_fetch_add(&p->answered, 1);
	if (p->function == F_wait_futex)
		futex(&p->answered, FUTEX_WAKE, 1);
	else if (p->function == F_wait_pipe)
		n = write(p->pipe[1], "", 1);
	else
		n = write(p->event, &one, sizeof(one));
	if (n < 0)
		abort();
}

/* Until it is asked for nothing. */
static void be_partner(struct thread *t)
{
	struct partner *p = t->partner;

	slot_begin(t->way->number, "partner", F_wait_request);
	for (;;) {
		wait_request(p);
		if (p->function == N_FUNCTIONS)
			break;
		if (p->delay_ns >= SPIN_NS) {
			enter(F_wait_delay);
			wait_delay(p->delay_ns);
		}
		enter(F_wake);
		wake(p, p->delay_ns >= SPIN_NS ? 0 : p->delay_ns);
		enter(F_wait_request);
	}
	slot_end();
}

static void be_brief(struct thread *t)
{
	slot_begin(t->way->number, "brief", F_wait_nap);
	wait_nap(t, t->nap_ns);
	slot_end();
}

static void *thread_main(void *argument)
{
	struct thread *t = argument;

	prctl(PR_SET_TIMERSLACK, 1);
	prctl(PR_SET_NAME, t->partner ? "partner" : "waits");
	way_functions[t->way->number](t);
	return NULL;
}

static pthread_t start_thread(struct thread *t)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	if (pthread_create(&thread, &attr, thread_main, t) != 0)
		die("pthread_create");
	pthread_attr_destroy(&attr);
	return thread;
}

KEEP static int wait_birth(struct thread *t, uint64_t ns)
{
	struct thread brief = {.way = t->way, .nap_ns = ns, .body = be_brief};

	return pthread_join(start_thread(&brief), NULL) + 1;
}

KEEP static void ask(struct partner *p, enum function function, uint64_t ns)
{
	p->function = function;
	p->delay_ns = ns;
	atomic_fetch_add(&p->asked, 1);
	futex(&p->asked, FUTEX_WAKE, 1);
}

/* Each doubling is as likely as the others. */
static uint64_t draw(struct thread *t, const struct step *s)
{
	uint64_t octaves = 1, low;

	t->random = t->random * 6364136223846793005u + 1442695040888963407u;
	while (s->least_ns << octaves < s->most_ns)
		octaves++;
	low = s->least_ns << (t->random >> 40) % octaves;
	if (s->least_ns == s->most_ns)
		return low;
	low += (uint64_t)((double)low * (double)(t->random >> 32 & 0xff) / 256);
	return low < s->most_ns ? low : s->most_ns;
}

/* In the order of FUNCTIONS. */
static int (*const steps[])(struct thread *, uint64_t) = {
	work,      wait_nap,  wait_futex, wait_pipe,  wait_epoll,
	wait_poll, wait_disk, wait_sync,  wait_vfork, wait_birth,
};

static int needs_partner(enum function f)
{
	return f >= F_wait_futex && f <= F_wait_poll;
}

static void take_step(struct thread *t, const struct step *s)
{
	uint64_t ns = draw(t, s);

	if (needs_partner(s->function)) {
		enter(F_ask);
		ask(t->partner, s->function, ns);
	}
	enter(s->function);
	if (steps[s->function](t, ns) < 0)
		die(function_names[s->function]);
}

KEEP static void wait_go(void)
{
	while (!atomic_load(&all.go))
		futex(&all.go, FUTEX_WAIT, 0);
}

static struct partner *partner_new(void)
{
	struct partner *p = calloc(1, sizeof(*p));
	struct epoll_event event = {.events = EPOLLIN};

	if (!p || pipe(p->pipe) != 0 || (p->event = eventfd(0, 0)) < 0 ||
	    (p->epoll = epoll_create1(0)) < 0 ||
	    epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->event, &event) != 0)
		die("a partner");
	p->tid = own->tid;
	return p;
}

static void be_cycle(struct thread *t)
{
	struct way *way = t->way;
	struct thread other = {.way = way, .body = be_partner};
	pthread_t partner = 0;

	slot_begin(way->number, "cycle", F_enter);
	if (way->cpu >= 0)
		pin(0, way->cpu);
	for (unsigned i = 0; i < way->n_steps && !t->partner; i++)
		if (needs_partner(way->steps[i].function))
			t->partner = other.partner = partner_new();
	if (t->partner)
		partner = start_thread(&other);
	atomic_fetch_add(&all.n_begun, 1);
	enter(F_wait_go);
	wait_go();
	while (clock_ns(CLOCK_MONOTONIC) < atomic_load(&all.end_ns))
		for (unsigned i = 0; i < way->n_steps; i++)
			take_step(t, &way->steps[i]);
	if (t->partner) {
		enter(F_wait_birth);
		ask(t->partner, N_FUNCTIONS, 0);
		pthread_join(partner, NULL);
	}
	slot_end();
}

/* --- commands ------------------------------------------------------------------------------- */

KEEP static char *wait_line(char *line, int size)
{
	return fgets(line, size, stdin);
}

KEEP static void wait_join(void)
{
	for (unsigned i = 0; i < all.n_threads; i++)
		pthread_join(all.threads[i], NULL);
}

/* Until the process ends. */
static void stop_and_go(pid_t parent)
{
	struct timespec run = span(all.run_ns), stop = span(all.stop_ns);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent) {
		nanosleep(&run, NULL);
		kill(parent, SIGSTOP);
		nanosleep(&stop, NULL);
		kill(parent, SIGCONT);
	}
	_exit(0);
}

static void begin_all(void)
{
	pid_t parent = getpid();

	if (all.stop_ns && fork() == 0)
		stop_and_go(parent);
	atomic_store(&all.end_ns, clock_ns(CLOCK_MONOTONIC) + all.for_ns);
	atomic_store(&all.go, 1);
	futex(&all.go, FUTEX_WAKE, INT_MAX);
	puts("going");
	fflush(stdout);
}

static void become(char *line)
{
	char *argv[64], *saved = NULL;
	unsigned n = 0;

	for (char *word = strtok_r(line, " ", &saved); word && n < 63;
	     word = strtok_r(NULL, " ", &saved))
		argv[n++] = word;
	argv[n] = NULL;
	look();
	if (n > 0)
		execv(argv[0], argv);
	die("exec");
}

static void obey(void)
{
	char line[4096];

	for (;;) {
		enter(F_wait_line);
		if (!wait_line(line, sizeof(line)))
			break;
		enter(F_enter);
		line[strcspn(line, "\n")] = '\0';
		if (strcmp(line, "go") == 0) {
			begin_all();
		} else if (strcmp(line, "look") == 0) {
			look();
		} else if (strcmp(line, "join") == 0) {
			enter(F_wait_join);
			wait_join();
			puts("ended");
			fflush(stdout);
		} else if (strncmp(line, "exec ", 5) == 0) {
			become(line + 5);
		} else {
			exit(2);
		}
	}
	exit(0);
}

static void *obey_main(void *argument)
{
	(void)argument;
	slot_begin(N_WAYS, "reader", F_enter);
	for (unsigned w = 0; w < all.n_ways; w++) {
		for (unsigned i = 0; i < all.ways[w].n_threads; i++) {
			struct thread *t = calloc(1, sizeof(*t));

			if (!t)
				die("calloc");
			*t = (struct thread){&all.ways[w], NULL, (w + 1) * 7919 + i, 0, be_cycle};
			all.threads[all.n_threads++] = start_thread(t);
		}
	}
	while (atomic_load(&all.n_begun) < all.n_threads)
		usleep(1000);
	printf("ready %d\n", own->tid);
	fflush(stdout);
	obey();
	return NULL;
}

/* --- options -------------------------------------------------------------------------------- */

static uint64_t read_time(const char *text, const char **ret_end)
{
	char *end;
	double value = strtod(text, &end);
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

	for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t length = strlen(units[i].name);

		if (strncmp(end, units[i].name, length) == 0) {
			*ret_end = end + length;
			return (uint64_t)(value * units[i].ns);
		}
	}
	fprintf(stderr, "no time: %s\n", text);
	exit(2);
}

static const char *read_step(const char *text, struct step *ret)
{
	const char *equals = strchr(text, '=');
	size_t length = equals ? (size_t)(equals - text) : 0;

	for (unsigned i = F_work; i <= F_wait_birth; i++) {
		const char *name = function_names[i] + (i == F_work ? 0 : strlen("wait_"));

		if (length == 0 || strlen(name) != length || strncmp(text, name, length) != 0)
			continue;
		ret->function = i;
		ret->least_ns = ret->most_ns = read_time(equals + 1, &text);
		if (strncmp(text, "..", 2) == 0)
			ret->most_ns = read_time(text + 2, &text);
		return text;
	}
	fprintf(stderr, "no step: %s\n", text);
	exit(2);
}

static void read_way(const char *text)
{
	struct way *way = &all.ways[all.n_ways];
	char *end;

	if (all.n_ways == N_WAYS)
		exit(2);
	way->number = all.n_ways++;
	way->n_threads = (unsigned)strtoul(text, &end, 10);
	way->cpu = *end == '@' ? (int)strtol(end + 1, &end, 10) : -1;
	do {
		if (way->n_steps == N_STEPS || (*end != ':' && *end != ','))
			exit(2);
		end = (char *)read_step(end + 1, &way->steps[way->n_steps++]);
	} while (*end);
}

static void open_files(const char *path)
{
	static char zeros[DISK_BYTES];
	char other[PATH_MAX];

	snprintf(other, sizeof(other), "%s.sync", path);
	all.sync = open(other, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	all.disk = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (all.sync < 0 || all.disk < 0 || write(all.disk, zeros, sizeof(zeros)) < 0 ||
	    fsync(all.disk) != 0 || close(all.disk) != 0 ||
	    (all.disk = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC)) < 0)
		die(path);
}

static void count_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		die("sched_getaffinity");
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			all.cpus[all.n_cpus++] = i;
}

/* How much work() does: by the CPU clock, the quickest of some. */
static void calibrate(void)
{
	double best = 0;

	all.loops_a_ns = 1;
	for (int i = 0; i < 5; i++) {
		uint64_t ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		work(NULL, 2000000);
		ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - ns;
		if (2e6 / (double)ns > best)
			best = 2e6 / (double)ns;
	}
	all.loops_a_ns = best;
}

static void read_options(int argc, char **argv)
{
	const char *end;
	int c;

	all.for_ns = 3600 * NS;
	while ((c = getopt(argc, argv, "t:mls:f:")) >= 0) {
		if (c == 't') {
			all.for_ns = (uint64_t)(atof(optarg) * 1e9);
		} else if (c == 'm') {
			all.moves = 1;
		} else if (c == 'l') {
			all.has_main_exited = 1;
		} else if (c == 's') {
			all.run_ns = read_time(optarg, &end);
			all.stop_ns = read_time(end + 1, &end);
		} else if (c == 'f') {
			open_files(optarg);
		} else {
			exit(2);
		}
	}
	for (int i = optind; i < argc; i++)
		read_way(argv[i]);
}

int main(int argc, char **argv)
{
	unsigned n = 0;

	count_cpus();
	calibrate();
	read_options(argc, argv);
	for (unsigned i = 0; i < all.n_ways; i++)
		n += all.ways[i].n_threads;
	account_init();
	all.threads = calloc(n + 1, sizeof(pthread_t));
	if (!all.threads)
		die("memory");
	if (all.has_main_exited) {
		pthread_t reader;

		if (pthread_create(&reader, NULL, obey_main, NULL) != 0)
			die("pthread_create");
		pthread_exit(NULL);
	}
	obey_main(NULL);
	return 0;
}
