/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/profile/cpuprofile.h"
#include "common/profile/profile.h"
#include "tests/support/says.h"

#define MAPS                                                      \
	"00400000-00402000 r-xp 00001000 08:01 17 /bin/program\n" \
	"7f0000000000-7f0000100000 r-xp 00000000 08:01 18 /lib/lib with space.so (deleted)\n"

/* A chain of the writer's, in words of 64 bits; ended by 0. */
#define CHAIN(...) ((const uint64_t[]){__VA_ARGS__})

static void set_record(struct cpuprofile_record *r, uint64_t count, const uint64_t *addresses,
		       uint32_t n)
{
	*r = (struct cpuprofile_record){.count = count, .addresses = addresses, .n_addresses = n};
}

static uint64_t word(const uint8_t *data, unsigned slot_bytes, size_t i)
{
	uint32_t half;
	uint64_t whole;

	if (slot_bytes == 4) {
		memcpy(&half, data + i * 4, 4);
		return half;
	}
	memcpy(&whole, data + i * 8, 8);
	return whole;
}

static void assert_words(const uint8_t *data, unsigned slot_bytes, const uint64_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (word(data, slot_bytes, i) != words[i])
			fail_msg("slot %zu is %#llx, not %#llx", i,
				 (unsigned long long)word(data, slot_bytes, i),
				 (unsigned long long)words[i]);
	}
}

static void write_records(struct cpuprofile_record *records, size_t n, unsigned slot_bytes,
			  uint8_t **ret, size_t *ret_length)
{
	struct cpuprofile c = {.slot_bytes = slot_bytes,
			       .period_us = 10101,
			       .records = records,
			       .n_records = n,
			       .maps = MAPS,
			       .comments = "# profd ledger 1"};

	assert_int_equal(cpuprofile_write(&c, ret, ret_length), 0);
}

static void test_layout(void **state)
{
	static const uint64_t words[] = {0,        3,        0,        10101, 0, 5, 3,
					 0x400100, 0x400201, 0x400301, 2,     1, 1, 3,
					 2,        0x400100, 0x400402, 0,     1, 0};
	cleanup(freep) uint8_t *data = NULL;
	struct cpuprofile_record records[3];
	size_t n;

	(void)state;
	for (unsigned slot_bytes = 4; slot_bytes <= 8; slot_bytes += 4) {
		set_record(&records[0], 5, CHAIN(0x400100, 0x400200, 0x400300), 3);
		set_record(&records[1], 2, CHAIN(0), 1);
		set_record(&records[2], 3, CHAIN(0x400100, 0x400401), 2);
		write_records(records, 3, slot_bytes, &data, &n);
		assert_words(data, slot_bytes, words, 20);
		assert_int_equal(n, 20 * slot_bytes + strlen(MAPS "# profd ledger 1\n"));
		assert_memory_equal(data + 20 * slot_bytes, MAPS "# profd ledger 1\n",
				    n - 20 * slot_bytes);
		free(steal_ptr(&data));
	}
}

static void test_empty(void **state)
{
	static const uint64_t words[] = {0, 3, 0, 1, 0, 0, 1, 0};
	struct cpuprofile c = {.slot_bytes = 8};
	cleanup(freep) uint8_t *data = NULL;
	size_t n;

	(void)state;
	assert_int_equal(cpuprofile_write(&c, &data, &n), 0);
	assert_int_equal(n, 64);
	assert_words(data, 8, words, 8);
}

