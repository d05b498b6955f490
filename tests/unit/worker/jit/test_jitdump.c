/* SPDX-License-Identifier: MIT */
/* Files made record by record, in either byte order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/random.h"
#include "tests/unit/worker/jit/jit_fixture.h"

struct dump {
	uint8_t data[16384];
	size_t length, record; /* record: where the newest begins */
	bool swap;
};

static void put_32(struct dump *d, uint32_t value)
{
	value = d->swap ? __builtin_bswap32(value) : value;
	memcpy(d->data + d->length, &value, sizeof(value));
	d->length += sizeof(value);
}

static void put_64(struct dump *d, uint64_t value)
{
	value = d->swap ? __builtin_bswap64(value) : value;
	memcpy(d->data + d->length, &value, sizeof(value));
	d->length += sizeof(value);
}

static void put_text(struct dump *d, const char *text)
{
	strcpy((char *)d->data + d->length, text);
	d->length += strlen(text) + 1;
}

static void put_header(struct dump *d, bool swap)
{
	*d = (struct dump){.swap = swap};
	put_32(d, 0x4a695444);
	put_32(d, 1);
	put_32(d, 48); /* longer than it must be */
	put_32(d, 62);
	put_32(d, 0);
	put_32(d, 7);
	put_64(d, 1);
	put_64(d, 0);
	put_64(d, UINT64_MAX);
}

static void begin(struct dump *d, uint32_t kind)
{
	d->record = d->length;
	put_32(d, kind);
	put_32(d, 0);
	put_64(d, 1);
}

static void end(struct dump *d)
{
	size_t length = d->length;

	d->length = d->record + 4;
	put_32(d, (uint32_t)(length - d->record));
	d->length = length;
}

static void put_load(struct dump *d, uint64_t start, uint64_t size, uint64_t index,
		     const char *name)
{
	begin(d, 0);
	put_32(d, 7);
	put_32(d, 7);
	put_64(d, start + 0x100000); /* vma: not what counts */
	put_64(d, start);
	put_64(d, size);
	put_64(d, index);
	put_text(d, name);
	put_text(d, "code");
	end(d);
}

static void put_move(struct dump *d, uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
	begin(d, 1);
	put_32(d, 7);
	put_32(d, 7);
	put_64(d, to);
	put_64(d, from);
	put_64(d, to);
	put_64(d, size);
	put_64(d, index);
	end(d);
}

struct line {
	uint64_t address;
	uint32_t line;
	const char *file;
};

static void put_lines(struct dump *d, uint64_t start, const struct line *lines, size_t n)
{
	begin(d, 2);
	put_64(d, start);
	put_64(d, n);
	for (size_t i = 0; i < n; i++) {
		put_64(d, lines[i].address);
		put_32(d, lines[i].line);
		put_32(d, 1);
		put_text(d, lines[i].file);
	}
	put_text(d, ""); /* padding */
	end(d);
}

static int parse(const struct dump *d)
{
	return jit_fixture_file(d->data, d->length);
}

static void expect(int fd, uint64_t address, const char *name, const char *file, uint32_t line)
{
	uint64_t start, size;

	jit_fixture_expect(fd, true, address, &(struct frame_name){name, file, line, 0}, &start,
			   &size);
}

static void test_either_byte_order(void **state)
{
	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		cleanup(closep) int j = -1;
		struct dump d;

		put_header(&d, swap);
		put_load(&d, 0x1000, 0x100, 0, "first");
		begin(&d, 4); /* unwinding information */
		put_text(&d, "whatever it says");
		end(&d);
		begin(&d, 77);
		end(&d);
		put_load(&d, 0x1080, 0x100, 1, "second");
		j = parse(&d);
		expect(j, 0x107f, "first", NULL, 0);
		expect(j, 0x1080, "second", NULL, 0);
		expect(j, 0x117f, "second", NULL, 0);
		expect(j, 0x1180, NULL, NULL, 0);
	}
}

