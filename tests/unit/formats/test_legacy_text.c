/* SPDX-License-Identifier: MIT */
/* gperftools' text profiles; what go tool pprof makes of them is in integration/formats-readers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/formats/any_read.h"
#include "client/formats/text_formats.h"
#include "common/cleanup.h"
#include "common/profile/profile.h"
#include "tests/support/says.h"

#define MIB ((size_t)1 << 20)

#define MAPS                                                      \
	"\nMAPPED_LIBRARIES:\n"                                   \
	"00000000-00000100 r--p 00000000 08:01 17 /bin/program\n" \
	"00000010-00000100 r-xp 00001000 08:01 17 /bin/program\n"

/* All samples: values, the label's number, addresses, and whether the first has a mapping. */
static const char *print_profile(const struct profile *p, char text[static 512])
{
	*text = '\0';
	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		char *at = text + strlen(text);

		for (uint32_t k = 0; k < p->n_sample_types; k++)
			at += sprintf(at, "%lld ",
				      (long long)p->sample_values[i * p->n_sample_types + k]);
		if (s->n_labels)
			at += sprintf(at, "[%lld] ",
				      (long long)p->sample_labels[s->first_label].num);
		for (uint32_t k = 0; k < s->n_locations; k++) {
			uint32_t l = p->sample_locations[s->first_location + k];

			at += sprintf(at, "%s%llx%s", k ? "<" : "",
				      (unsigned long long)p->locations[l].address,
				      p->locations[l].mapping == PROFILE_NONE ? "" : "*");
		}
		sprintf(at, "\n");
	}
	return text;
}

static const struct {
	const char *text, *types, *samples;
	int64_t period;
} good[] = {
	/* All is counted. */
	{"heap profile: 4: 40 [ 4: 40] @ heapprofile\n"
	 "  3: 30 [ 3: 30] @ 0x11 0x22\n"
	 " 1: 10 [1: 10] @\n" MAPS,
	 "objects/count space/bytes", "3 30 [10] 10*<21*\n1 10 [10] \n", 1},
	/* One allocation of about 512 KiB, and what was freed since. */
	{"# made by hand\nheap profile: 1: 512 [ 9: 900] @ heap_v2/524288\n"
	 "1: 512 [ 3: 1536] @ 0x111\n-1: -512 [0: 0] @ 0x11\n",
	 "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes",
	 "3073 1573632 1024 524544 [512] 110\n0 0 -1024 -524544 [512] 10\n", 524288},
	{"heap profile: 1: 512 [ 1: 512] @ heap/1048576\n1: 512 [ 1: 512] @ 0x11\n",
	 "objects/count space/bytes", "1024 524544 [512] 10\n", 524288},
	{"heap profile: 1: 5 [ 2: 9] @ growthz\n1: 5 [ 1: 5] @ 0x11\n1: 5 [ 1: 5] @ 0x11\n",
	 "objects/count space/bytes", "1 5 [5] 10\n1 5 [5] 10\n", 1},
	{"heap profile: 1: 5 [ 2: 9] @ fragmentationz\n1: 5 [ 1: 5] @ 0x11\n",
	 "objects/count space/bytes", "1 5 [5] 10\n", 1},
	{"--- contentionz 1 ---\ncycles/second = 2000000000\nsampling period = 100\n"
	 "ms since reset = 5\ndiscarded samples = 0\n  20 3 @ 0x11 0x12\n" MAPS,
	 "contentions/count delay/nanoseconds", "300 1000 10*<11*\n", 100},
	{"--- mutex:\n20 3 @ 0x11\n---\n7 7 @ 0x11\n", "contentions/count delay/nanoseconds",
	 "3 20 10\n", 1},
	{"--- threadz 1 ---\n\nsomething else\n"
	 "--- Thread 7ff6 (name: main/14748) stack: ---\n  PC: 0x20\n  0x31 0x41\n"
	 "--- Thread 7ff7 (name: t a/14749) stack: ---\n    [same as previous thread]\n"
	 "--- Thread 7ff8 (name: t/14750) stack: ---\n 0x50 0x50\n"
	 "---- no stack trace for 14751\n--- Memory map: ---\n"
	 "  00000010-00000100 r-xp 00001000 08:01 17 /bin/program\n",
	 "thread/count", "2 20<30<40\n1 50\n", 1},
	{"--- Thread 7ff6 (name: main/14748) stack: ---\n  0x20\n", "thread/count", "1 20\n", 1},
	{"goroutine profile: total 3\n1 @ 0x11 0x21\n#\t0x11\tmain.f+0x2\t/a.go:3\n\n2 @ 0x11\n",
	 "goroutine/count", "1 10<20\n2 10\n", 1},
};