static void test_zero_leaf_and_refusals(void **state)
{
	struct cpuprofile_record records[2];
	struct cpuprofile c = {.slot_bytes = 8, .records = records, .n_records = 2};
	cleanup(freep) uint8_t *data = NULL;
	cleanup(freep) char *line = calloc(1, 65537);
	size_t n;

	(void)state;
	set_record(&records[0], 5, CHAIN(0, 0x400200), 2);
	set_record(&records[1], 6, CHAIN(7), 1);
	assert_int_equal(cpuprofile_write(&c, &data, &n), 0);
	assert_int_equal(word(data, 8, 7), 1); /* for 0 */
	free(steal_ptr(&data));
	records[1].n_addresses = 0;
	assert_int_equal(cpuprofile_write(&c, &data, &n), -EINVAL);
	records[1].n_addresses = 1;
	records[1].count = 0;
	assert_int_equal(cpuprofile_write(&c, &data, &n), -EINVAL);
	records[1].count = 1;
	c.slot_bytes = 6;
	assert_int_equal(cpuprofile_write(&c, &data, &n), -EINVAL);
	c.slot_bytes = 4;
	memset(line, 'x', 65535);
	c.maps = line;
	assert_int_equal(cpuprofile_write(&c, &data, &n), -EINVAL);
	line[65534] = '\0';
	assert_int_equal(cpuprofile_write(&c, &data, &n), 0);
	free(steal_ptr(&data));
	records[1].count = UINT64_MAX;
	assert_int_equal(cpuprofile_write(&c, &data, &n), -EINVAL);
}

/* What go tool pprof and google-pprof do to second frames, stated again. */
struct judged {
	size_t n_records, n_chains_alike;
	size_t most; /* records that share a second frame */
	bool leaf_twice;
	bool all_the_same; /* second frames of all records, as Perl compares them */
	uint64_t count;
};

static struct judged judge(const uint8_t *data, unsigned slot_bytes)
{
	struct judged j = {.all_the_same = true};
	uint64_t seconds[256] = {0};
	size_t i = 5;

	while (word(data, slot_bytes, i)) {
		uint64_t n = word(data, slot_bytes, i + 1);

		assert_in_range(n, 1, 65536);
		assert_int_not_equal(word(data, slot_bytes, i + 2), 0);
		assert_in_range(j.n_records, 0, 255);
		j.count += word(data, slot_bytes, i);
		if (n > 1)
			assert_int_not_equal(word(data, slot_bytes, i + 3), 0);
		if (n > 1)
			seconds[j.n_records] = word(data, slot_bytes, i + 3);
		if (n > 1 && word(data, slot_bytes, i + 3) == word(data, slot_bytes, i + 2))
			j.leaf_twice = true;
		j.n_records++;
		i += 2 + n;
	}
	for (size_t a = 0; a < j.n_records; a++) {
		size_t alike = 0;

		if (!seconds[a] || seconds[a] != seconds[0])
			j.all_the_same = false;
		for (size_t b = 0; b < j.n_records && seconds[a]; b++)
			alike += seconds[a] == seconds[b];
		j.most = alike > j.most ? alike : j.most;
	}
	return j;
}

static void assert_judged(struct cpuprofile_record *records, size_t n, unsigned slot_bytes)
{
	cleanup(freep) uint8_t *data = NULL;
	uint64_t count = 0;
	struct judged j;
	size_t length;

	write_records(records, n, slot_bytes, &data, &length);
	j = judge(data, slot_bytes);
	for (size_t i = 0; i < n; i++)
		count += records[i].count;
	assert_int_equal(j.count, count);
	assert_false(j.leaf_twice);
	if (count < 2)
		return;
	assert_in_range(j.most, 0, j.n_records - j.n_records / 32 - 1);
	assert_false(j.all_the_same);
}

/* One hot loop: n records share their caller, and some do not. */
static void test_shared_callers(void **state)
{
	static const size_t sizes[] = {1, 2, 3, 31, 32, 33, 63, 64, 65, 100, 200};
	struct cpuprofile_record records[200];
	uint64_t chains[200][3];

	(void)state;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		for (size_t others = 0; others <= 4 && others < sizes[s]; others++) {
			for (size_t i = 0; i < sizes[s]; i++) {
				chains[i][0] = 0x400100 + i;
				chains[i][1] = i < others ? 0x401000 - i : 0x401000;
				chains[i][2] = 0x401800;
				set_record(&records[i], sizes[s] == 1 ? 2 : 1, chains[i],
					   i < others && i % 2 ? 1 : 3);
			}
			assert_judged(records, sizes[s], 8);
			assert_judged(records, sizes[s], 4);
		}
	}
}

