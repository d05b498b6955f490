/* SPDX-License-Identifier: MIT */
/* What workers may use of one budget: as numbers, and of a real one that is asked for much. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/sanitized.h"
#include "common/worker/memory.h"
#include "tests/unit/worker/worker_fixture.h"

#define MB UINT64_C(1000000)

static void test_what_is_left(void **state)
{
	struct memory_budget b = {.bytes = 10000 * MB, .other_bytes = 1000 * MB};
	uint64_t ours = memory_resident_bytes(getpid()), all, rest;

	(void)state;
	assert_true(ours > 0 && ours < 1000 * MB);
	assert_int_equal(memory_resident_bytes(0), 0);
	all = memory_budget_begin(&b, MEMORY_SYMBOLS, 0);
	assert_in_range(b.allowed[MEMORY_SYMBOLS], 7000 * MB, 7875 * MB);
	assert_int_equal(all, b.allowed[MEMORY_SYMBOLS] * 3 / 4);
	/* While that one works, it counts as having all that it may. */
	rest = 9000 * MB - b.allowed[MEMORY_SYMBOLS];
	memory_budget_begin(&b, MEMORY_TABLES, 0);
	assert_in_range(b.allowed[MEMORY_TABLES], rest / 2, rest / 8 * 7);
	memory_budget_end(&b, MEMORY_SYMBOLS);
	memory_budget_end(&b, MEMORY_TABLES);
	assert_in_range(memory_budget_begin(&b, MEMORY_TABLES, 0), 5000 * MB, 5906250000);
	/* Afterwards, what it has. */
	memory_budget_end(&b, MEMORY_TABLES);
	b.workers[MEMORY_TABLES] = getpid();
	assert_true(memory_budget_begin(&b, MEMORY_SYMBOLS, 0) <= all);
	assert_false(memory_budget_is_short(&b));
	b.other_bytes = 9000 * MB;
	assert_false(memory_budget_is_short(&b));
	b.other_bytes = 20000 * MB;
	assert_true(memory_budget_is_short(&b));
	assert_int_equal(memory_budget_begin(&b, MEMORY_SYMBOLS, 0), MEMORY_LEFT_MIN / 4 * 3);
	assert_int_equal(b.allowed[MEMORY_SYMBOLS], MEMORY_LEFT_MIN);
}

/* Who claims goes first; the others work on, and what can be given back is, once. */
static void test_claim(void **state)
{
	struct memory_budget b = {.bytes = 10000 * MB};

	(void)state;
	assert_true(memory_budget_begin(&b, MEMORY_TABLES, 0) > 1000 * MB);
	assert_false(memory_budget_is_short(&b));
	assert_true(memory_budget_claim(&b, MEMORY_SYMBOLS));
	assert_false(memory_budget_claim(&b, MEMORY_SYMBOLS));
	assert_true(memory_budget_is_short(&b));
	memory_budget_give_back(&b);
	assert_false(memory_budget_has_made_room(&b, MEMORY_SYMBOLS));
	memory_budget_end(&b, MEMORY_TABLES);
	assert_true(memory_budget_has_made_room(&b, MEMORY_SYMBOLS));
	memory_budget_begin(&b, MEMORY_TABLES, 0);
	assert_int_equal(b.allowed[MEMORY_TABLES], MEMORY_LEFT_MIN);
	assert_true(memory_budget_has_made_room(&b, MEMORY_SYMBOLS));
	assert_in_range(memory_budget_begin(&b, MEMORY_SYMBOLS, 0), 8000 * MB, 8750 * MB);
	/* Until it ends. */
	memory_budget_end(&b, MEMORY_SYMBOLS);
	b.claimed_until_ns = clock_ns(CLOCK_MONOTONIC);
	assert_true(memory_budget_begin(&b, MEMORY_TABLES, 0) > 5000 * MB);
	assert_false(memory_budget_is_short(&b));
	assert_true(memory_budget_claim(&b, MEMORY_SYMBOLS));
	assert_false(memory_budget_has_made_room(&b, MEMORY_SYMBOLS));
}

#define GROWN (64 * MB)

/* A child whose own child has GROWN resident, and says so. */
static pid_t start_family(int *ret_grandchild)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		pid_t grown;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		grown = fork();
		if (grown == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			grown = getpid();
			memset(mmap(NULL, GROWN, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			       1, GROWN);
			(void)!write(ends[1], &grown, sizeof(grown));
		}
		for (;;)
			pause();
	}
	assert_int_equal(read(ends[0], ret_grandchild, sizeof(*ret_grandchild)),
			 sizeof(*ret_grandchild));
	close(ends[0]);
	close(ends[1]);
	return pid;
}

/* cat(1), which waits for input that does not come. */
static pid_t start_cat(void)
{
	int in[2], out[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execl("/bin/cat", "cat", NULL);
		_exit(1);
	}
	/* It runs once a byte has come back. */
	assert_int_equal(write(in[1], "x", 1), 1);
	assert_int_equal(read(out[0], &byte, 1), 1);
	close(in[0]);
	close(out[0]);
	close(out[1]);
	return pid;
}

