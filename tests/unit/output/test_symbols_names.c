/* SPDX-License-Identifier: MIT */
/* Ranges and frames of one image's names, answers that contradict themselves included. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/output/symbols_names.h"

#define N_MAX 64

/* An answer in the making. */
struct made {
	uint64_t addresses[N_MAX];
	struct worker_location locations[N_MAX];
	struct worker_frame frames[N_MAX * 4];
	char text[8192];
	struct answer_names answer;
	uint32_t text_length;
};

static void made_init(struct made *m)
{
	memset(m, 0, sizeof(*m));
	m->text_length = 1;
	m->answer.locations = m->locations;
	m->answer.frames = m->frames;
	m->answer.text = m->text;
}

static uint32_t put_text(struct made *m, const char *text)
{
	uint32_t at = m->text_length;

	strcpy(m->text + at, text);
	m->text_length += (uint32_t)strlen(text) + 1;
	return at;
}

static void put_location(struct made *m, uint64_t address, uint64_t start, uint64_t size)
{
	m->addresses[m->answer.n_locations] = address;
	m->locations[m->answer.n_locations++] = (struct worker_location){
		.start = start, .size = size, .first_frame = m->answer.n_frames};
}

/* A frame of the last location. */
static void put_frame(struct made *m, const char *name, const char *file, uint32_t line)
{
	m->frames[m->answer.n_frames++] = (struct worker_frame){
		.name = put_text(m, name),
		.system_name = put_text(m, name),
		.file = file ? put_text(m, file) : 0,
		.line = line,
		.start_line = line / 10,
	};
	m->locations[m->answer.n_locations - 1].n_frames++;
}

static void add_made(struct symbols_names *n, const struct made *m, bool by_address)
{
	assert_int_equal(symbols_names_add(n, m->addresses, &m->answer, by_address), 0);
}

/* The name of the innermost frame: "" known to have none, NULL not known. */
static const char *name_at(const struct symbols_names *n, uint64_t address)
{
	const struct symbols_frame *frames;
	uint32_t n_frames;

	if (!symbols_names_find(n, address, &frames, &n_frames))
		return NULL;
	return n_frames ? symbols_names_text(n, frames[0].name) : "";
}

static void test_ranges(void **state)
{
	cleanup(symbols_names_freep) struct symbols_names *n = NULL;
	struct made m;

	(void)state;
	assert_int_equal(symbols_names_new(&n), 0);
	assert_null(name_at(n, 0));
	made_init(&m);
	put_location(&m, 0x1010, 0x1000, 0x100);
	put_frame(&m, "one", NULL, 0);
	put_location(&m, 0x1150, 0x1100, 0x80);
	put_location(&m, 0x2000, 0x2000, 1);
	put_frame(&m, "two", NULL, 0);
	add_made(n, &m, false);
	assert_string_equal(name_at(n, 0x1000), "one");
	assert_string_equal(name_at(n, 0x10ff), "one");
	assert_string_equal(name_at(n, 0x1100), "");
	assert_string_equal(name_at(n, 0x117f), "");
	assert_null(name_at(n, 0x1180));
	assert_null(name_at(n, 0xfff));
	assert_string_equal(name_at(n, 0x2000), "two");
	assert_null(name_at(n, 0x2001));

	/* In front of, between and behind what is there; the last address of all. */
	made_init(&m);
	put_location(&m, 0, 0, 1);
	put_frame(&m, "zero", NULL, 0);
	put_location(&m, 0x1800, 0x1700, 0x200);
	put_frame(&m, "between", NULL, 0);
	put_location(&m, UINT64_MAX, UINT64_MAX - 9, 10);
	put_frame(&m, "last", NULL, 0);
	add_made(n, &m, false);
	assert_string_equal(name_at(n, 0), "zero");
	assert_string_equal(name_at(n, 0x18ff), "between");
	assert_string_equal(name_at(n, UINT64_MAX), "last");
	assert_string_equal(name_at(n, 0x1000), "one");
	assert_null(name_at(n, UINT64_MAX - 10));
}

