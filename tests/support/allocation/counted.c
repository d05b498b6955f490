/* SPDX-License-Identifier: MIT */
/*
 * Allocations of the product, counted, one of which fails. A build with PROFD_ALLOCATION has the
 * product's libraries call counted_malloc() for malloc() and so on (the file `calls`); what tests,
 * cmocka and other libraries allocate is not counted. Without ALLOCATION_LOG nothing happens; what
 * does, the environment says (walk):
 *
 *   ALLOCATION_LOG=FILE  there each stack is written when it allocates first, by a number that is
 *                        the same in each run of a program, and the one that failed
 *   ALLOCATION_SPOT=HEX  the first allocation by that stack fails
 *   ALLOCATION_NTH=N     the N-th one fails
 *   ALLOCATION_CASE=NAME the only test case that cmocka runs
 *   ALLOCATION_LIST=FILE lines "HEX NAME DIRECTORY": a child runs each of these, one after the
 * other, in that directory, with its log there (the file "log"); "HEX STATUS" comes on standard
 * output, what waitpid(2) said of it, or "HEX -1" where it did not end. A fork costs a tenth of a
 * start under sanitizers.
 *
 * Children that are forks count with their parent, so that one fails in all.
 */
#include "tests/support/allocation/counted.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sanitizer/lsan_interface.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEPTH_MAX 3 /* frames of a stack, by which it is told from others */
#define FRAME_MAX (1 << 16)
#define SPOTS_MAX (1u << 15)
#define RUN_MS    60000

/* Absent from a program that is no test. */
void cmocka_set_test_filter(const char *pattern) __attribute__((weak));
void allocation_tests_end(void) __attribute__((weak));

/* Shared with forks. */
struct counts {
	atomic_ulong n;
	atomic_bool has_failed;
	atomic_ulong spots[SPOTS_MAX];
};

static struct counts *counts;
static const char *allocation_log;
static unsigned long fail_spot, fail_nth;
static int exit_status;

/* on_exit(3); LeakSanitizer looks later. */
static void allocation_end(int status, void *unused)
{
	(void)unused;
	exit_status = status;
}

/*
 * Of leaks where an assertion failed nobody wants to know, and each report starts a symbolizer,
 * which takes longer than the test.
 */
int __lsan_is_turned_off(void)
{
	return exit_status != 0;
}

static void allocation_count(void)
{
	on_exit(allocation_end, NULL);
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (counts == MAP_FAILED)
		abort();
}

/* In the child: as if it had been started with ALLOCATION_SPOT and ALLOCATION_CASE. */
static void allocation_become(unsigned long spot, const char *name, const char *directory)
{
	static char filter[256], log[4096];
	int fd;

	snprintf(filter, sizeof(filter), "%s", name);
	snprintf(log, sizeof(log), "%s/log", directory);
	allocation_log = log;
	fail_spot = spot;
	cmocka_set_test_filter(filter);
	setenv("TMPDIR", directory, 1);
	setsid();
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (fd < 0 || chdir(directory) || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
		abort();
	close(fd);
	allocation_count();
}

static int allocation_await(pid_t pid)
{
	struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	int status, n = poll(&end, 1, RUN_MS);

	/* Whatever it has left behind, where it failed, is of its session. */
	kill(-pid, SIGKILL);
	close(end.fd);
	if (waitpid(pid, &status, 0) != pid)
		abort();
	return n == 1 ? status : -1;
}

/* Returns in the children alone. */
static void allocation_serve(const char *path)
{
	char name[256], directory[2048];
	FILE *list = fopen(path, "re");
	unsigned long spot;
	pid_t pid;

	if (!list)
		abort();
	while (fscanf(list, "%lx %255s %2047s", &spot, name, directory) == 3) {
		pid = fork();
		if (pid < 0)
			abort();
		if (!pid) {
			/* Not fclose(3), which would move the parent's offset. */
			close(fileno(list));
			allocation_become(spot, name, directory);
			return;
		}
		printf("%016lx %d\n", spot, allocation_await(pid));
		fflush(stdout);
	}
	_exit(0);
}

__attribute__((constructor)) static void allocation_begin(void)
{
	const char *spot = getenv("ALLOCATION_SPOT"), *nth = getenv("ALLOCATION_NTH");

	allocation_log = getenv("ALLOCATION_LOG");
	if (getenv("ALLOCATION_LIST"))
		allocation_serve(getenv("ALLOCATION_LIST"));
	if (!allocation_log || counts)
		return;
	if (getenv("ALLOCATION_CASE") && cmocka_set_test_filter)
		cmocka_set_test_filter(getenv("ALLOCATION_CASE"));
	fail_spot = spot ? strtoul(spot, NULL, 16) : 0;
	fail_nth = nth ? strtoul(nth, NULL, 10) : 0;
	allocation_count();
}

static void allocation_note(const char *what, unsigned long spot, unsigned long n)
{
	char line[80];
	int length = snprintf(line, sizeof(line), "\n[ALLOCATION] %s %016lx %lu\n", what, spot, n);
	int fd = open(allocation_log, O_WRONLY | O_APPEND | O_CLOEXEC);

	if (fd < 0)
		return; /* in a sandbox */
	if (write(fd, line, length) != length)
		abort();
	close(fd);
}

/*
 * The stack from @frame's caller on, as far as it is the product's: one number. By the order in
 * which things are linked: the test's code, the product's libraries, this one.
 */
static unsigned long allocation_spot(void *const *frame)
{
	const char *begin = (const char *)allocation_tests_end,
		   *end = (const char *)allocation_begin;
	uint64_t hash = 14695981039346656037u;

	for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
		const char *at = frame[1], *next = frame[0];

		if (at < begin || at >= end)
			break;
		hash = (hash ^ (uint64_t)(end - at)) * 1099511628211u;
		/* A library that calls back has its registers for something else. */
		if (next < (const char *)frame || next - (const char *)frame > FRAME_MAX)
			break;
		frame = frame[0];
	}
	return hash;
}

