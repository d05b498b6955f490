/* SPDX-License-Identifier: MIT */
/* Samples that were taken here and there, and what one profile makes of them. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/run/gather.h"
#include "common/reasons.h"

#define LIBRARY_A "7f0000001000-7f0000003000 r-xp 00001000 08:01 77 /lib/liba.so\n"
#define LIBRARY_B "7f0000001000-7f0000003000 r-xp 00001000 08:01 78 /lib/libb.so\n"
#define PROGRAM   "400000-402000 r-xp 00000000 08:01 5 /bin/program\n"

static struct gather *begin_in(const struct gather_world *world)
{
	struct gather *g;

	assert_int_equal(gather_new(&g, 100, 1000, world), 0);
	return g;
}

static struct gather *begin_gather(void)
{
	return begin_in(&(struct gather_world){0});
}

static struct gather_process *add_process(struct gather *g, int pid)
{
	struct gather_process *p;

	assert_int_equal(gather_process_new(&p, g, pid, "before", "/bin/program"), 0);
	return p;
}

static void give_maps(struct gather_process *p, uint32_t generation, const char *text)
{
	gather_maps(p, generation, text, strlen(text));
}

static void give(struct gather_process *p, uint32_t tid, uint32_t generation, uint32_t weight,
		 uint64_t leaf)
{
	const uint64_t frames[] = {leaf, 0x400100};
	struct ring_sample sample = {
		.tid = tid,
		.weight = weight,
		.generation = generation,
		.frequency = 200,
		.quality = weight == 2   ? STACK_BROKEN
			   : weight == 3 ? STACK_TRUNCATED
					 : STACK_COMPLETE,
		.reason = weight == 2   ? BROKEN_RULE
			  : weight == 3 ? TRUNCATED_DEPTH
					: 0,
		.comm = "thread",
		.frames = frames,
		.n_frames = 2,
	};

	gather_sample(p, &sample);
}

static void finish(struct gather_process *p, uint64_t taken, uint64_t seen)
{
	const struct ring_ledger ledger = {.taken = taken, .seen = seen, .complete = taken};

	assert_int_equal(gather_finish(p, &ledger), 0);
	gather_process_free(p);
}

static struct profile *end(struct gather *g)
{
	struct profile *p;

	assert_int_equal(gather_profile(g, 5000, &p), 0);
	assert_int_equal(p->period, 10000000);
	assert_string_equal(profile_string(p, p->period_type.type), "cpu");
	assert_string_equal(profile_string(p, p->period_type.unit), "nanoseconds");
	return p;
}

static const char *path_of(const struct profile *p, size_t sample, uint32_t frame)
{
	const struct profile_sample *s = &p->samples[sample];
	uint32_t mapping = p->locations[p->sample_locations[s->first_location + frame]].mapping;

	return mapping == PROFILE_NONE ? "" : profile_string(p, p->mappings[mapping].path);
}

static uint64_t address_of(const struct profile *p, size_t sample, uint32_t frame)
{
	return p->locations[p->sample_locations[p->samples[sample].first_location + frame]].address;
}

static const struct profile_label *label_of(const struct profile *p, size_t sample, const char *key)
{
	const struct profile_sample *s = &p->samples[sample];

	for (uint32_t i = 0; i < s->n_labels; i++) {
		const struct profile_label *label = &p->sample_labels[s->first_label + i];

		if (strcmp(profile_string(p, label->key), key) == 0)
			return label;
	}
	return NULL;
}

static void test_one(void **state)
{
	struct gather *g = begin_gather();
	struct gather_process *process = add_process(g, 10);
	struct gather_totals totals;
	struct profile *p;

	(void)state;
	give_maps(process, 1, LIBRARY_A PROGRAM);
	give(process, 10, 1, 1, 0x7f0000001010);
	give(process, 11, 1, 4, 0x7f0000001010);
	give(process, 11, 1, 3, 0x7f0000001010);
	give(process, 11, 1, 2, 0x7f0000001010);
	finish(process, 10, 12);
	gather_get_totals(g, &totals);
	assert_int_equal(totals.samples, 10);
	assert_int_equal(totals.lost, 2);
	assert_int_equal(totals.n_processes, 1);
	p = end(g);
	/* The name of the thread does not tell these apart; the end of the stack does. */
	assert_int_equal(p->n_samples, 3);
	assert_int_equal(p->sample_values[0], 5);
	assert_int_equal(p->sample_values[1], 5 * 5000000);
	assert_int_equal(label_of(p, 0, "pid")->num, 10);
	assert_string_equal(profile_string(p, label_of(p, 0, "comm")->str), "thread");
	assert_string_equal(profile_string(p, label_of(p, 0, "thread")->str), "thread");
	assert_null(label_of(p, 0, "stack"));
	assert_null(label_of(p, 0, "reason"));
	assert_string_equal(profile_string(p, label_of(p, 1, "stack")->str), "truncated");
	assert_string_equal(profile_string(p, label_of(p, 1, "reason")->str), "depth");
	assert_string_equal(profile_string(p, label_of(p, 2, "stack")->str), "broken");
	assert_string_equal(profile_string(p, label_of(p, 2, "reason")->str), "rule");
	assert_string_equal(path_of(p, 0, 0), "/lib/liba.so");
	assert_string_equal(path_of(p, 0, 1), "/bin/program");
	/* The program comes first, though it lies behind in the maps. */
	assert_string_equal(profile_string(p, p->mappings[0].path), "/bin/program");
	assert_int_equal(p->duration_ns, 4000);
	assert_int_equal(p->period, 10000000);
	profile_free(p);
	gather_free(g);
}

