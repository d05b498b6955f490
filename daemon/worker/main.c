/* SPDX-License-Identifier: MIT */
/*
 * profd-image-worker: reads strangers' files for profd and profctl (common/worker/protocol.h). It
 * enters its sandbox before it reads anything, and leaves by _exit(2): what would run at an
 * ordinary end of a program is not allowed any more.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/worker/protocol.h"
#include "daemon/worker/sandbox.h"
#include "daemon/worker/serve_loop.h"

#define MEMORY_MIN (UINT64_C(16) << 20)
#define KEEP_MIN   (UINT64_C(1) << 20)

/* Of what may be held between requests; the heap has gaps. */
#define CACHE_SHARE 2

/*
 * Large blocks go back to the kernel when they are freed; glibc would otherwise learn from the
 * first ones that are freed to keep them.
 */
#define LARGE_BLOCK (256 << 10)

static bool parse_bytes(const char *text, uint64_t min, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	return text[0] >= '0' && text[0] <= '9' && !*end && !errno && *ret >= min;
}

static bool is_socket(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

/*
 * Signals to the whole unit or terminal are not for us: profd may still need answers when it is
 * told to stop. It ends us by the leash.
 */
static void leave_world(void)
{
	static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE};

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	(void)!chdir("/");
	umask(077);
	mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
}

int main(int argc, char **argv)
{
	struct serve_limits limits = {.cpu_ns = SANDBOX_CPU_ENOUGH_S * UINT64_C(1000000000)};
	struct cache *cache;
	uint64_t memory;
	int r;

	if (argc != 3 || !parse_bytes(argv[1], MEMORY_MIN, &memory) ||
	    !parse_bytes(argv[2], KEEP_MIN, &limits.keep_bytes) || !is_socket(WORKER_SOCKET_FD) ||
	    !is_socket(WORKER_LEASH_FD)) {
		fprintf(stderr,
			"profd-image-worker is not run directly: profd and profctl start it\n");
		return WORKER_EXIT_USAGE;
	}
	leave_world();
	r = cache_new(&cache, (size_t)(limits.keep_bytes / CACHE_SHARE)) ?: sandbox_enter(memory);
	if (r) {
		fprintf(stderr, "profd-image-worker: cannot enter its sandbox: %s\n",
			error_describe(r));
		return WORKER_EXIT_SANDBOX;
	}
	r = serve_loop(cache, WORKER_SOCKET_FD, &limits);
	_exit(r < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}