static void test_lines(void **state)
{
	static const struct line lines[] = {{0x1000, 10, "a.js"},
					    {0x1010, 12, "\xff"},
					    {0x1020, 3, "b.js"}};
	static const struct line unsorted[] = {{0x2020, 7, "c"}, {0x2004, 6, "c"}};
	static const struct line other[] = {{0x3000, 1, "never"}};
	cleanup(closep) int j = -1;
	struct dump d;

	(void)state;
	put_header(&d, false);
	put_lines(&d, 0x1000, lines, 3);
	put_lines(&d, 0x2000, unsorted, 2);
	put_lines(&d, 0x3000, other, 1);
	put_load(&d, 0x2000, 0x40, 0, "g");
	put_load(&d, 0x1000, 0x40, 1, "f");
	/* Lines are for one load only. */
	put_load(&d, 0x4000, 0x40, 2, "h");
	put_lines(&d, 0x4000, other, 1);
	j = parse(&d);
	expect(j, 0x1000, "f", "a.js", 10);
	expect(j, 0x1010, "f", "a.js", 12);
	expect(j, 0x101f, "f", "a.js", 12);
	expect(j, 0x103f, "f", "b.js", 3);
	expect(j, 0x2000, "g", NULL, 0);
	expect(j, 0x2004, "g", "c", 6);
	expect(j, 0x203f, "g", "c", 7);
	expect(j, 0x4000, "h", NULL, 0);
	expect(j, 0x3000, NULL, NULL, 0);
}

static void test_lines_of_code_that_was_overwritten(void **state)
{
	static const struct line old[] = {{0x1000, 1, "old"}}, new[] = {{0x1020, 2, "new"}};
	cleanup(closep) int j = -1;
	struct dump d;

	(void)state;
	put_header(&d, false);
	put_lines(&d, 0x1000, old, 1);
	put_load(&d, 0x1000, 0x40, 0, "f");
	put_lines(&d, 0x1020, new, 1);
	put_load(&d, 0x1020, 0x10, 1, "g");
	j = parse(&d);
	expect(j, 0x101f, "f", "old", 1);
	expect(j, 0x1020, "g", "new", 2);
	expect(j, 0x1030, "f", "old", 1);
}

/* As V8 writes them: an ELF header's length too far. */
static void test_biased_lines(void **state)
{
	static const struct line lines[] = {{0x1040, 1, "x"}, {0x1060, 2, "x"}};
	static const struct line later[] = {{0x2050, 3, "x"}};
	cleanup(closep) int j = -1;
	struct dump d;

	(void)state;
	put_header(&d, false);
	put_lines(&d, 0x1000, lines, 2);
	put_load(&d, 0x1000, 0x30, 0, "f");
	put_lines(&d, 0x2000, later, 1);
	put_load(&d, 0x2000, 0x100, 1, "g");
	j = parse(&d);
	expect(j, 0x1000, "f", "x", 1);
	expect(j, 0x1020, "f", "x", 2);
	expect(j, 0x200f, "g", NULL, 0);
	expect(j, 0x2010, "g", "x", 3);
}

static void test_lines_that_make_no_sense(void **state)
{
	static const struct line outside[] = {{0x1000, 1, "x"}, {0x1081, 2, "x"}};
	static const struct line before[] = {{0x1fff, 1, "x"}};
	static const struct line good[] = {{0x3000, 5, "y"}};
	cleanup(closep) int j = -1;
	struct dump d;

	(void)state;
	put_header(&d, false);
	put_lines(&d, 0x1000, outside, 2);
	put_load(&d, 0x1000, 0x40, 0, "f");
	put_lines(&d, 0x2000, before, 1);
	put_load(&d, 0x2000, 0x40, 1, "g");
	put_lines(&d, 0x3000, good, 1);
	/* More lines than there is room for. */
	memset(d.data + d.record + 24, 0x7f, 4);
	put_load(&d, 0x3000, 0x40, 2, "h");
	put_lines(&d, 0x4000, good, 1);
	put_lines(&d, 0x3000, good, 1);
	put_load(&d, 0x3000, 0x20, 3, "i");
	j = parse(&d);
	expect(j, 0x1000, "f", NULL, 0);
	expect(j, 0x2000, "g", NULL, 0);
	expect(j, 0x3020, "h", NULL, 0);
	expect(j, 0x3000, "i", "y", 5);
}

