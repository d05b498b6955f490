/* SPDX-License-Identifier: MIT */

/*
 * The real worker over every file with hostile DWARF: it answers, whatever is asked, and over the
 * few that it dies of its client lives and asks the next one. HOSTILE_STEP=N takes one file in N.
 */
#include <time.h>

#include "common/worker/answer.h"
#include "tests/support/hostile_elf_killers.h"
#include "tests/unit/worker/worker_fixture.h"

/*
 * Twice what a question may take by default, for sanitizers. Time in which a worker gets no CPU is
 * no part of it: it bounds the work, not the machine's speed, unless that is ten times busier.
 */
#define PATIENCE_NS UINT64_C(20000000000)
/* In which a worker begins and answers, and which those over which it dies would exceed by far. */
#define IMPATIENT_NS UINT64_C(4000000000)
#define RESTS_MAX    600

static const uint64_t addresses[] = {0,
				     1,
				     BUILDER_FIRST,
				     BUILDER_FIRST + 8,
				     BUILDER_FIRST + 0x41,
				     BUILDER_FIRST + DWARF_CODE_SIZE - 1,
				     1ull << 63,
				     UINT64_MAX};

static struct worker *open_worker(uint64_t deadline_ns)
{
	const struct worker_options options = {.name = "test", .deadline_ns = deadline_ns};
	struct worker *w = NULL;

	assert_int_equal(worker_new(&w, &options), 0);
	return w;
}

static int make_file(const struct hostile_case *file)
{
	struct builder b;
	int fd;

	file->make(&b);
	fd = builder_memfd(&b);
	builder_deinit(&b);
	return fd;
}

/* One that was killed may take its time to end. */
static int query_once_ready(struct worker *w, const struct worker_request *request,
			    struct worker_reply *ret)
{
	const struct timespec a_while = {.tv_nsec = 50000000};
	int r = worker_query(w, request, ret);

	for (unsigned i = 0; r == WORKER_E_REST && i < RESTS_MAX; i++) {
		nanosleep(&a_while, NULL);
		r = worker_query(w, request, ret);
	}
	return r;
}

/* Names, with lines if @flags say so, of the file as the image, its debug file and its alternate.
 */
static int ask_names(struct worker *w, int fd, uint32_t flags, struct worker_reply *ret)
{
	struct worker_request request = worker_request_of(WORKER_SYMBOLS, fd);

	request.flags = flags;
	request.files[WORKER_FILE_DEBUG] = fd;
	request.files[WORKER_FILE_ALTERNATE] = fd;
	request.payload = addresses;
	request.payload_length = sizeof(addresses);
	return query_once_ready(w, &request, ret);
}

static void assert_died_never(struct worker *w, const char *file)
{
	struct worker_stats stats;

	worker_get_stats(w, &stats);
	if (stats.died > 0)
		fail_msg("%s: %s", file, stats.why);
}

/* Every question about the file has an answer that makes sense. */
static void check_answers(struct worker *w, const struct hostile_case *file, int fd)
{
	struct worker_request table = worker_request_of(WORKER_TABLE, fd);
	struct worker_request facts = worker_request_of(WORKER_INSPECT, fd);
	struct worker_request code = worker_request_of(WORKER_INSTRUCTIONS, fd);
	const struct worker_range range = {BUILDER_FIRST, BUILDER_FIRST + WORKER_CODE_MAX};
	struct answer_names names;
	struct worker_image image;
	struct worker_reply reply;
	struct answer_code text;

	table.max_words = 1 << 20;
	(void)query_once_ready(w, &facts, &reply);
	assert_died_never(w, file->name);
	assert_true(reply.outcome != WORKER_DONE || answer_image(reply.data, reply.length, &image));
	(void)query_once_ready(w, &table, &reply);
	assert_died_never(w, file->name);
	(void)ask_names(w, fd, WORKER_WANT_LINES, &reply);
	assert_died_never(w, file->name);
	assert_true(
		reply.outcome != WORKER_DONE ||
		answer_names(reply.data, reply.length, addresses, ARRAY_SIZE(addresses), &names));
	code.flags = WORKER_WANT_LINES;
	code.files[WORKER_FILE_DEBUG] = code.files[WORKER_FILE_ALTERNATE] = fd;
	code.payload = &range;
	code.payload_length = sizeof(range);
	(void)query_once_ready(w, &code, &reply);
	assert_died_never(w, file->name);
	assert_true(reply.outcome != WORKER_DONE ||
		    answer_code(reply.data, reply.length, &range, &text));
}

static void test_dwarf(void **state)
{
	const char *step = getenv("HOSTILE_STEP");
	struct worker *w = open_worker(PATIENCE_NS);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hostile_dwarf_cases);
	     i += step ? (size_t)atoi(step) : 1) {
		int fd = make_file(&hostile_dwarf_cases[i]);

		check_answers(w, &hostile_dwarf_cases[i], fd);
		close(fd);
	}
	worker_free(w);
}

static void assert_name(struct worker *w, int fd, uint32_t flags, const char *expected)
{
	struct worker_reply reply;
	struct answer_names names;
	const struct worker_location *l;

	assert_int_equal(ask_names(w, fd, flags, &reply), WORKER_E_OK);
	assert_int_equal(reply.outcome, WORKER_DONE);
	assert_true(
		answer_names(reply.data, reply.length, addresses, ARRAY_SIZE(addresses), &names));
	l = &names.locations[2];
	assert_true(l->n_frames > 0);
	assert_string_equal(names.text + names.frames[l->first_frame].name, expected);
}

/* Each of the killers does kill, and so late that the deadline is what ends it or long before. */
static void test_killers(void **state)
{
	static const struct hostile_case plain = {"dwarf-plain", hostile_dwarf_plain};
	struct worker *w = open_worker(IMPATIENT_NS);
	int good = make_file(&plain);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hostile_killers); i++) {
		int fd = make_file(&hostile_killers[i]);
		struct worker_stats stats;
		struct worker_reply reply;

		assert_name(w, good, WORKER_WANT_LINES, "inlined");
		assert_int_equal(ask_names(w, fd, i == 0 ? 0 : WORKER_WANT_LINES, &reply),
				 WORKER_E_DIED);
		worker_get_stats(w, &stats);
		assert_int_equal(stats.died, i + 1);
		assert_true(stats.why[0]);
		print_message("%s: %s\n", hostile_killers[i].name, stats.why);
		close(fd);
	}
	assert_name(w, good, 0, "first");
	close(good);
	worker_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEFTOVERS_TEST(test_dwarf),
		LEFTOVERS_TEST(test_killers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
