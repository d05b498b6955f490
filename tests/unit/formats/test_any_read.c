/* SPDX-License-Identifier: MIT */
/* Formats told apart by content, and those that are read here alone: perf script, collapsed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "client/formats/any_read.h"
#include "client/formats/text_formats.h"
#include "common/cleanup.h"
#include "common/profile/cpuprofile.h"
#include "common/profile/image_profile.h"
#include "common/profile/profile.h"

#define MIB ((size_t)1 << 20)

static struct profile *read_text(const char *text, enum any_format expected)
{
	struct profile_message message = {""};
	struct profile *p = NULL;
	enum any_format format;
	int r = any_read((const uint8_t *)text, strlen(text), MIB, &p, &format, &message);

	if (r)
		fail_msg("%s", message.text);
	assert_int_equal(format, expected);
	return p;
}

static void refuse_text(const char *text, const char *why)
{
	struct profile_message message = {""};
	struct profile *p = NULL;
	enum any_format format;

	assert_int_equal(any_read((const uint8_t *)text, strlen(text), MIB, &p, &format, &message),
			 ANY_E_MALFORMED);
	if (!strstr(message.text, why))
		fail_msg("'%s' instead of '%s'", message.text, why);
}

/* Of the first value, which counts samples. */
static void assert_collapsed(struct profile *p, const char *expected)
{
	cleanup(freep) char *text = NULL;
	size_t length;

	p->default_sample_type = p->sample_types[0].type;
	assert_int_equal(collapsed_write(p, &text, &length), 0);
	assert_string_equal(text, expected);
}

/* The label @key of sample @i: its number, or the text in *ret_text. */
static int64_t label(const struct profile *p, size_t i, const char *key, const char **ret_text)
{
	const struct profile_sample *s = &p->samples[i];

	for (uint32_t j = 0; j < s->n_labels; j++) {
		const struct profile_label *l = &p->sample_labels[s->first_label + j];

		if (strcmp(profile_string(p, l->key), key) != 0)
			continue;
		if (ret_text)
			*ret_text = profile_string(p, l->str);
		return l->num;
	}
	return -1;
}

/* --- collapsed -------------------------------------------------------------------------------- */

static void test_collapsed_comes_back(void **state)
{
	static const char text[] = "a b;c;d 7\na b;e (f, g) 3\nmain 12\n";
	struct profile *p = read_text(text, ANY_COLLAPSED);

	(void)state;
	assert_int_equal(profile_total(p, 0), 22);
	assert_int_equal(p->n_samples, 3);
	assert_collapsed(p, text);
	profile_free(p);
}

static void test_collapsed_takes_what_others_write(void **state)
{
	struct profile *p = read_text("# made by hand\r\n\r\n  a;b\t2  \r\n;a;;b 3\n\n",
				      ANY_COLLAPSED);

	(void)state;
	assert_collapsed(p, "a;b 5\n");
	profile_free(p);
	p = read_text("#!/bin/sh\na;b 5\n#cpu/ms\n", ANY_COLLAPSED);
	assert_collapsed(p, "a;b 5\n");
	profile_free(p);
}

/* Editors put it there; it is no part of the first name. */
static void test_mark_of_utf8(void **state)
{
	struct profile *p = read_text("\xef\xbb\xbf"
				      "a;b 5\n",
				      ANY_COLLAPSED);

	(void)state;
	assert_collapsed(p, "a;b 5\n");
	profile_free(p);
	p = read_text("\xef\xbb\xbf# made by perf\nsh 9 1.5: 7 cycles: \n\t 7f01 f (/x)\n",
		      ANY_PERF_SCRIPT);
	assert_collapsed(p, "f 1\n");
	profile_free(p);
	/* A name of blanks is none. */
	p = read_text("; ; 7\n", ANY_COLLAPSED);
	assert_collapsed(p, "0x0 7\n");
	profile_free(p);
	/* Behind a blank it is a name, which must not be lost when it is written. */
	p = read_text(" \xef\xbb\xbf 5\n", ANY_COLLAPSED);
	assert_collapsed(p, "? 5\n");
	profile_free(p);
	refuse_text("\xef\xbb\xbfhello\n", "line 1 (byte 3)");
	refuse_text("\xef\xbb\xbf", "no stacks");
}