/* One library in place of another: the sample's generation tells which. */
static void test_generations(void **state)
{
	struct gather *g = begin_gather();
	struct gather_process *process = add_process(g, 10);
	struct profile *p;

	(void)state;
	/* Before anything is known. */
	give(process, 10, 1, 1, 0x7f0000001010);
	give_maps(process, 1, PROGRAM LIBRARY_A);
	give_maps(process, 2, PROGRAM);
	give_maps(process, 3, PROGRAM LIBRARY_B);
	give(process, 10, 3, 2, 0x7f0000001010);
	give(process, 10, 1, 4, 0x7f0000001020);
	/* Nothing was there then: what was there last. */
	give(process, 10, 2, 5, 0x7f0000001030);
	give(process, 10, 3, 6, 0x500000);
	finish(process, 18, 18);
	p = end(g);
	assert_int_equal(p->n_samples, 5);
	assert_string_equal(path_of(p, 0, 0), "/lib/liba.so");
	assert_string_equal(path_of(p, 1, 0), "/lib/libb.so");
	assert_string_equal(path_of(p, 2, 0), "/lib/liba.so");
	assert_string_equal(path_of(p, 3, 0), "/lib/libb.so");
	assert_string_equal(path_of(p, 4, 0), "");
	assert_int_equal(address_of(p, 4, 0), 0x500000);
	/* The program's mapping is one, through all of them. */
	assert_int_equal(p->n_mappings, 3);
	profile_free(p);
	gather_free(g);
}

/* The same library elsewhere, in another process: it is laid over the first. */
static void test_processes(void **state)
{
	struct gather *g = begin_gather();
	struct gather_process *process = add_process(g, 10), *other = add_process(g, 20);
	struct profile *p;

	(void)state;
	give_maps(process, 1, PROGRAM LIBRARY_A "600000-601000 r-xp 00000000 00:00 0 \n");
	give(process, 10, 1, 1, 0x7f0000001010);
	give(process, 10, 1, 2, 0x600010);
	finish(process, 3, 3);
	give_maps(other, 1,
		  PROGRAM "7f1111101000-7f1111103000 r-xp 00001000 08:01 77 /lib/liba.so\n"
			  "700000-701000 r-xp 00000000 00:00 0 \n");
	give(other, 20, 1, 1, 0x7f1111101010);
	give(other, 20, 1, 2, 0x700010);
	finish(other, 3, 3);
	p = end(g);
	assert_int_equal(p->n_samples, 4);
	assert_int_equal(address_of(p, 0, 0), address_of(p, 2, 0));
	assert_string_equal(path_of(p, 2, 0), "/lib/liba.so");
	assert_int_equal(label_of(p, 2, "pid")->num, 20);
	/* Memory that is no file's is not. */
	assert_int_equal(address_of(p, 1, 0), 0x600010);
	assert_int_equal(address_of(p, 3, 0), 0x700010);
	profile_free(p);
	gather_free(g);
}

/* What a process may say that is not so. */
static void test_nonsense(void **state)
{
	static const char *const texts[] = {
		"\n\n\n",
		"400000-402000 r-xp 00000000 08:01 5 /bin/program",
		"402000-400000 r-xp 00000000 08:01 5 /bin/program\n",
		"0-ffffffffffffffff r-xp 00000000 08:01 5 /all\n400000-402000 r-xp 0 08:01 5 /b\n",
		"400000-402000 r-xp\n",
		"nothing of the kind\n\xff\xfe\n",
	};
	struct gather *g = begin_gather();
	struct gather_process *process = add_process(g, 10);
	struct profile *p;

	(void)state;
	for (uint32_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		give_maps(process, i + 1, texts[i]);
		give(process, 10, i + 1, 1, 0x400010 + i);
		give(process, 10, UINT32_MAX, 1, 0);
	}
	finish(process, 12, UINT64_MAX / 16);
	p = end(g);
	assert_int_equal(profile_total(p, 0), 12);
	profile_free(p);
	gather_free(g);
}

