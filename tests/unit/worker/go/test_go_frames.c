/* SPDX-License-Identifier: MIT */
#include "tests/unit/worker/go/go_frames_fixture.h"

#include <fcntl.h>

/* From -1 on: to 0 for 4 bytes, to 24 for 16, to 0 for 4 more; that is all. */
static const uint8_t ordinary[] = {2, 4, 48, 16, 47, 4, 0};
static const uint8_t misaligned[] = {2, 4, 14, 16, 0};
static const uint8_t negative[] = {2, 4, 1, 16, 0};
/* To 1 MiB, in more than one byte. */
static const uint8_t deep[] = {2, 4, 0x80, 0x80, 0x80, 1, 16, 0};
static const uint8_t cut[] = {2, 4, 48};

/* The rules of @spec's table; NULL: none. */
static struct cfi_own_rule *make(const struct pclntab_spec *spec, size_t *ret_length)
{
	struct pclntab_bytes bytes;
	struct pclntab table;
	struct cfi_own_rule *data = NULL;

	pclntab_make(spec, &bytes);
	assert_true(pclntab_parse(bytes.data, bytes.length, &table));
	assert_int_equal(go_frames_make(&table, NULL, &data, ret_length), 0);
	return data;
}

static void check_ordinary(const struct eh_frame *frame, uint64_t start)
{
	assert_true(rule_at(frame, start) == cfa_rule(0));
	assert_true(rule_at(frame, start + 3) == cfa_rule(0));
	assert_true(rule_at(frame, start + 4) == cfa_rule(24));
	assert_true(rule_at(frame, start + 19) == cfa_rule(24));
	assert_true(rule_at(frame, start + 20) == cfa_rule(0));
	assert_true(rule_at(frame, start + 23) == cfa_rule(0));
	/* Up to the next function there is nothing. */
	assert_true(rule_at(frame, start + 24) == RULE_WORD(RULE_UNKNOWN));
}

static void test_depths(void **state)
{
	static const uint32_t magics[] = {PCLNTAB_GO_1_18, PCLNTAB_GO_1_20};
	static const uint64_t starts[] = {AT, AT + 0x40};
	static const char *const names[] = {"main.main", "main.deep"};
	static const struct pclntab_frame frames[] = {{0, ordinary, sizeof(ordinary)},
						      {0, deep, sizeof(deep)}};
	struct pclntab_spec spec = spec_of(starts, names, frames, 2);

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(magics); i++) {
		cleanup(freep) struct cfi_own_rule *rules = NULL;
		struct eh_frame frame;
		size_t length;

		spec.magic = magics[i];
		rules = make(&spec, &length);
		read_behind(rules, length, NULL, 0, &frame);
		check_ordinary(&frame, AT);
		assert_true(rule_at(&frame, AT + 0x44) == RULE_WORD(RULE_ODD));
		eh_frame_deinit(&frame);
	}
}

/* The rule where a function of that name and kind has its depth of 24. */
static uint64_t rule_of(const char *name, uint8_t flags, const uint8_t *steps, size_t n_steps)
{
	const uint64_t start = AT;
	const struct pclntab_frame function = {flags, steps, n_steps};
	struct pclntab_spec spec = spec_of(&start, &name, &function, 1);
	cleanup(freep) struct cfi_own_rule *rules = NULL;
	struct eh_frame frame;
	size_t length;
	uint64_t rule;

	rules = make(&spec, &length);
	read_behind(rules, length, NULL, 0, &frame);
	rule = rule_at(&frame, AT + 8);
	eh_frame_deinit(&frame);
	return rule;
}

static void test_kinds(void **state)
{
	const uint64_t known = cfa_rule(24), unknown = RULE_WORD(RULE_UNKNOWN);

	(void)state;
	assert_true(rule_of("f", 0, ordinary, sizeof(ordinary)) == known);
	assert_true(rule_of("f", 4, ordinary, sizeof(ordinary)) == known);
	assert_true(rule_of("runtime.goexit", PCLNTAB_TOP_FRAME, ordinary, sizeof(ordinary)) ==
		    RULE_WORD(RULE_ROOT));
	assert_true(rule_of("runtime.rt0_go", PCLNTAB_TOP_FRAME | PCLNTAB_SP_WRITE, NULL, 0) ==
		    RULE_WORD(RULE_ROOT));
	assert_true(rule_of("runtime.mcall", PCLNTAB_SP_WRITE, ordinary, sizeof(ordinary)) ==
		    unknown);
	/* Signals' handlers have been called, and who called them is known by its code. */
	assert_true(rule_of("runtime.sigtramp.abi0", PCLNTAB_TOP_FRAME, ordinary,
			    sizeof(ordinary)) == known);
	assert_true(rule_of("runtime.sigreturn.abi0", 0, ordinary, sizeof(ordinary)) == unknown);
	assert_true(rule_of("f", 0, NULL, 0) == unknown);
	assert_true(rule_of("f", 0, misaligned, sizeof(misaligned)) == unknown);
	assert_true(rule_of("f", 0, negative, sizeof(negative)) == unknown);
	/* As far as it goes. */
	assert_true(rule_of("f", 0, cut, sizeof(cut)) == unknown);
}