static void assert_remark(const char *text, const char *remark, const char *collapsed)
{
	struct profile_message message = {"before"};
	cleanup(profile_freep) struct profile *p = NULL;
	enum any_format format;

	assert_int_equal(any_read((const uint8_t *)text, strlen(text), MIB, &p, &format, &message),
			 0);
	assert_string_equal(message.text, remark);
	assert_collapsed(p, collapsed);
}

static void test_collapsed_fractions(void **state)
{
	(void)state;
	assert_remark("a 1.\nb 2.0\n", "", "a 1\nb 2\n");
	assert_remark("a 1.5\nb 0.4\nc -1.5\nd -0.6\n e 3\n",
		      "fractional counts are rounded (4 of 5): 2 in all, not 2.8",
		      "a 2\nc -2\nd -1\ne 3\n");
}

static void test_collapsed_differential(void **state)
{
	static const char text[] = "a;b 3 5\na;c 0 7\n# made by hand\n\n";
	static const char remark[] = "two counts a stack: the second are the samples; "
				     "--sample_index=before shows the first";
	struct profile *p = read_text(text, ANY_COLLAPSED);

	(void)state;
	assert_int_equal(p->n_sample_types, 2);
	assert_int_equal(profile_total(p, 0), 3);
	assert_int_equal(profile_total(p, 1), 12);
	assert_string_equal(profile_string(p, p->sample_types[1].type), "samples");
	profile_free(p);
	assert_remark(text, remark, "#before/count\na;b 3\n");
	/* One name may end in a number. */
	assert_remark("a;b 3 5\na;c 7\n", "", "a;b 3 5\na;c 7\n");
}

static void test_collapsed_refuses(void **state)
{
	(void)state;
	refuse_text("a;b 1\nhello\n", "line 2 (byte 6)");
	refuse_text("a;b 1\nhello world\n", "line 2 (byte 6)");
	refuse_text("a;b 1.5.5\n", "line 1 (byte 0)");
	refuse_text("a;b .5\n", "line 1 (byte 0)");
	refuse_text("a;b 1.x\n", "line 1 (byte 0)");
	refuse_text("a 99999999999999999999\n", "line 1");
	refuse_text("a 9223372036854775808\n", "line 1");
	refuse_text("7\n", "line 1");
	refuse_text("\n\n", "no stacks");
}

/* --- perf script ------------------------------------------------------------------------------ */

static const char chains[] =
	"# captured on: today\n"
	"my prog 3  812/813  [001]  4711.123456:     101010 cpu-clock:pppH: \n"
	"\tffffffff81000010 do_syscall_64+0x10 ([kernel.kallsyms])\n"
	"\t    55d000001234 inner(int) (inlined)\n"
	"\t    55d000001234 outer(std::vector<int>&)+0x34 (/opt/my prog (deleted))\n"
	"\t    55d000001000 [unknown] (/opt/my prog (deleted))\n"
	"\t    7f0000000001 [unknown] ([unknown])\n"
	"  src.c:12\n"
	"\n"
	"sh  9 [000]     1.000001:          5 page-faults: \n"
	"\t    7f0000000001 main+0xff (/bin/sh)\n"
	"\n"
	"sh  9 [000]     1.000002:          5 page-faults: \n"
	"\t    7f0000000001 main+0xff (/bin/sh)\n";

