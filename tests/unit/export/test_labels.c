/* SPDX-License-Identifier: MIT */
/* The labels of a series. */
#include "client/export/labels.h"

#include "tests/unit/export/window_fixture.h"

static void send_one(const char *kind, const struct export_scope *scope, struct sent *ret)
{
	static const struct use use = {{"leaf"}, "a thread", 7, 3};

	window_send(kind, window_of(&use, 1), scope, ret);
	assert_int_equal(ret->n, 1);
}

static void test_list(void **state)
{
	const struct export_scope scope = {
		.service = "s",
		.labels = " env = test , service_name=other,,=x,empty=,no value,a.b-c=d=e,9=nine",
		.keep = "thread",
	};
	cleanup(sent_deinit) struct sent s = {0};

	(void)state;
	send_one("pyroscope", &scope, &s);
	assert_label(&s.all[0], "env", "test");
	assert_label(&s.all[0], "service_name", "other");
	assert_label(&s.all[0], "a_b_c", "d=e");
	assert_label(&s.all[0], "_9", "nine");
	assert_label(&s.all[0], "thread", "a thread");
	assert_label(&s.all[0], "hostname", NULL);
	assert_int_equal(s.all[0].n_labels, 6);
}

/* Kept labels are those of samples, whatever the configuration calls so. */
static void test_order(void **state)
{
	const struct export_scope scope = {.service = "s",
					   .labels = "thread=configured",
					   .keep = "thread"};
	cleanup(sent_deinit) struct sent s = {0};

	(void)state;
	send_one("parca", &scope, &s);
	assert_label(&s.all[0], "thread", "a thread");
}

static void test_hostile(void **state)
{
	cleanup(sent_deinit) struct sent s = {0}, json = {0};
	struct export_scope scope = {.service = "\xff\"\\\n</script>\x01", .host = "h"};
	char value[5000];

	(void)state;
	memset(value, 'v', sizeof(value));
	memcpy(value, "long=", 5);
	memcpy(value + 5 + 2047, "\xc3\xa4", 2);
	value[sizeof(value) - 1] = '\0';
	scope.labels = value;
	send_one("pyroscope", &scope, &s);
	assert_int_equal(strlen(sent_label(&s.all[0], "long")), 2047);
	assert_label(&s.all[0], "service_name", "\xef\xbf\xbd\"\\\n</script>\x01");
	send_one("parca", &scope, &json);
	assert_label(&json.all[0], "service_name", "\xef\xbf\xbd\"\\\n</script>\x01");
}

/* The first ones, of which those of the service are. */
static void test_many(void **state)
{
	struct export_scope scope = {.service = "s", .host = "h"};
	cleanup(sent_deinit) struct sent s = {0};
	char list[1000] = "";

	(void)state;
	for (int i = 0; i < 40; i++)
		sprintf(list + strlen(list), "l%02d=x,", i);
	scope.labels = list;
	send_one("pyroscope", &scope, &s);
	assert_int_equal(s.all[0].n_labels, 30);
	assert_label(&s.all[0], "service_name", "s");
	assert_label(&s.all[0], "l26", "x");
	assert_label(&s.all[0], "l27", NULL);
}

static void test_word(void **state)
{
	static const struct {
		const char *text;
		size_t max;
		const char *word;
	} rows[] = {
		{"", 9, ""},      {"a", 9, "a"},     {"a.b:\xc3\xa4", 9, "a_b___"},
		{"12", 9, "_12"}, {"123", 3, "_12"}, {"abcd", 3, "abc"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup(freep) char *word = export_text_word(
			(struct span){rows[i].text, strlen(rows[i].text)}, rows[i].max);

		assert_string_equal(word, rows[i].word);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),    cmocka_unit_test(test_order),
		cmocka_unit_test(test_hostile), cmocka_unit_test(test_many),
		cmocka_unit_test(test_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