/* Whoever looks for the restorer, by an address that is returned to, finds no rule before it. */
static void test_before_restorer(void **state)
{
	static const uint64_t starts[] = {AT, AT + 24, AT + 48};
	static const char *const names[] = {"f", "runtime.sigreturn.abi0", "g"};
	static const struct pclntab_frame frames[] = {{0, ordinary, sizeof(ordinary)},
						      {0, ordinary, sizeof(ordinary)},
						      {0, ordinary, sizeof(ordinary)}};
	const struct pclntab_spec spec = spec_of(starts, names, frames, 3);
	cleanup(freep) struct cfi_own_rule *rules = NULL;
	struct eh_frame frame;
	size_t length;

	(void)state;
	rules = make(&spec, &length);
	read_behind(rules, length, NULL, 0, &frame);
	assert_true(rule_at(&frame, AT + 22) == cfa_rule(0));
	assert_true(rule_at(&frame, AT + 23) == RULE_WORD(RULE_UNKNOWN));
	assert_true(rule_at(&frame, AT + 32) == RULE_WORD(RULE_UNKNOWN));
	check_ordinary(&frame, AT + 48);
	eh_frame_deinit(&frame);
}

static void test_no_rules(void **state)
{
	static const uint64_t start = AT;
	static const char *const name = "f", *const goexit = "runtime.goexit";
	static const struct pclntab_frame function = {0, ordinary, sizeof(ordinary)};
	struct pclntab_spec spec = spec_of(&start, &name, &function, 1);
	struct pclntab_bytes bytes;
	struct pclntab table;
	struct cfi_own_rule *rules;
	size_t length;
	cleanup(elf_image_deinit) struct elf_image image = {0};
	cleanup(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	/* Of a version that says other things elsewhere. */
	spec.magic = PCLNTAB_GO_1_16;
	spec.frames = NULL;
	assert_null(make(&spec, &length));
	assert_int_equal(length, 0);
	/* Nothing calls this one, and it does not say so: flags are elsewhere. */
	spec.magic = PCLNTAB_GO_1_20;
	spec.frames = &function;
	spec.names = &goexit;
	assert_null(make(&spec, &length));
	/* Steps behind the table's end. */
	spec.names = &name;
	pclntab_make(&spec, &bytes);
	pclntab_put(bytes.data + 8 + 6 * 8, bytes.length + 1, 8);
	assert_false(pclntab_parse(bytes.data, bytes.length, &table));
	assert_int_equal(elf_image_open(&image, fd, 0), WORKER_DONE);
	assert_int_equal(go_frames_read(&image, &rules, &length), 0);
	assert_null(rules);
}

/* C's functions have theirs in .eh_frame, Go's in the table. */
static void test_beside_eh_frame(void **state)
{
	static const uint64_t of_go = AT + 0x200, of_c = AT + 0x100, length_of_c = 24;
	/* A CIE, and an FDE with pointers of eight bytes whose depths are as those of @ordinary. */
	uint8_t of_file[] = {20, 0, 0,  0, 0,    0,    0,  0,    1, 'z',  'R',  0, 1,    0x78, 16,
			     1,  4, 12, 7, 8,    0x90, 1,  0,    0, 32,   0,    0, 0,    28,   0,
			     0,  0, 0,  0, 0,    0,    0,  0,    0, 0,    0,    0, 0,    0,    0,
			     0,  0, 0,  0, 0x44, 0x0e, 32, 0x86, 2, 0x50, 0x0e, 8, 0xc6, 0,    0};
	static const char *const name = "f";
	static const struct pclntab_frame function = {0, ordinary, sizeof(ordinary)};
	const struct pclntab_spec go = spec_of(&of_go, &name, &function, 1);
	cleanup(freep) struct cfi_own_rule *rules = NULL;
	struct eh_frame frame;
	size_t length;

	(void)state;
	rules = make(&go, &length);
	memcpy(of_file + 32, &of_c, 8);
	memcpy(of_file + 40, &length_of_c, 8);
	read_behind(rules, length, of_file, sizeof(of_file), &frame);
	check_ordinary(&frame, of_go);
	check_ordinary(&frame, of_c);
	eh_frame_deinit(&frame);
	read_behind(NULL, 0, of_file, sizeof(of_file), &frame);
	assert_true(rule_at(&frame, of_go) == RULE_WORD(RULE_UNKNOWN));
	check_ordinary(&frame, of_c);
	eh_frame_deinit(&frame);
}

/* Functions that share many steps: what is made goes by the table's size. */
static void test_shared_steps(void **state)
{
	enum { N = 40, STEPS = 600 };
	uint64_t at[N];
	const char *all[N];
	uint8_t steps[2 * STEPS + 1];
	struct pclntab_frame frames[N];
	struct pclntab_spec spec;
	size_t length;

	(void)state;
	for (unsigned i = 0; i < STEPS; i++) {
		steps[2 * i] = !i ? 2 : i % 2 ? 48 : 47;
		steps[2 * i + 1] = i % 2;
	}
	steps[sizeof(steps) - 1] = 0;
	for (unsigned i = 0; i < N; i++) {
		at[i] = AT + 0x400 * i;
		all[i] = "f";
		frames[i] = (struct pclntab_frame){0, steps, sizeof(steps)};
	}
	spec = spec_of(at, all, frames, N);
	spec.end = at[N - 1] + 0x400;
	assert_null(make(&spec, &length));
	spec.n = 4;
	free(make(&spec, &length));
	assert_true(length > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_depths),       cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_no_rules),     cmocka_unit_test(test_beside_eh_frame),
		cmocka_unit_test(test_shared_steps), cmocka_unit_test(test_before_restorer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