static void test_perf_script(void **state)
{
	struct profile *p = read_text(chains, ANY_PERF_SCRIPT);
	const struct profile_location *l;
	const char *comm;

	(void)state;
	assert_int_equal(p->n_sample_types, 3);
	assert_string_equal(profile_string(p, p->sample_types[1].type), "cpu");
	assert_string_equal(profile_string(p, p->sample_types[1].unit), "nanoseconds");
	assert_string_equal(profile_string(p, p->sample_types[2].type), "page-faults");
	assert_int_equal(profile_total(p, 0), 3);
	assert_int_equal(profile_total(p, 1), 101010);
	assert_int_equal(profile_total(p, 2), 10);
	assert_int_equal(p->n_samples, 2);
	assert_int_equal(label(p, 0, "pid", NULL), 812);
	assert_int_equal(label(p, 0, "tid", NULL), 813);
	label(p, 0, "comm", &comm);
	assert_string_equal(comm, "my prog 3");
	assert_int_equal(label(p, 1, "pid", NULL), -1);
	assert_int_equal(label(p, 1, "tid", NULL), 9);
	assert_int_equal(p->samples[0].n_locations, 4);
	l = &p->locations[p->sample_locations[p->samples[0].first_location + 1]];
	assert_int_equal(l->n_lines, 2);
	assert_true(l->address == 0x55d000001234);
	assert_string_equal(profile_string(p, p->mappings[l->mapping].path), "/opt/my prog");
	assert_collapsed(p, "0x7f0000000001;my prog+0x55d000001000;outer(std::vector<int>&);"
			    "inner(int);do_syscall_64 1\n"
			    "main 2\n");
	profile_free(p);
}

static void test_perf_script_without_chains(void **state)
{
	struct profile *p = read_text(
		"            node  44 [003] 1.5: 250000 cycles:u:   7f01 operator() (int)+0x3 "
		"(/x)\n"
		"          node   44 [003] 1.6: 1 cycles:u:  ffffffff9 [unknown] ([unknown])\n",
		ANY_PERF_SCRIPT);

	(void)state;
	assert_int_equal(profile_total(p, 0), 2);
	assert_int_equal(profile_total(p, 1), 250001);
	assert_collapsed(p, "0xffffffff9 1\noperator() (int) 1\n");
	profile_free(p);
}

/* What the process was called after is the program, though others came first. */
static void test_perf_script_program(void **state)
{
	struct profile *p = read_text("a_long_name_that 4 1.5: 1 cycles: \n"
				      "\t 10 f (/lib/libc.so.6)\n"
				      "\t 20 main (/opt/a_long_name_tha)\n\n"
				      "a_long_name_tha 4 1.6: 1 cycles: \n"
				      "\t 10 f (/lib/libc.so.6)\n"
				      "\t 20 main (/opt/a_long_name_that_is_cut)\n",
				      ANY_PERF_SCRIPT);

	(void)state;
	assert_string_equal(profile_string(p, p->mappings[0].path), "/opt/a_long_name_that_is_cut");
	assert_collapsed(p, "main;f 2\n");
	profile_free(p);
}

static void test_perf_script_refuses(void **state)
{
	char many[4096] = "";

	(void)state;
	for (unsigned i = 0; i < PROFILE_TYPES_MAX; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), "a 1 1.5: e%u:\n", i);
	refuse_text(many, "line 16");
}

/* A header may be longer than what tells other formats. */
static void test_perf_script_long_header(void **state)
{
	cleanup(freep) char *text = calloc(1, 9000);

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		strcat(text,
		       "# event : name = cycles, , id = { 550, 551, 552, 553 }, size = 112\n");
	assert_true(strlen(text) > ANY_HEAD_BYTES);
	strcat(text, "#\nsh 9 1.5: 7 cycles: \n\t 7f01 f (/x)\n");
	profile_free(read_text(text, ANY_PERF_SCRIPT));
}