static void test_moves(void **state)
{
	static const struct line late[] = {{0x8000, 3, "x"}};
	static const struct line lines[] = {{0x1000, 1, "x"}, {0x1010, 2, "x"}};
	cleanup(closep) int j = -1;
	struct dump d;

	(void)state;
	put_header(&d, false);
	put_move(&d, 0x9000, 0xa000, 0x40, 5); /* of nothing yet */
	put_lines(&d, 0x1000, lines, 2);
	put_load(&d, 0x1000, 0x40, 5, "f");
	put_load(&d, 0x6000, 0x40, 6, "g");
	put_move(&d, 0x1000, 0x2000, 0x40, 5);
	put_move(&d, 0x2000, 0x3000, 0x40, 5);
	put_load(&d, 0x1000, 0x20, 7, "h");
	put_move(&d, 0x6000, 0x3020, 0x20, 6);
	put_move(&d, 0x6000, 0x7000, 0x20, 99); /* of nothing at all */
	put_load(&d, 0x8000, 0x40, 8, "i");
	put_load(&d, 0x8000, 0, 8, "empty");
	put_move(&d, 0x8000, 0x8100, 0x40, 8);
	put_lines(&d, 0x8000, late, 1); /* of code that does not come */
	put_load(&d, 0x4000, 0x40, 9, "old");
	put_move(&d, 0x6000, 0x4020, 0x20, 100);
	j = parse(&d);
	expect(j, 0x1000, "h", NULL, 0);
	expect(j, 0x1020, "f", "x", 2);
	expect(j, 0x2000, "f", "x", 1);
	expect(j, 0x2010, "f", "x", 2);
	expect(j, 0x301f, "f", "x", 2);
	expect(j, 0x3020, "g", NULL, 0);
	expect(j, 0x6000, "g", NULL, 0);
	expect(j, 0x7000, NULL, NULL, 0);
	expect(j, 0xa000, NULL, NULL, 0);
	expect(j, 0x8100, "i", NULL, 0);
	expect(j, 0x401f, "old", NULL, 0);
	expect(j, 0x4020, NULL, NULL, 0);
}

static void test_loads_that_make_no_sense(void **state)
{
	cleanup(closep) int j = -1;
	struct dump d;

	(void)state;
	put_header(&d, false);
	put_load(&d, UINT64_MAX - 8, 8, 0, "last");
	put_load(&d, UINT64_MAX - 8, 9, 0, "wraps");
	put_load(&d, 0x1000, 0, 1, "empty");
	put_load(&d, 0x1000, 8, 2, "");
	put_load(&d, 0x1000, UINT64_MAX, 3, "huge");
	begin(&d, 0); /* too short */
	end(&d);
	begin(&d, 0); /* a name without its end */
	for (int i = 0; i < 10; i++)
		put_64(&d, 0x4141414141414141);
	end(&d);
	put_load(&d, 0x2000, 8, 4, "good");
	j = parse(&d);
	expect(j, UINT64_MAX - 1, "last", NULL, 0);
	expect(j, 0x2000, "good", NULL, 0);
	expect(j, 0x1000, NULL, NULL, 0);
}

/* Whatever is not there yet is left out. */
static void test_cut_anywhere(void **state)
{
	static const struct line lines[] = {{0x2000, 4, "x"}};
	struct dump d;
	size_t first;

	(void)state;
	put_header(&d, false);
	put_load(&d, 0x1000, 0x10, 0, "f");
	first = d.length;
	put_lines(&d, 0x2000, lines, 1);
	put_load(&d, 0x2000, 0x10, 1, "g");
	for (size_t n = 4; n <= d.length; n++) {
		cleanup(closep) int j = jit_fixture_file(d.data, n);

		expect(j, 0x1000, n >= first ? "f" : NULL, NULL, 0);
		expect(j, 0x2000, n == d.length ? "g" : NULL, n == d.length ? "x" : NULL, 4);
	}
}

static void test_the_end(void **state)
{
	cleanup(closep) int closed = -1, zeros = -1;
	struct dump d;

	(void)state;
	put_header(&d, false);
	put_load(&d, 0x1000, 0x10, 0, "f");
	begin(&d, 3);
	end(&d);
	put_load(&d, 0x2000, 0x10, 1, "g");
	closed = parse(&d);
	expect(closed, 0x1000, "f", NULL, 0);
	expect(closed, 0x2000, NULL, NULL, 0);

	put_header(&d, false);
	put_load(&d, 0x1000, 0x10, 0, "f");
	d.length += 64; /* allocated, not yet written */
	put_load(&d, 0x2000, 0x10, 1, "g");
	zeros = parse(&d);
	expect(zeros, 0x1000, "f", NULL, 0);
	expect(zeros, 0x2000, NULL, NULL, 0);
}