static void test_nothing(void **state)
{
	struct gather *g = begin_gather();
	struct gather_totals totals;
	struct profile *p;

	(void)state;
	gather_process_free(add_process(g, 1));
	finish(add_process(g, 2), 0, 0);
	gather_get_totals(g, &totals);
	assert_int_equal(totals.n_processes, 1);
	assert_int_equal(totals.n_sampled, 0);
	p = end(g);
	assert_int_equal(p->n_samples, 0);
	assert_int_equal(p->n_sample_types, 2);
	profile_free(p);
	gather_free(g);
}

/* The processes that were asked about; of those below 90 there is a file. */
struct told {
	int pids[8];
	size_t n;
};

static int open_names(void *userdata, int pid, uint64_t start_ns)
{
	struct told *told = userdata;

	assert_int_equal(start_ns, 1000);
	assert_true(told->n < 8);
	for (size_t i = 0; i < told->n; i++)
		assert_int_not_equal(pid, told->pids[i]);
	told->pids[told->n++] = pid;
	return pid < 90 ? dup(0) : -1;
}

/* How many of the mappings have a file with names, and whether each file is of two of them. */
static size_t count_named(const struct gather *g, const struct profile *p, bool in_pairs)
{
	int fds[16];
	size_t n = 0;

	for (uint32_t i = 0; i < p->n_mappings; i++) {
		int fd = gather_find_names(g, i);
		size_t n_same = 0;

		if (fd < 0)
			continue;
		assert_string_equal(profile_string(p, p->mappings[i].path), "[anon]");
		assert_true(n < 16);
		fds[n++] = fd;
		for (uint32_t k = 0; k < p->n_mappings; k++)
			n_same += gather_find_names(g, k) == fd;
		assert_int_equal(n_same, in_pairs ? 2 : 1);
		assert_true(fcntl(fds[n - 1], F_GETFD) >= 0);
	}
	assert_int_equal(gather_find_names(g, p->n_mappings), -1);
	return n;
}

/* What libprofd did not tell of the kernel does, while the process runs. */
static void test_look(void **state)
{
	static const char later[] = LIBRARY_A PROGRAM
		"7f0000009000-7f000000a000 rwxp 00000000 00:00 0 \n";
	struct told told = {0};
	const struct gather_world world = {NULL, open_names, &told};
	struct gather *g = begin_in(&world);
	struct gather_process *process = add_process(g, 10);
	struct profile *p;

	(void)state;
	give_maps(process, 1, LIBRARY_A PROGRAM);
	give(process, 10, 1, 1, 0x7f0000009010);
	assert_true(gather_wants_maps(process));
	gather_update_maps(process, later, strlen(later));
	assert_false(gather_wants_maps(process));
	give(process, 10, 1, 1, 0x7f0000001010);
	assert_false(gather_wants_maps(process));
	/* Once for each address. */
	give(process, 10, 1, 1, 0x7f0000008010);
	assert_true(gather_wants_maps(process));
	gather_update_maps(process, later, strlen(later));
	give(process, 10, 1, 1, 0x7f0000008010);
	assert_false(gather_wants_maps(process));
	finish(process, 4, 4);
	p = end(g);
	assert_int_equal(p->n_samples, 3);
	assert_string_equal(path_of(p, 0, 0), "[anon]");
	assert_string_equal(path_of(p, 1, 0), "/lib/liba.so");
	assert_string_equal(path_of(p, 2, 0), "");
	assert_int_equal(p->n_mappings, 3);
	/* The program's took the place of another. */
	assert_string_equal(path_of(p, 0, 1), profile_string(p, p->mappings[0].path));
	assert_int_equal(count_named(g, p, false), 1);
	assert_int_equal(told.n, 1);
	profile_free(p);
	gather_free(g);
}

#define FIRST_CODE  "7f0000009000-7f000000a000 rwxp 00000000 00:00 0 \n"
#define SECOND_CODE "7f0000007000-7f0000008000 rwxp 00000000 00:00 0 \n"