/* Mappings, tasks and the like are no samples, wherever they are. */
static void test_perf_script_records(void **state)
{
	struct profile *p = read_text(
		"sh     0     0.000000: PERF_RECORD_MMAP -1/0: [0xff(0x12) @ 0xff]: x [kernel]\n"
		"sh 27/28 PERF_RECORD_MMAP2 27/28: [0x55(0x13) @ 0x40 fe:00 2470 0]: r-xp /bin/d\n"
		"sh    28     1.1: PERF_RECORD_COMM: sh:28/28\n"
		"sh 28 1.2: PERF_RECORD_NAMESPACES 28/28 - nr_namespaces: 7\n"
		"\t\t[0/net: 3/0xf0, 1/uts: 3/0xfe, 2/ipc: 3/0xff\n"
		"sh    28     1.5:          7 cycles: \n"
		"\t           5cf47 f (/x)\n\n"
		"sh    28     1.6: PERF_RECORD_EXIT(28:28):(28:28)\n"
		"sh    28 PERF_RECORD_COMM exec: sh:28/28\n"
		"sh    28     1.7:          7 cycles: \n"
		"\t           5cf47 f (/x)\n",
		ANY_PERF_SCRIPT);

	(void)state;
	assert_int_equal(p->n_sample_types, 2);
	assert_int_equal(profile_total(p, 1), 14);
	assert_collapsed(p, "f 2\n");
	profile_free(p);
}

