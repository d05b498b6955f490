/* SPDX-License-Identifier: MIT */
/*
 * ring_writer SOCKET SECONDS MODE [N]: a process that asks for a ring as libprofd does and then
 * does what it likes. Prints "attached" (or "refused") when it was answered, and at its end
 * whatever its mode has to say, a line each.
 *
 *   honest    samples of busy() for its CPU time, as often as it is told
 *   scribble  any words anywhere, and rings without end
 *   lie       samples of the greatest weight, counters at their ends
 *   fill      samples as fast as it can, true in all but their number
 *   resize    tries to make the memory shorter, longer, or full of holes
 *   fork      ends, and leaves a child behind that goes on writing
 *   leave     closes what it was given, and asks again, for ever
 *   vanish    asks, and hangs up before it is answered, for ever
 *   crowd     as many processes as it may have (at most N or 1500), each with a ring
 *   hoard     as many connections as it may have that ask nothing, or half a question
 *   throw     sends descriptors along with its questions
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/shim/ring_layout.h"

#define CROWD 1500
#define S     UINT64_C(1000000000)

static const uint8_t question[] = {0, 0, 0, 2, 13 << 3 | 2, 0};

struct ring {
	struct ring_page *page;
	_Atomic uint64_t *words;
	uint64_t n_words;
	size_t length;
	int memory, bell;
};

static const char *socket_path;
static uint64_t end_ns;
static unsigned n_crowd = CROWD;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * S + (uint64_t)ts.tv_nsec;
}

static int time_is_left(void)
{
	return clock_ns(CLOCK_MONOTONIC) < end_ns;
}

static void say(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
}

static int call(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strncpy(address.sun_path, socket_path, sizeof(address.sun_path) - 1);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int take(int fd, struct ring *ret)
{
	char control[CMSG_SPACE(2 * sizeof(int))], data[512];
	struct iovec bytes = {data, sizeof(data)};
	struct msghdr message = {.msg_iov = &bytes,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *header = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	struct stat st;
	int fds[2];

	if (!header || header->cmsg_len != CMSG_LEN(sizeof(fds)))
		return -1;
	memcpy(fds, CMSG_DATA(header), sizeof(fds));
	fstat(fds[0], &st);
	ret->memory = fds[0];
	ret->bell = fds[1];
	ret->length = (size_t)st.st_size;
	ret->n_words = (ret->length - RING_PAGE) / 8;
	ret->page = mmap(NULL, ret->length, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	if (ret->page == MAP_FAILED)
		return -1;
	ret->words = (_Atomic uint64_t *)(void *)((char *)ret->page + RING_PAGE);
	return 0;
}

static int attach(struct ring *ret)
{
	int fd = call(), r = -1;

	if (fd < 0)
		return -1;
	if (send(fd, question, sizeof(question), MSG_NOSIGNAL) == (ssize_t)sizeof(question))
		r = take(fd, ret);
	close(fd);
	return r;
}

static void let_go(struct ring *ring)
{
	munmap(ring->page, ring->length);
	close(ring->memory);
	close(ring->bell);
}

/* One that writes by itself: no other thread takes words. 0: there is no room. */
static int put(struct ring *ring, uint32_t weight, uint32_t frequency, const uint64_t *frames,
	       uint32_t n_frames)
{
	uint64_t at = atomic_load(&ring->page->head);
	uint32_t n = RING_SAMPLE_FIXED + n_frames;
	const uint64_t words[RING_SAMPLE_FIXED] = {
		0,
		clock_ns(CLOCK_MONOTONIC),
		(uint64_t)getpid() << 32 | weight,
		(uint64_t)frequency << 16,
		0x74736574,
		0,
	};

	if (at + n - atomic_load(&ring->page->tail) > ring->n_words)
		return 0;
	atomic_store(&ring->page->head, at + n);
	for (uint32_t i = 1; i < n; i++)
		atomic_store(&ring->words[(at + i) & (ring->n_words - 1)],
			     i < RING_SAMPLE_FIXED ? words[i] : frames[i - RING_SAMPLE_FIXED]);
	atomic_store(&ring->words[at & (ring->n_words - 1)],
		     RING_COMMITTED | RING_HEAD(RING_SAMPLE, n));
	return 1;
}

__attribute__((noinline, noipa)) static void busy(uint64_t ns)
{
	uint64_t until = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until)
		;
}

static void honest(struct ring *ring)
{
	const uint64_t frames[] = {(uintptr_t)busy + 1, (uintptr_t)honest + 1};
	uint64_t n = 0;

	while (time_is_left()) {
		uint32_t frequency = atomic_load(&ring->page->frequency);

		busy(frequency ? S / frequency : S / 100);
		if (!frequency)
			continue;
		atomic_fetch_add(&ring->page->counters.seen, 1);
		if (put(ring, 1, frequency, frames, 2))
			atomic_fetch_add(&ring->page->counters.complete, 1);
		else
			atomic_fetch_add(&ring->page->counters.lost, 1);
		n++;
	}
	printf("ticks %lu\n", (unsigned long)n);
}