/* Leaves right behind their caller's call, alone and shared. */
static void test_leaf_behind_call(void **state)
{
	struct cpuprofile_record records[40];
	uint64_t chains[40][3];

	(void)state;
	for (uint64_t distance = 0; distance < 4; distance++) {
		for (uint64_t base = 1; base <= 0x401000; base += 0x400fff) {
			for (size_t n = 1; n <= 40; n++) {
				for (size_t i = 0; i < n; i++) {
					chains[i][0] = base + distance;
					chains[i][1] = base + (i % 3 == 2);
					chains[i][2] = i;
					set_record(&records[i], 2, chains[i], 3);
				}
				assert_judged(records, n, 8);
			}
		}
	}
}

static void test_identical_chains(void **state)
{
	struct cpuprofile_record records[2];

	(void)state;
	set_record(&records[0], 1, CHAIN(0x400100, 0x400200), 2);
	set_record(&records[1], 1, CHAIN(0x400100, 0x400200), 2);
	assert_judged(records, 2, 8);
}

/* Counts that a slot of 4 bytes does not hold, and addresses that it does not. */
static void test_narrow_slots(void **state)
{
	struct cpuprofile_record records[1];

	(void)state;
	set_record(&records[0], UINT64_C(0x2fffffffe),
		   CHAIN(0xffffffff, 0xffffffff, 0xffffffffffff), 3);
	assert_judged(records, 1, 4);
}

static void read_ok(const uint8_t *data, size_t n, struct profile **ret)
{
	struct profile_message message = {""};
	int r = cpuprofile_read(data, n, ret, &message);

	assert_string_equal(message.text, "");
	assert_int_equal(r, CPUPROFILE_E_OK);
}

static void test_round_trip(void **state)
{
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct cpuprofile_record records[3];
	size_t n;

	(void)state;
	set_record(&records[0], 5, CHAIN(0x400100, 0x400200, 0x7f0000000300), 3);
	set_record(&records[1], 2, CHAIN(0x400100), 1);
	set_record(&records[2], 3, CHAIN(0x400100), 1);
	write_records(records, 3, 8, &data, &n);
	read_ok(data, n, &p);
	assert_int_equal(p->n_samples, 2);
	assert_int_equal(p->sample_values[0], 5);
	assert_int_equal(p->sample_values[2], 5);
	assert_int_equal(p->sample_values[3], 5 * 10101000);
	assert_int_equal(p->period, 10101000);
	assert_int_equal(p->samples[0].n_locations, 3);
	assert_int_equal(p->locations[p->sample_locations[1]].address, 0x400200);
	assert_int_equal(p->locations[p->sample_locations[1]].mapping, 0);
	assert_int_equal(p->locations[p->sample_locations[2]].mapping, 1);
	assert_int_equal(p->mappings[0].offset, 0x1000);
	assert_string_equal(profile_string(p, p->mappings[0].path), "/bin/program");
	assert_string_equal(profile_string(p, p->mappings[1].path),
			    "/lib/lib with space.so (deleted)");
	assert_int_equal(p->n_comments, 1);
	assert_string_equal(profile_string(p, p->comments[0]), "# profd ledger 1");
}

/* Builds a file of @n words in the given layout, with text behind it. */
static size_t lay_out(uint8_t *to, const uint64_t *words, size_t n, unsigned slot_bytes, bool big,
		      const char *text)
{
	uint8_t *at = to;

	for (size_t i = 0; i < n; i++) {
		uint64_t whole = big ? htobe64(words[i]) : htole64(words[i]);
		uint32_t half = big ? htobe32((uint32_t)words[i]) : htole32((uint32_t)words[i]);

		memcpy(at, slot_bytes == 8 ? (const void *)&whole : (const void *)&half,
		       slot_bytes);
		at += slot_bytes;
	}
	memcpy(at, text, strlen(text));
	return (size_t)(at - to) + strlen(text);
}