static void test_perf_script_fields(void **state)
{
	static const struct {
		const char *text, *collapsed;
		int64_t pid, tid, total; /* of the last type */
		const char *comm, *type;
	} cases[] = {
		/* As perf printed up to Linux 3.2. */
		{"V8 Work 5 4242 cpu-clock: \n\t 7f01 [unknown] (/tmp/perf-1.map)\n\t 9 g (/x)\n\n"
		 "V8 Work 5 4242 cpu-clock: \n\t 7f01 [unknown] (/tmp/perf-1.map)\n\t 9 g (/x)\n\n",
		 "g;perf-1.map+0x7f01 2\n", -1, 4242, 2, "V8 Work 5", "cpu-clock"},
		/* As editors and mails leave it. */
		{"\njava 19 cycles:\nff01 a ([k])\n7f72 b::c(d) const (/lib/e.so)\n7f [unknown] "
		 "([unknown])\n",
		 "0x7f;b::c(d) const;a 1\n", -1, 19, 1, "java", "cycles"},
		{"dd 27/28 \n\t           5cf47 f (/x)\n  x.c:239\n\t           9f g (/x)\n\n",
		 "g;f 1\n", 27, 28, 1, "dd", "samples"},
		{"dd \n\t           5cf47 f\n\n", "f 1\n", -1, -1, 1, "dd", "samples"},
		{"\n\t           5cf47 f\n\n\n\t           5cf47 f\n\n", "f 2\n", -1, -1, 2, "",
		 "samples"},
		{"3581.6: \n\t           5cf47 f\n", "f 1\n", -1, -1, 1, "", "samples"},
		{"cycles:u: \n\t           5cf47 f\n", "f 1\n", -1, -1, 1, "", "cycles:u"},
		{"sh 28 [003]   10101010 cpu-clock: \n\t           5cf47 f\n", "f 1\n", -1, 28,
		 10101010, "sh", "cpu"},
		{"sh 28 10101010 cpu-clock: \n\t           5cf47 f\n", "f 1\n", -1, 28, 10101010,
		 "sh", "cpu"},
		{"sh 27/28 4 e: \n\t           5cf47 f\n", "f 1\n", 27, 28, 4, "sh", "e"},
		{"sh 28 U     3581.6:  7 e: \n\t           5cf47 f\n", "f 1\n", -1, 28, 7, "sh",
		 "e"},
		{"sh 28 [003] KH     3581.6:  7 e: \n\t           5cf47 f\n", "f 1\n", -1, 28, 7,
		 "sh", "e"},
		/* What a tracepoint says may end in a number. */
		{"sh 28 [003] 3581.6: ext4:x: dev 8,1 ino 12\n", "[unknown] 1\n", -1, 28, 1, "sh",
		 "ext4:x"},
		/* Without call chains. */
		{"     dd 27/28    7fbb1681 f (/x)\n     dd 27/28    7fbb1681 f (/x)\n", "f 2\n",
		 27, 28, 2, "dd", "samples"},
		{"     sh 28 cycles:  7fbb1681 f\n     sh 28 cycles:  7fbb1681 f\n", "f 2\n", -1,
		 28, 2, "sh", "cycles"},
		{"    7fbb16810f47 f (/x)\n    7fbb16810f47 f (/x)\n", "f 2\n", -1, -1, 2, "",
		 "samples"},
		{"\t           5cf47 f (/x/)\n", "f 1\n", -1, -1, 1, "", "samples"},
		{"3581.6:     7fbb16810f47 f (/x)\n", "f 1\n", -1, -1, 1, "", "samples"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct profile *p = read_text(cases[i].text, ANY_PERF_SCRIPT);
		const char *comm = "";

		assert_collapsed(p, cases[i].collapsed);
		assert_int_equal(label(p, 0, "pid", NULL), cases[i].pid);
		assert_int_equal(label(p, 0, "tid", NULL), cases[i].tid);
		label(p, 0, "comm", &comm);
		assert_string_equal(comm, cases[i].comm);
		assert_string_equal(profile_string(p, p->sample_types[p->n_sample_types - 1].type),
				    cases[i].type);
		assert_int_equal(profile_total(p, p->n_sample_types - 1), cases[i].total);
		profile_free(p);
	}
}

/* Collapsed stacks and prose that look a little like it. */
static void test_not_perf_script(void **state)
{
	(void)state;
	profile_free(read_text("main 5 b: 12\nmain 5 b: 12\n", ANY_COLLAPSED));
	profile_free(read_text("main;add b 12\n", ANY_COLLAPSED));
	profile_free(read_text("main 12\nadd (x) 4\n", ANY_COLLAPSED));
	refuse_text("A list of things:\n  a bad idea\n  another\n", "line 1");
}

/* What is no text to C, or none to UTF-8. */
static void test_odd_bytes(void **state)
{
	static const char collapsed[] = "a\0b;\xff 3\n",
			  script[] = "p\0 9 1.5: 7 e\0:\n\t 7f a\0 (/x)\n";
	struct profile_message message = {""};
	struct profile *p = NULL;
	enum any_format format;

	(void)state;
	assert_int_equal(any_read((const uint8_t *)collapsed, sizeof(collapsed) - 1, MIB, &p,
				  &format, &message),
			 0);
	assert_collapsed(p, "a\xef\xbf\xbd"
			    "b;\xff 3\n");
	profile_free(p);
	assert_int_equal(any_read((const uint8_t *)script, sizeof(script) - 1, MIB, &p, &format,
				  &message),
			 0);
	assert_int_equal(format, ANY_PERF_SCRIPT);
	assert_collapsed(p, "a\xef\xbf\xbd 1\n");
	profile_free(p);
}

static void test_other_files(void **state)
{
	(void)state;
	refuse_text("PERFILE2\1\2\3", "perf script -i");
	refuse_text("\177ELF\2\1\1", "a program or a library");
	refuse_text("{\"shared\":{\"frames\":[]}}\n", "speedscope");
	refuse_text("<!DOCTYPE html>\n<html>\n", "a page");
	refuse_text("%PDF-1.5\n%\xd0\xd4\xc5\xd8\n4 0 obj\n", "a document");
	refuse_text("PK\3\4\n", "an archive");
	refuse_text("\x28\xb5\x2f\xfd\4\x88", "zstd -d FILE");
	refuse_text("\xfd"
		    "7zXZ",
		    "xz -d FILE");
	refuse_text("BZh91AY&SY\x4e\xac", "bzip2 -d FILE");
	profile_free(read_text("BZh;f 3\n", ANY_COLLAPSED));
	profile_free(read_text("{main};f 3\n", ANY_COLLAPSED)); /* PHP's */
}

/* --- telling them apart ----------------------------------------------------------------------- */

static void test_image_profile(void **state)
{
	cleanup(image_profile_freep) struct image_profile *image = NULL;
	const struct image_profile_count counts[] = {{16, 3}, {32, 4}};
	struct profile_message message;
	cleanup(freep) uint8_t *data = NULL;
	struct profile *p = NULL;
	enum any_format format;
	size_t length;

	(void)state;
	assert_int_equal(image_profile_new(&image), 0);
	image->image = strdup("00ab");
	image->epoch = strdup("2611220900");
	image->platform = strdup("h");
	image->event = strdup("cpu-clock");
	image->path = strdup("/bin/x");
	image->period = 1000;
	image->tstart = 0x400000;
	image->tsize = 4096;
	assert_int_equal(image_profile_add(image, counts, 2), 0);
	assert_int_equal(image_profile_write(image, &data, &length), 0);
	assert_int_equal(any_read(data, length, MIB, &p, &format, &message), 0);
	assert_int_equal(format, ANY_IMAGE_PROFILE);
	assert_int_equal(profile_total(p, 0), 7);
	assert_int_equal(profile_total(p, 1), 7000);
	assert_true(p->locations[0].address == 0x400010);
	assert_true(profile_is_whole_mapping(&p->mappings[0]));
	assert_string_equal(profile_string(p, p->mappings[0].path), "/bin/x");
	assert_string_equal(profile_string(p, p->mappings[0].build_id), "00ab");
	profile_free(p);
}

static void test_gzip_of_anything(void **state)
{
	uint8_t packed[512];
	struct profile_message message;
	struct profile *p = NULL;
	enum any_format format;
	z_stream z = {0};

	(void)state;
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (z_const Bytef *)(uintptr_t) "a;b 3\n";
	z.avail_in = 6;
	z.next_out = packed;
	z.avail_out = sizeof(packed);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	assert_int_equal(any_read(packed, z.total_out, MIB, &p, &format, &message), 0);
	assert_int_equal(format, ANY_COLLAPSED);
	assert_int_equal(profile_total(p, 0), 3);
	profile_free(p);
	assert_int_equal(any_read(packed, z.total_out, 4, &p, &format, &message), ANY_E_TOO_BIG);
	assert_int_equal(any_read(packed, z.total_out - 9, MIB, &p, &format, &message),
			 ANY_E_MALFORMED);
	assert_non_null(strstr(message.text, "gzip"));
}

static void test_formats(void **state)
{
	static const uint8_t legacy[16] = {0};

	(void)state;
	assert_int_equal(any_format_of(legacy, sizeof(legacy)), ANY_CPUPROFILE);
	assert_int_equal(any_format_of((const uint8_t *)"\x0a\x04\x08\x01\x10\x02", 6), ANY_PPROF);
	assert_int_equal(any_format_of((const uint8_t *)"PERFILE2\x68\0\0", 11), ANY_NONE);
	refuse_text("", "empty");
	refuse_text("\x0a\x7f\x08", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_collapsed_comes_back),
		cmocka_unit_test(test_collapsed_takes_what_others_write),
		cmocka_unit_test(test_collapsed_refuses),
		cmocka_unit_test(test_collapsed_fractions),
		cmocka_unit_test(test_collapsed_differential),
		cmocka_unit_test(test_mark_of_utf8),
		cmocka_unit_test(test_perf_script),
		cmocka_unit_test(test_perf_script_without_chains),
		cmocka_unit_test(test_perf_script_long_header),
		cmocka_unit_test(test_perf_script_records),
		cmocka_unit_test(test_perf_script_fields),
		cmocka_unit_test(test_not_perf_script),
		cmocka_unit_test(test_odd_bytes),
		cmocka_unit_test(test_other_files),
		cmocka_unit_test(test_perf_script_program),
		cmocka_unit_test(test_perf_script_refuses),
		cmocka_unit_test(test_image_profile),
		cmocka_unit_test(test_gzip_of_anything),
		cmocka_unit_test(test_formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