static void test_frames(void **state)
{
	cleanup(symbols_names_freep) struct symbols_names *n = NULL;
	const struct symbols_frame *frames;
	uint32_t n_frames, n_texts;
	struct made m;

	(void)state;
	assert_int_equal(symbols_names_new(&n), 0);
	made_init(&m);
	put_location(&m, 0x1010, 0x1000, 0x100);
	put_frame(&m, "inlined", "/src/a.h", 120);
	put_frame(&m, "outer", "/src/a.c", 30);
	add_made(n, &m, true);
	assert_null(name_at(n, 0x1011)); /* another line, perhaps */
	assert_true(symbols_names_find(n, 0x1010, &frames, &n_frames));
	assert_int_equal(n_frames, 2);
	assert_string_equal(symbols_names_text(n, frames[0].name), "inlined");
	assert_string_equal(symbols_names_text(n, frames[0].file), "/src/a.h");
	assert_int_equal(frames[0].line, 120);
	assert_int_equal(frames[0].start_line, 12);
	assert_string_equal(symbols_names_text(n, frames[1].system_name), "outer");
	n_texts = symbols_names_n_texts(n);
	assert_int_equal(n_texts, 5);

	/* Texts that are there are not kept again, whichever answer they come in. */
	made_init(&m);
	put_location(&m, 0x1011, 0x1000, 0x100);
	put_frame(&m, "outer", "/src/a.c", 31);
	put_location(&m, 0x1012, 0x1000, 0x100);
	put_frame(&m, "inlined", "/src/a.h", 121);
	add_made(n, &m, true);
	assert_int_equal(symbols_names_n_texts(n), n_texts);
	assert_true(symbols_names_find(n, 0x1012, &frames, &n_frames));
	assert_int_equal(frames[0].line, 121);
	assert_string_equal(symbols_names_text(n, frames[0].file), "/src/a.h");
}

/*
 * Whatever answers say, each address has one meaning: what was said of it, or of an address whose
 * range reached to it, first.
 */
static void test_contradictions(void **state)
{
	static const char *const texts[] = {"a", "b", "c", "d"};
	const char *known[256];

	(void)state;
	srand(1);
	for (unsigned round = 0; round < 2000; round++) {
		cleanup(symbols_names_freep) struct symbols_names *n = NULL;

		memset(known, 0, sizeof(known));
		assert_int_equal(symbols_names_new(&n), 0);
		for (unsigned i = 0; i < 6; i++) {
			uint64_t address = 0;
			bool by_address = rand() % 4 == 0;
			struct made m;

			made_init(&m);
			while ((address += (unsigned)rand() % 60) < 256) {
				uint64_t before = (unsigned)rand() % 20,
					 after = (unsigned)rand() % 20;

				if (before > address)
					before = address;
				if (address + after > 255)
					after = 255 - address;
				put_location(&m, address, address - before, before + after + 1);
				if (rand() % 3)
					put_frame(&m, texts[rand() % 4], NULL, 0);
			}
			add_made(n, &m, by_address);
			for (unsigned j = 0; j < m.answer.n_locations; j++)
				assert_non_null(name_at(n, m.addresses[j]));
			/* What was known before an addition is the same after it. */
			for (unsigned j = 0; j < 256; j++) {
				const char *now = name_at(n, j);

				if (known[j])
					assert_string_equal(now, known[j]);
				for (unsigned k = 0; now && k < 4; k++)
					if (strcmp(now, texts[k]) == 0)
						known[j] = texts[k];
				if (now && !*now)
					known[j] = "";
			}
		}
	}
}

/* Numbers of texts stay right while their table grows. */
static void test_many_texts(void **state)
{
	cleanup(symbols_names_freep) struct symbols_names *n = NULL;
	size_t bytes;

	(void)state;
	assert_int_equal(symbols_names_new(&n), 0);
	bytes = symbols_names_bytes(n);
	for (unsigned i = 0; i < 3000; i++) {
		struct made m;
		char name[32];

		made_init(&m);
		snprintf(name, sizeof(name), "function_%u", i);
		put_location(&m, i * 16, i * 16, 16);
		put_frame(&m, name, NULL, 0);
		add_made(n, &m, false);
	}
	for (unsigned i = 0; i < 3000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "function_%u", i);
		assert_string_equal(name_at(n, i * 16 + 7), name);
	}
	assert_in_range(symbols_names_bytes(n), bytes + 3000 * 40, bytes + 3000 * 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_contradictions),
		cmocka_unit_test(test_many_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