static void test_all_layouts(void **state)
{
	static const uint64_t words[] = {0,        5, 0,        1000,     77, 78, 79,
					 4,        2, 0x400100, 0x400201, 1,  2,  0x400100,
					 0x400201, 1, 1,        0x400300, 0,  1,  0};
	uint8_t data[1024];

	(void)state;
	for (unsigned layout = 0; layout < 4; layout++) {
		cleanup(profile_freep) struct profile *p = NULL;
		size_t n = lay_out(data, words, ARRAY_SIZE(words), layout & 1 ? 4 : 8, layout & 2,
				   MAPS);

		read_ok(data, n, &p);
		assert_int_equal(p->n_samples, 2);
		assert_int_equal(p->sample_values[0], 5);
		assert_int_equal(p->n_mappings, 2);
		assert_int_equal(p->locations[1].address, 0x400200);
	}
}

/* The chain of sample @i, as text. */
static const char *chain_text(const struct profile *p, size_t i, char text[static 256])
{
	const struct profile_sample *s = &p->samples[i];

	*text = '\0';
	for (uint32_t k = 0; k < s->n_locations; k++)
		snprintf(text + strlen(text), 256 - strlen(text), "%s%llx", k ? " " : "",
			 (unsigned long long)p
				 ->locations[p->sample_locations[s->first_location + k]]
				 .address);
	return text;
}

/* What libprofiler's handler leaves in its stacks, as go tool pprof deletes it. */
static void test_shared_callers_go(void **state)
{
	static const struct {
		uint64_t words[32];
		const char *chains[3];
	} cases[] = {
		/* One record alone has nothing but shared callers. */
		{{1, 4, 16, 33, 49, 65, 0, 1, 0}, {"10 40"}},
		{{1, 2, 16, 33, 1, 3, 17, 33, 49, 0, 1, 0}, {"10", "11 30"}},
		/* Two frames at most, and each of nearly all records. */
		{{1, 4, 16, 33, 49, 65, 1, 4, 17, 33, 49, 65, 0, 1, 0}, {"10 40", "11 40"}},
		{{1, 3, 16, 33, 49, 1, 2, 17, 34, 0, 1, 0}, {"10 20 30", "11 21"}},
		{{1, 2, 16, 33, 1, 1, 17, 0, 1, 0}, {"10 20", "11"}},
		/* Records of no samples are such, too. */
		{{1, 2, 16, 33, 0, 2, 17, 49, 0, 1, 0}, {"10 20"}},
		/* The leaf again: its address was not a call's. */
		{{1, 3, 16, 16, 33, 1, 3, 17, 49, 65, 0, 1, 0}, {"10 20", "11 30 40"}},
		{{1, 3, 16, 16, 16, 1, 1, 17, 0, 1, 0}, {"10 f", "11"}},
	};
	static const uint64_t head[] = {0, 3, 0, 1000, 0};
	uint8_t data[1024];
	char text[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup(profile_freep) struct profile *p = NULL, *own = NULL;
		size_t n = lay_out(data, head, 5, 8, false, "");
		size_t n_words = 0, n_chains = 0;

		/* Up to the trailer. */
		while (cases[i].words[n_words] || cases[i].words[n_words + 1] != 1 ||
		       cases[i].words[n_words + 2])
			n_words += 2 + cases[i].words[n_words + 1];
		n += lay_out(data + n, cases[i].words, n_words + 3, 8, false, "");
		read_ok(data, n, &p);
		for (; n_chains < 3 && cases[i].chains[n_chains]; n_chains++)
			assert_string_equal(chain_text(p, n_chains, text),
					    cases[i].chains[n_chains]);
		assert_int_equal(p->n_samples, n_chains);
		assert_string_not_equal(profile_string(p, p->drop_frames), "");
		/* profd's own files have none. */
		n += lay_out(data + n, head, 0, 8, false, "# profd ledger 1\n");
		read_ok(data, n, &own);
		assert_int_equal(own->samples[0].n_locations, cases[i].words[1]);
	}
}