static void scribble(struct ring *ring)
{
	_Atomic uint64_t *all = (_Atomic uint64_t *)(void *)ring->page;
	uint64_t n_all = ring->length / 8, state = 88172645463325252u;
	char byte = 0;

	while (time_is_left()) {
		for (int i = 0; i < 4096; i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			atomic_store(&all[state % n_all],
				     state & 1 ? RING_COMMITTED |
							 RING_HEAD(state >> 8 & 3, state >> 20 & 63)
					       : state);
			if (!(state >> 40 & 15))
				atomic_store(&ring->page->head,
					     atomic_load(&ring->page->tail) + (state >> 50));
		}
		send(ring->bell, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
}

static void lie(struct ring *ring)
{
	const uint64_t frames[] = {(uintptr_t)lie, UINT64_C(0xffffffff81000000),
				   UINT64_C(0x1000000100000040)};
	struct ring_counters *counters = &ring->page->counters;

	while (time_is_left()) {
		while (put(ring, 1u << 20, 1, frames, 3))
			;
		atomic_store(&counters->seen, UINT64_MAX);
		atomic_store(&counters->complete, UINT64_MAX / 3);
		atomic_store(&counters->lost, UINT64_MAX - 1);
		usleep(10000);
		atomic_store(&counters->lost, 0);
	}
}

static void fill(struct ring *ring)
{
	const uint64_t frames[] = {(uintptr_t)fill};
	char byte = 0;

	while (time_is_left())
		if (!put(ring, 1, 4000, frames, 1))
			send(ring->bell, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void resize(struct ring *ring)
{
	int fd = ring->memory;

	if (ftruncate(fd, 0) == 0 || ftruncate(fd, 4096) == 0)
		say("shrunk");
	if (ftruncate(fd, (off_t)ring->length * 2) == 0)
		say("grown");
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0)
		say("sealed");
	/* Not forbidden: what is read there is 0. */
	while (time_is_left()) {
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)ring->length);
		memset((void *)ring->page, 0xff, ring->length);
		usleep(1000);
	}
}

static void leave_child(struct ring *ring)
{
	if (fork() == 0)
		fill(ring);
	_exit(0);
}

static void leave(struct ring *ring)
{
	unsigned long n = 1;

	for (; time_is_left(); n++) {
		let_go(ring);
		if (attach(ring) < 0)
			break;
	}
	printf("rings %lu\n", n);
}

static void vanish(void)
{
	unsigned long n = 0;

	for (; time_is_left(); n++) {
		int fd = call();

		if (fd < 0)
			continue;
		send(fd, question, sizeof(question), MSG_NOSIGNAL);
		close(fd);
	}
	printf("calls %lu\n", n);
}

/* All stay until the last one has tried: no ring is free again for those behind. */
static void crowd(void)
{
	unsigned n_attached = 0, n_children = 0;
	int told[2], stay[2];
	char is_attached;

	if (pipe(told) < 0 || pipe(stay) < 0)
		exit(1);
	for (; n_children < n_crowd; n_children++) {
		pid_t pid = fork();
		struct ring ring;

		if (pid < 0)
			break;
		if (pid)
			continue;
		close(stay[1]);
		is_attached = attach(&ring) == 0;
		if (write(told[1], &is_attached, 1) != 1 || read(stay[0], &is_attached, 1) != 0)
			_exit(1);
		_exit(0);
	}
	close(told[1]);
	for (unsigned i = 0; i < n_children && read(told[0], &is_attached, 1) == 1; i++)
		n_attached += is_attached == 1;
	while (time_is_left())
		usleep(100000);
	close(stay[1]);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	printf("attached %u of %u\n", n_attached, n_children);
}

static void hoard(void)
{
	unsigned long n = 0;

	while (time_is_left()) {
		int fd = call();

		if (fd < 0) {
			usleep(1000);
			continue;
		}
		if (n++ % 2)
			send(fd, question, sizeof(question) - 1, MSG_NOSIGNAL);
	}
	printf("connections %lu\n", n);
}

static void throw(void)
{
	char control[CMSG_SPACE(64 * sizeof(int))];
	int fds[64];

	for (int i = 0; i < 64; i++)
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (time_is_left()) {
		struct iovec bytes = {(void *)(uintptr_t)question, sizeof(question)};
		struct msghdr message = {.msg_iov = &bytes,
					 .msg_iovlen = 1,
					 .msg_control = control,
					 .msg_controllen = sizeof(control)};
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		struct ring ring;
		int fd = call();

		if (fd < 0)
			continue;
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(fds));
		memcpy(CMSG_DATA(header), fds, sizeof(fds));
		if (sendmsg(fd, &message, MSG_NOSIGNAL) > 0 && take(fd, &ring) == 0)
			let_go(&ring);
		close(fd);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*with_ring)(struct ring *ring);
		void (*without)(void);
	} modes[] = {
		{"honest", honest, NULL}, {"scribble", scribble, NULL}, {"lie", lie, NULL},
		{"fill", fill, NULL},     {"resize", resize, NULL},     {"fork", leave_child, NULL},
		{"leave", leave, NULL},   {"vanish", NULL, vanish},     {"crowd", NULL, crowd},
		{"hoard", NULL, hoard},   {"throw", NULL, throw},
	};
	struct rlimit limit;
	struct ring ring;

	if (argc != 4 && argc != 5)
		return 2;
	if (argc == 5)
		n_crowd = (unsigned)atoi(argv[4]);
	socket_path = argv[1];
	end_ns = clock_ns(CLOCK_MONOTONIC) + (uint64_t)(atof(argv[2]) * (double)S);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i].name, argv[3]) != 0)
			continue;
		if (modes[i].without) {
			modes[i].without();
			return 0;
		}
		if (attach(&ring) < 0) {
			say("refused");
			return 1;
		}
		say("attached");
		modes[i].with_ring(&ring);
		return 0;
	}
	return 2;
}