static int outcome(const struct dump *d)
{
	const struct jit_question question = {.is_jitdump = true};
	cleanup(jit_names_freep) struct jit_names *j = NULL;
	cleanup(closep) int fd = parse(d);

	return jit_names_new(&j, fd, &question);
}

static void test_other_files(void **state)
{
	struct dump d;

	(void)state;
	put_header(&d, false);
	d.data[0] ^= 1;
	assert_int_equal(outcome(&d), WORKER_NOT_ELF);
	put_header(&d, false);
	d.data[4] = 2; /* version */
	assert_int_equal(outcome(&d), WORKER_MALFORMED);
	put_header(&d, false);
	d.data[8] = 39; /* length */
	assert_int_equal(outcome(&d), WORKER_MALFORMED);
	memset(d.data + 8, 0xff, 4);
	assert_int_equal(outcome(&d), WORKER_DONE);
}

#define ADDRESSES 128
#define CODES     40
#define NUMBERS   6

/* What every address has been said to be, and what every number has; name 0: nothing. */
struct said {
	unsigned name, line[ADDRESSES]; /* line: by offset in the code, the same for all of it */
};

/* Loads with lines, and moves, each written down at each address. */
static void put_random_code(struct dump *d, unsigned name, uint64_t *seed, struct said *numbers,
			    unsigned (*model)[2])
{
	unsigned start = random_next(seed) % ADDRESSES, number = random_next(seed) % NUMBERS;
	unsigned size = 1 + random_next(seed) % (ADDRESSES - start), n = random_next(seed) % 4;
	struct said *said = &numbers[number];
	struct line lines[4];
	char text[200];

	if (random_next(seed) % 3) {
		*said = (struct said){.name = name};
		for (unsigned i = 0; i < n; i++) {
			unsigned offset = random_next(seed) % size;

			/* Not sorted; the first is at the start, or all would look biased. */
			offset = i ? offset : 0;
			lines[i] = (struct line){start + offset, name * 10 + i, "file"};
			for (unsigned a = offset; a < ADDRESSES; a++) {
				unsigned before = said->line[a] % 10;

				if (!said->line[a] || lines[before].address - start <= offset)
					said->line[a] = lines[i].line;
			}
		}
		if (n)
			put_lines(d, start, lines, n);
		snprintf(text, sizeof(text), "f%u-%0*d", name, 1 + random_next(seed) % 150, 0);
		put_load(d, start, size, number, text);
	} else {
		put_move(d, 0, start, size, number);
	}
	for (unsigned a = start; a < start + size; a++) {
		model[a][0] = said->name;
		model[a][1] = said->line[a - start];
	}
}

static void test_against_writing_down_each_address(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		struct said numbers[NUMBERS] = {0};
		unsigned model[ADDRESSES][2] = {0}, n = 0, n_codes = random_next(&seed) % CODES;
		cleanup(jit_names_freep) struct jit_names *j = NULL;
		struct jit_question question = {.is_jitdump = true};
		uint64_t addresses[ADDRESSES];
		cleanup(closep) int fd = -1;
		struct dump d;

		put_header(&d, round % 2);
		for (unsigned i = 1; i <= n_codes; i++)
			put_random_code(&d, i, &seed, numbers, model);
		fd = parse(&d);
		for (unsigned a = 0; a < ADDRESSES; a++)
			if (random_next(&seed) % 4 == 0)
				addresses[n++] = a;
		question.addresses = addresses;
		question.n = n;
		question.piece = JIT_INPUT_MIN + random_next(&seed) % 300;
		assert_int_equal(jit_names_new(&j, fd, &question), WORKER_DONE);
		for (unsigned i = 0; i < n; i++) {
			struct frame_name frame = {.system_name = "f0"};
			const unsigned *expected = model[addresses[i]];
			uint64_t start, size;

			assert_int_equal(jit_names_get(j, i, &frame, &start, &size), !!expected[0]);
			assert_int_equal(strtoul(frame.system_name + 1, NULL, 10), expected[0]);
			assert_int_equal(frame.line, expected[1]);
			for (uint64_t a = start; a - start < size && a < ADDRESSES; a++)
				assert_int_equal(model[a][0], expected[0]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_either_byte_order),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_lines_of_code_that_was_overwritten),
		cmocka_unit_test(test_biased_lines),
		cmocka_unit_test(test_lines_that_make_no_sense),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_loads_that_make_no_sense),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_the_end),
		cmocka_unit_test(test_other_files),
		cmocka_unit_test(test_against_writing_down_each_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