/* One of 32 records may have another caller. */
static void test_nearly_shared_callers_go(void **state)
{
	(void)state;
	for (uint64_t n_others = 1; n_others <= 2; n_others++) {
		cleanup(profile_freep) struct profile *p = NULL;
		uint64_t words[5 + 63 * 4 + 3] = {0, 3, 0, 1000, 0};
		uint8_t data[sizeof(words)];

		for (uint64_t i = 0; i < 63; i++) {
			uint64_t *at = words + 5 + i * 4;

			at[0] = 1;
			at[1] = 2;
			at[2] = 0x1000 + i;
			at[3] = i < n_others ? 0x3001 : 0x2001;
		}
		words[5 + 63 * 4 + 1] = 1;
		read_ok(data, lay_out(data, words, ARRAY_SIZE(words), 8, false, ""), &p);
		assert_int_equal(p->samples[0].n_locations, 2);
		assert_int_equal(p->samples[62].n_locations, n_others == 1 ? 1 : 2);
	}
}

static void assert_line(const struct profile *p, uint32_t location, uint32_t i, const char *name,
			const char *file, int64_t number)
{
	const struct profile_line *line = &p->lines[p->locations[location].first_line + i];
	const struct profile_function *function = &p->functions[line->function];

	assert_true(i < p->locations[location].n_lines);
	assert_string_equal(profile_string(p, function->name), name);
	assert_string_equal(profile_string(p, function->filename), file);
	assert_int_equal(line->line, number);
}

static void test_java_names(void **state)
{
	static const uint64_t words[] = {0,  3,  1,  1000, 0,  3, 7, 16, 17,
					 18, 19, 20, 21,   22, 0, 1, 0};
	cleanup(profile_freep) struct profile *p = NULL;
	uint8_t data[1024];
	size_t n = lay_out(data, words, ARRAY_SIZE(words), 4, false,
			   "  0x10 com.example.A.b (A.java:42)\r\n"
			   "0x11 f(int) (/usr/lib/libjvm.so)\n"
			   "0x12 generated stub/JIT code\n"
			   "0x13 GC\n"
			   "0x14 twice\n0x14 last (B.java:-1)\n"
			   "0x99 nobody\n0x15\n16 no\n");

	(void)state;
	read_ok(data, n, &p);
	assert_int_equal(p->n_samples, 1);
	assert_line(p, 0, 0, "com.example.A.b", "A.java", 42);
	assert_line(p, 1, 0, "f(int)", "libjvm.so", 0);
	assert_line(p, 2, 0, "STUB", "", 0);
	assert_line(p, 3, 0, "GC", "", 0);
	assert_line(p, 4, 0, "last", "B.java", 0);
	assert_int_equal(p->locations[0].address, 0);
	assert_int_equal(p->locations[5].n_lines, 0);
	assert_int_equal(p->locations[5].address, 21);
	assert_int_equal(p->locations[6].n_lines, 0);
}

/* What google-pprof --raw writes: addresses are of the calls, and there is no trailer. */
static void test_symbols(void **state)
{
	static const char text[] =
		"--- symbol\nbinary=/bin/x\nodd=1\n0x0000000010 leaf<0000000000401106>\n"
		"0x20 outer(int)--a<b>--inner<00401106>\n---\n--- profile\n";
	static const uint64_t words[] = {0, 3, 0, 1, 0, 3, 2, 16, 32, 1, 2, 17, 32};
	cleanup(profile_freep) struct profile *p = NULL, *q = NULL;
	struct profile_message message = {""};
	uint8_t data[1024];
	size_t n = lay_out(data, words, 0, 8, false, text);

	(void)state;
	n += lay_out(data + n, words, ARRAY_SIZE(words), 8, false, "");
	read_ok(data, n, &p);
	assert_int_equal(p->n_samples, 2);
	assert_line(p, 0, 0, "leaf", "", 0);
	assert_line(p, 1, 0, "inner", "", 0);
	assert_line(p, 1, 1, "a<b>", "", 0);
	assert_line(p, 1, 2, "outer(int)", "", 0);
	assert_int_equal(p->locations[1].address, 32);
	assert_int_equal(p->locations[2].n_lines, 0);
	assert_string_equal(profile_string(p, p->mappings[p->locations[0].mapping].path), "/bin/x");
	n = lay_out(data, words, 0, 8, false, "--- symbol\n0x10 a\n---\n--- heap\n");
	assert_int_equal(cpuprofile_read(data, n, &q, &message), CPUPROFILE_E_MALFORMED);
	assert_says(message.text, "behind the symbols, at byte 22");
}