/* Whether @spot had not been seen. */
static bool allocation_is_new(unsigned long spot)
{
	for (unsigned i = spot % SPOTS_MAX;; i = (i + 1) % SPOTS_MAX) {
		unsigned long seen = 0;

		if (atomic_compare_exchange_strong(&counts->spots[i], &seen, spot))
			return true;
		if (seen == spot)
			return false;
	}
}

bool allocation_fails(void *const *frame)
{
	unsigned long n, spot;
	bool fails;

	if (!counts)
		return false;
	n = atomic_fetch_add(&counts->n, 1) + 1;
	spot = allocation_spot(frame);
	if (allocation_is_new(spot) && !fail_spot && !fail_nth)
		allocation_note("at", spot, n);
	fails = (spot == fail_spot || n == fail_nth) && !atomic_exchange(&counts->has_failed, true);
	if (fails)
		allocation_note("failed", spot, n);
	return fails;
}

COUNTED(void *, malloc, (size_t size), (size), NULL)
COUNTED(void *, calloc, (size_t n, size_t size), (n, size), NULL)
COUNTED(void *, realloc, (void *old, size_t size), (old, size), NULL)
COUNTED(void *, reallocarray, (void *old, size_t n, size_t size), (old, n, size), NULL)
COUNTED(char *, strdup, (const char *s), (s), NULL)
COUNTED(char *, strndup, (const char *s, size_t n), (s, n), NULL)
COUNTED(FILE *, fopencookie, (void *cookie, const char *mode, cookie_io_functions_t functions),
	(cookie, mode, functions), NULL)
COUNTED(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL)
COUNTED(FILE *, fdopen, (int fd, const char *mode), (fd, mode), NULL)
COUNTED(DIR *, opendir, (const char *path), (path), NULL)
COUNTED(DIR *, fdopendir, (int fd), (fd), NULL)
COUNTED(char *, realpath, (const char *path, char *resolved), (path, resolved), NULL)
COUNTED(ssize_t, getdelim, (char **line, size_t *size, int end, FILE *file),
	(line, size, end, file), -1)

/* What is in *@ret stays, as with glibc; asprintf(3) promises nothing. */
int counted_vasprintf(char **ret, const char *format, va_list arguments);
int counted_vasprintf(char **ret, const char *format, va_list arguments)
{
	if (allocation_fails(__builtin_frame_address(0))) {
		errno = ENOMEM;
		return -1;
	}
	return vasprintf(ret, format, arguments);
}

int counted_asprintf(char **ret, const char *format, ...);
int counted_asprintf(char **ret, const char *format, ...)
{
	va_list arguments;
	int r;

	if (allocation_fails(__builtin_frame_address(0))) {
		errno = ENOMEM;
		return -1;
	}
	va_start(arguments, format);
	r = vasprintf(ret, format, arguments);
	va_end(arguments);
	return r;
}