/* What the process tells was read before what the kernel showed: code is there, not, and is. */
static void test_generated_twice(void **state)
{
	struct told told = {0};
	const struct gather_world world = {NULL, open_names, &told};
	struct gather *g = begin_in(&world);
	struct gather_process *process = add_process(g, 10);
	struct profile *p;

	(void)state;
	give_maps(process, 1, PROGRAM);
	give(process, 10, 1, 1, 0x7f0000009010);
	gather_update_maps(process, PROGRAM FIRST_CODE, strlen(PROGRAM FIRST_CODE));
	give_maps(process, 2, PROGRAM);
	give_maps(process, 3, PROGRAM FIRST_CODE SECOND_CODE);
	give(process, 10, 3, 1, 0x7f0000007010);
	give(process, 10, 3, 1, 0x7f0000009010);
	finish(process, 3, 3);
	p = end(g);
	assert_int_equal(p->n_mappings, 3);
	assert_int_equal(count_named(g, p, true), 2);
	assert_int_equal(told.n, 1);
	profile_free(p);
	gather_free(g);
}

/* Children generate code of their own at the same place; not all tell of it. */
static void test_generated_at_one_place(void **state)
{
	static const int pids[] = {10, 11, 90, 91, 12};
	struct told told = {0};
	const struct gather_world world = {NULL, open_names, &told};
	struct gather *g = begin_in(&world);
	struct profile *p;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		struct gather_process *process = add_process(g, pids[i]);

		give_maps(process, 1, PROGRAM FIRST_CODE SECOND_CODE);
		give(process, (uint32_t)pids[i], 1, 1, 0x7f0000009010);
		give(process, (uint32_t)pids[i], 1, 1, 0x7f0000007010);
		finish(process, 2, 2);
	}
	p = end(g);
	/* The program, two of each that tells, two of the others together. */
	assert_int_equal(p->n_mappings, 1 + 3 * 2 + 2);
	assert_int_equal(count_named(g, p, true), 6);
	assert_int_equal(told.n, 5);
	profile_free(p);
	gather_free(g);
}

static int open_any(void *userdata, int pid, uint64_t start_ns)
{
	(void)pid, (void)start_ns;
	++*(unsigned *)userdata;
	return dup(0);
}

/* Descriptors are not for files alone. */
static void test_generated_by_many(void **state)
{
	unsigned n = 0;
	const struct gather_world world = {NULL, open_any, &n};
	struct gather *g = begin_in(&world);
	struct profile *p;

	(void)state;
	for (int pid = 100; pid < 180; pid++) {
		struct gather_process *process = add_process(g, pid);

		give_maps(process, 1, PROGRAM FIRST_CODE);
		give(process, (uint32_t)pid, 1, 1, 0x7f0000009010);
		finish(process, 1, 1);
	}
	p = end(g);
	assert_int_equal(n, 64);
	assert_int_equal(p->n_mappings, 1 + 64 + 1);
	profile_free(p);
	gather_free(g);
}

struct asked {
	unsigned n;
	bool is_ended;
};

static int find_id(void *userdata, const char *path, uint64_t device, uint64_t inode,
		   char ret[GATHER_ID_SIZE])
{
	struct asked *asked = userdata;

	asked->n++;
	assert_true(asked->is_ended);
	assert_int_equal(device, UINT64_C(8) << 32 | 1);
	if (strcmp(path, "/lib/liba.so") == 0) {
		assert_int_equal(inode, 77);
		snprintf(ret, GATHER_ID_SIZE, "abcdef");
	}
	return 0;
}

static void test_ids(void **state)
{
	struct asked asked = {0};
	const struct gather_world world = {.find_id = find_id, .userdata = &asked};
	struct gather *g = begin_in(&world);
	struct profile *p;

	(void)state;
	for (int pid = 10; pid < 12; pid++) {
		struct gather_process *process = add_process(g, pid);

		asked.is_ended = false;
		give_maps(process, 1, LIBRARY_A PROGRAM);
		give(process, 10, 1, 1, 0x7f0000001010);
		asked.is_ended = true;
		finish(process, 1, 1);
	}
	assert_int_equal(asked.n, 2);
	p = end(g);
	assert_string_equal(profile_string(p, p->mappings[0].path), "/bin/program");
	assert_string_equal(profile_string(p, p->mappings[0].build_id), "");
	assert_string_equal(profile_string(p, p->mappings[1].build_id), "abcdef");
	profile_free(p);
	gather_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_look),
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_generations),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_generated_twice),
		cmocka_unit_test(test_generated_at_one_place),
		cmocka_unit_test(test_generated_by_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