static void test_version_1_is_not_shifted(void **state)
{
	static const uint64_t words[] = {0, 3, 1, 1000, 0, 4, 2, 0x400100, 0x400201, 0, 1, 0};
	cleanup(profile_freep) struct profile *p = NULL;
	uint8_t data[256];

	(void)state;
	read_ok(data, lay_out(data, words, 12, 4, false, ""), &p);
	assert_int_equal(p->locations[1].address, 0x400201);
}

static void test_text(void **state)
{
	static const uint64_t words[] = {0, 3, 0, 1000, 0, 4, 2, 0x400100, 0x400201, 0, 1, 0};
	static const char text[] =
		"some noise\n"
		"  build=/root/of\n"
		" 00100000-00200000 r-xp 0 08:01 1 /not/in/column/0\n"
		"00200000-00300000 rw-p 0 08:01 1 /not/executable\n"
		"00300000-00400000 r-xp 0 08:01 1 $build/a$builder/$build_1/$build\n"
		"build=/second\n"
		"00400000-00500000 r-xp 00000000 08:01 1 $build.so\n"
		"00500000-00600000 r-xp 00000000 00:00 0\n"
		"00600000-00500000 r-xp 00000000 00:00 0 /backwards\n"
		"# profd ledger\n"
		"00700000-00800000 r-xp 00000000 00:00 0 /no/newline";
	static const char *const paths[] = {"/root/of/a$builder/$build_1//root/of", "/second.so",
					    "", "/no/newline"};
	cleanup(profile_freep) struct profile *p = NULL;
	uint8_t data[2048];

	(void)state;
	read_ok(data, lay_out(data, words, 12, 8, false, text), &p);
	assert_int_equal(p->n_mappings, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(profile_string(p, p->mappings[i].path), paths[i]);
	assert_int_equal(p->locations[0].mapping, 1);
	assert_int_equal(p->n_comments, 1);
}

static void assert_refused(const uint8_t *data, size_t n, const char *part)
{
	struct profile_message message = {""};
	struct profile *p = NULL;

	assert_int_equal(cpuprofile_read(data, n, &p, &message), CPUPROFILE_E_MALFORMED);
	assert_null(p);
	assert_says(message.text, part);
}

static void test_refusals(void **state)
{
	static const uint64_t words[] = {0, 3, 0, 1000, 0, 4, 2, 0x400100, 0x400201, 0, 1, 0};
	static const uint64_t far[] = {0, 3, 0, 1000, 0, 4, UINT64_MAX, 0x400100};
	static const uint64_t version[] = {0, 3, 2, 1000, 0, 0, 1, 0};
	cleanup(profile_freep) struct profile *p = NULL;
	uint8_t data[256];
	size_t n = lay_out(data, words, 12, 8, false, "");

	(void)state;
	assert_refused(NULL, 0, "no header");
	assert_refused((const uint8_t *)"heap profile: 1: 2 [ 3: 4] @ heapprofile", 40,
		       "no header");
	assert_refused(data, 6 * 8, "middle of a record");
	assert_refused(data, 8 * 8, "at byte 40 has 2 addresses");
	assert_refused(data, 9 * 8 + 3, "middle of a record");
	read_ok(data, 9 * 8, &p); /* no trailer, but nothing behind it */
	assert_int_equal(p->sample_values[0], 4);
	n = lay_out(data, far, 8, 8, false, "");
	assert_refused(data, n, "18446744073709551615 addresses");
	n = lay_out(data, version, 8, 8, false, "");
	assert_refused(data, n, "no header");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_zero_leaf_and_refusals),
		cmocka_unit_test(test_shared_callers),
		cmocka_unit_test(test_leaf_behind_call),
		cmocka_unit_test(test_identical_chains),
		cmocka_unit_test(test_narrow_slots),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_all_layouts),
		cmocka_unit_test(test_version_1_is_not_shifted),
		cmocka_unit_test(test_shared_callers_go),
		cmocka_unit_test(test_nearly_shared_callers_go),
		cmocka_unit_test(test_java_names),
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