static void test_kinds(void **state)
{
	char text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct profile_message message = {""};
		cleanup(profile_freep) struct profile *p = NULL;
		enum any_format format;
		char types[128] = "";

		any_read((const uint8_t *)good[i].text, strlen(good[i].text), MIB, &p, &format,
			 &message);
		assert_string_equal(message.text, "");
		assert_int_equal(format, ANY_LEGACY_TEXT);
		for (uint32_t k = 0; k < p->n_sample_types; k++)
			sprintf(types + strlen(types), "%s%s/%s", k ? " " : "",
				profile_string(p, p->sample_types[k].type),
				profile_string(p, p->sample_types[k].unit));
		assert_string_equal(types, good[i].types);
		assert_string_equal(print_profile(p, text), good[i].samples);
		assert_int_equal(p->period, good[i].period);
		assert_string_not_equal(profile_string(p, p->drop_frames), "");
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *said;
	} bad[] = {
		{"heap profile: 1: 2 [1: 2] @ heapprofile\n1: 2 @ 0x1\n", "line 2 (byte 40)"},
		{"heap profile: 1: 2 [1: 2] @ heapprofile\n0: 2 [0: 2] @ 0x1\n", "no objects"},
		{"heap profile: 1: 2 [1: 2] @ heapprofile\n1: 2 [1: 2] @ 0x\n", "an address"},
		{"heap profile: 1: 2 @ heapprofile\n", "line 1 (byte 0)"},
		{"heap profile: 1: 2 [1: 2] @ heapster\n", "of a kind that is not known"},
		{"heap profile: 1: 2 [1: 2] @ heap_v2/x\n", "without a sampling rate"},
		{"--- contentionz 1 ---\nformat = java\n", "a Java agent"},
		{"--- contentionz 1 ---\nsampling period = x\n", "not a number"},
		{"--- contentionz 1 ---\ncolour = 1\n", "an attribute"},
		{"--- contentionz 1 ---\n1 @ 0x1\n", "line 2"},
		{"goroutine profile: total 3\nrunning\n", "line 2"},
		{"--- heapz 1 ---\nformat = java\n", "a Java agent"},
		{"heap_v2/524288\n  t*: 1: 2 [0: 0]\n", "jemalloc"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct profile_message message = {""};
		struct profile *p = NULL;
		enum any_format format;

		assert_int_equal(any_read((const uint8_t *)bad[i].text, strlen(bad[i].text), MIB,
					  &p, &format, &message),
				 ANY_E_MALFORMED);
		assert_says(message.text, bad[i].said);
	}
}

/* Numbers at their ends. */
static void test_extremes(void **state)
{
	static const char text[] = "heap profile: 1: 2 [1: 2] @ heap_v2/9223372036854775807\n"
				   "1: 1 [ 1: 1] @ 0x0\n"
				   "-1: -9223372036854775808 [0: 0] @ 0xffffffffffffffff\n"
				   "9223372036854775807: 1 [0: 0] @\n";
	struct profile_message message = {""};
	cleanup(profile_freep) struct profile *p = NULL;
	char printed[512];

	(void)state;
	assert_int_equal(legacy_text_read((const uint8_t *)text, strlen(text), &p, &message), 0);
	assert_string_equal(print_profile(p, printed),
			    "9223372036854775807 9223372036854775807 [1] 0\n"
			    "-1 -9223372036854775808 [9223372036854775807] fffffffffffffffe\n"
			    "9223372036854775807 9223372036854775807 [0] \n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