/* The sum is over children and theirs; a budget's workers are counted with the budget. */
static void test_descendants_count(void **state)
{
	uint64_t before = memory_descendants_bytes(NULL), all;
	struct memory_budget b = {0};
	pid_t grandchild, child = start_family(&grandchild), other;

	(void)state;
	assert_int_equal(before, 0);
	all = memory_descendants_bytes(NULL);
	assert_true(all > GROWN);
	/* Both run our program, whose pages are counted with us. */
	assert_true(all < memory_resident_bytes(child) + memory_resident_bytes(grandchild));
	assert_int_equal(memory_descendants_bytes(&b), all);
	b.workers[MEMORY_CONTAINERS] = grandchild;
	assert_true(memory_descendants_bytes(&b) < all - GROWN);
	/* Another program counts as a whole. */
	other = start_cat();
	assert_int_equal(memory_descendants_bytes(NULL), all + memory_resident_bytes(other));
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(memory_descendants_bytes(NULL), 0);
}

#define N_BLOCKS ((size_t)32 * 1024)
#define BLOCK    ((size_t)1024)

/* What much was needed for is not kept because of the little that came last. */
static void test_free_memory_is_given_back(void **state)
{
	struct memory_budget b = {.bytes = N_BLOCKS * BLOCK};
	static void *blocks[N_BLOCKS];
	uint64_t before, most;
	void *last;

	(void)state;
	memory_budget_give_back(&b);
	before = memory_resident_bytes(getpid());
	for (size_t i = 0; i < N_BLOCKS; i++)
		assert_non_null(blocks[i] = memset(malloc(BLOCK), 1, BLOCK));
	assert_non_null(last = malloc(BLOCK));
	for (size_t i = 0; i < N_BLOCKS; i++)
		free(blocks[i]);
	most = memory_resident_bytes(getpid());
	memory_budget_give_back(&b);
	assert_true(most > before + b.bytes / 2);
	assert_true(IS_SANITIZED || memory_resident_bytes(getpid()) < before + b.bytes / 4);
	free(last);
}

#define N_NAMES 2000u
#define NAME    4000u

/* A perf map of long names, all different. */
static int write_map(void)
{
	int fd = memfd_create("map", MFD_CLOEXEC);
	FILE *map = fdopen(dup(fd), "w");

	assert_non_null(map);
	for (unsigned i = 0; i < N_NAMES; i++)
		fprintf(map, "%x 10 %0*u\n", 0x10000 + i * 16, (int)NAME, i);
	assert_int_equal(fclose(map), 0);
	return fd;
}

/* One that makes room for a larger one may take a while to end. */
static int query_in_the_end(struct worker *w, const struct worker_request *request,
			    struct worker_reply *ret)
{
	int r;

	do
		r = worker_query(w, request, ret);
	while (r == WORKER_E_REST);
	return r;
}

/* What an owner of the budget does, once a worker has claimed some of it. */
static void *make_room(void *userdata)
{
	struct memory_budget *b = userdata;

	while (!b->claimed_until_ns)
		usleep(1000);
	b->other_bytes = 0;
	memory_budget_give_back(b);
	return NULL;
}

/* It says so, lives on, and does the same when there is room for it. */
static void test_too_much_for_the_budget(void **state)
{
	struct memory_budget b = {.bytes = 1};
	const struct worker_options options = {.name = "test", .budget = &b};
	struct worker_request request = worker_request_of(WORKER_JIT, -1);
	uint64_t addresses[N_NAMES];
	struct worker_stats stats;
	struct worker_reply reply;
	struct worker *w;
	pthread_t owner;
	int fd = write_map();

	(void)state;
	for (unsigned i = 0; i < N_NAMES; i++)
		addresses[i] = 0x10000 + i * 16;
	request.files[WORKER_FILE_PERF_MAP] = fd;
	request.payload = addresses;
	request.payload_length = sizeof(addresses);
	assert_int_equal(worker_new(&w, &options), 0);
	assert_int_equal(query_in_the_end(w, &request, &reply), WORKER_E_OK);
	assert_int_equal(reply.outcome, WORKER_NO_MEMORY);
	assert_int_equal(kill(worker_pid(w), 0), 0);
	b.bytes = 1000 * MB;
	assert_int_equal(query_in_the_end(w, &request, &reply), WORKER_E_OK);
	assert_int_equal(reply.outcome, WORKER_DONE);
	assert_true(reply.length > (size_t)N_NAMES * NAME);
	assert_int_equal(b.allowed[0], 0);
	/* Where nothing is left, room is made for root's own files alone, and no more is taken. */
	b.other_bytes = 10000 * MB;
	assert_int_equal(pthread_create(&owner, NULL, make_room, &b), 0);
	assert_int_equal(query_in_the_end(w, &request, &reply), WORKER_E_OK);
	assert_int_equal(reply.outcome, WORKER_NO_MEMORY);
	assert_int_equal(b.other_bytes, 10000 * MB);
	assert_int_equal(fchmod(fd, 0644), 0);
	if (geteuid()) {
		assert_true(memory_budget_claim(&b, 0));
		assert_int_equal(pthread_join(owner, NULL), 0);
	}
	assert_int_equal(query_in_the_end(w, &request, &reply), WORKER_E_OK);
	assert_true(geteuid() || pthread_join(owner, NULL) == 0);
	assert_int_equal(reply.outcome, WORKER_DONE);
	/* One that lives on after its answer has given back what it was allowed. */
	request.payload_length = sizeof(addresses[0]);
	assert_int_equal(query_in_the_end(w, &request, &reply), WORKER_E_OK);
	assert_true(worker_pid(w) > 0);
	assert_int_equal(b.allowed[0], 0);
	worker_get_stats(w, &stats);
	assert_int_equal(stats.died, 0);
	worker_free(w);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_left),
		cmocka_unit_test(test_claim),
		cmocka_unit_test(test_descendants_count),
		cmocka_unit_test(test_free_memory_is_given_back),
		LEFTOVERS_TEST(test_too_much_for_the_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
