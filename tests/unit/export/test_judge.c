/* SPDX-License-Identifier: MIT */
/* What servers answered, and what that means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/export/target.h"
#include "common/cleanup.h"

#define OLD                                                                                    \
	"{\"code\":\"invalid_argument\",\"message\":\"profile with labels '{}' is outside of " \
	"ingestion window (profile timestamp: 2026-11-29 "
#define WINDOW " +0000 UTC, the ingestion window starts at 2026-11-29 08:45:00 +0000 UTC"

struct row {
	unsigned status;
	const char *body;
	enum export_verdict verdict;
};

static void check(const char *kind, const struct row *rows, size_t n)
{
	const struct export_target *target = export_find_target(kind);

	for (size_t i = 0; i < n; i++)
		if (target->judge(rows[i].status, rows[i].body, strlen(rows[i].body)) !=
		    rows[i].verdict)
			fail_msg("%s: %u %s", kind, rows[i].status, rows[i].body);
}

static void test_all(void **state)
{
	static const struct row rows[] = {
		{200, "", EXPORT_STORED},  {200, "{}", EXPORT_STORED},
		{204, "", EXPORT_STORED},  {302, "", EXPORT_LATER},
		{400, "", EXPORT_REFUSED}, {401, "", EXPORT_LATER},
		{403, "", EXPORT_LATER},   {404, "404 page not found", EXPORT_LATER},
		{413, "", EXPORT_REFUSED}, {415, "", EXPORT_REFUSED},
		{429, "", EXPORT_LATER},   {500, "", EXPORT_UNKNOWN},
		{501, "", EXPORT_UNKNOWN}, {502, "", EXPORT_LATER},
		{503, "", EXPORT_LATER},   {504, "", EXPORT_LATER},
		{0, "", EXPORT_UNKNOWN},   {99999, "", EXPORT_UNKNOWN},
	};

	(void)state;
	check("pyroscope", rows, ARRAY_SIZE(rows));
	check("parca", rows, ARRAY_SIZE(rows));
}

static void test_pyroscope(void **state)
{
	static const struct row rows[] = {
		{500, "rpc error: code = Unavailable desc = connection refused", EXPORT_LATER},
		{500, "{\"code\":\"unavailable\",\"message\":\"\"}", EXPORT_LATER},
		{500, "failed to parse profile: gzip: invalid header", EXPORT_UNKNOWN},
		{400, OLD "08:44:59" WINDOW " and ends at 2026-11-29 09:55:00 +0000 UTC)",
		 EXPORT_TOO_OLD},
		{400, OLD "08:44:59" WINDOW ")", EXPORT_TOO_OLD},
		{400, OLD "10:00:00" WINDOW " and ends at 2026-11-29 09:55:00 +0000 UTC)",
		 EXPORT_LATER},
		{400, OLD "10:00:00 +0000 UTC, the ingestion window ends at 2026-11-29 09:55:00)",
		 EXPORT_LATER},
		/* Cut. */
		{400, OLD, EXPORT_TOO_OLD},
		{400, OLD "10:00:00 +0000 UTC, the ingestion window starts at 2026",
		 EXPORT_TOO_OLD},
		{400, "profile series has 31 label names; limit 30", EXPORT_REFUSED},
		{415, "outside of ingestion window", EXPORT_REFUSED},
	};

	(void)state;
	check("pyroscope", rows, ARRAY_SIZE(rows));
}

static void test_parca(void **state)
{
	static const struct row rows[] = {
		{400, "read tcp 127.0.0.1:7070->127.0.0.1:4: i/o timeout", EXPORT_LATER},
		{400, "invalid profile", EXPORT_REFUSED},
		{500, "i/o timeout", EXPORT_UNKNOWN},
	};

	(void)state;
	check("parca", rows, ARRAY_SIZE(rows));
}

/* A body need not be a text. */
static void test_bytes(void **state)
{
	static const char zeroes[] = "\0\0i/o timeout\0";

	(void)state;
	assert_int_equal(export_find_target("parca")->judge(400, zeroes, sizeof(zeroes)),
			 EXPORT_LATER);
	assert_int_equal(export_find_target("parca")->judge(400, zeroes, 8), EXPORT_REFUSED);
	assert_int_equal(export_find_target("parca")->judge(400, NULL, 0), EXPORT_REFUSED);
}

static void test_kinds(void **state)
{
	size_t n = 0;

	(void)state;
	for (; export_target_at(n); n++) {
		const struct export_target *t = export_target_at(n);

		assert_ptr_equal(export_find_target(t->name), t);
		assert_true(strlen(t->name) < EXPORT_KIND_MAX && *t->path == '/');
		assert_non_null(t->content_type);
	}
	assert_true(n >= 2);
	assert_null(export_find_target(""));
	assert_null(export_find_target("parc"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),   cmocka_unit_test(test_pyroscope),
		cmocka_unit_test(test_parca), cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
