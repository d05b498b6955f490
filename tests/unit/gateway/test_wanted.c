/* SPDX-License-Identifier: MIT */
/* What is made of whatever answers at profd's socket. */
#include "tests/unit/gateway/fake_profd.h"

#include "client/gateway/debuginfo.h"
#include "tests/support/says.h"

static int ask(struct fake_profd *profd, struct wanted *ret, struct wanted_message *message)
{
	memset(message, 0, sizeof(*message));
	return wanted_query(profd->path, ret, message);
}

static void test_ids(void **state)
{
	static const uint8_t id[] = {0xab, 0xcd, 0xef, 0x00, 0x01}, other[WANTED_ID_MAX] = {7};
	struct fake_profd *profd = fake_profd_new();
	struct wanted_message message;
	struct wanted wanted;

	(void)state;
	assert_int_equal(ask(profd, &wanted, &message), WANTED_E_OK);
	assert_int_equal(wanted.n, 0);
	fake_profd_want(profd, id, sizeof(id));
	fake_profd_want(profd, id, 0);
	fake_profd_want(profd, other, sizeof(other));
	assert_int_equal(ask(profd, &wanted, &message), WANTED_E_OK);
	assert_int_equal(wanted.n, 2);
	assert_int_equal(wanted.ids[0].length, sizeof(id));
	assert_memory_equal(wanted.ids[0].bytes, id, sizeof(id));
	assert_int_equal(wanted.ids[1].length, sizeof(other));
	assert_memory_equal(wanted.ids[1].bytes, other, sizeof(other));
	assert_int_equal(fake_profd_free(profd), 2);
}

/* More of them, and longer ones, than are taken. */
static void test_bounds(void **state)
{
	struct fake_profd *profd = fake_profd_new();
	uint8_t id[WANTED_ID_MAX + 1] = {9};
	struct wanted_message message;
	struct wanted wanted;

	(void)state;
	fake_profd_want(profd, id, sizeof(id));
	for (unsigned i = 0; i < WANTED_MAX + 10; i++) {
		id[0] = (uint8_t)i;
		fake_profd_want(profd, id, 20);
	}
	assert_int_equal(ask(profd, &wanted, &message), WANTED_E_OK);
	assert_int_equal(wanted.n, WANTED_MAX);
	assert_int_equal(wanted.ids[0].length, 20);
	assert_int_equal(wanted.ids[1].bytes[0], 1);
	fake_profd_free(profd);
}

static void test_refusals(void **state)
{
	struct fake_profd *profd = fake_profd_new();
	struct wanted_message message;
	struct wanted wanted;

	(void)state;
	fake_profd_set(profd, FAKE_ERROR);
	assert_int_equal(ask(profd, &wanted, &message), WANTED_E_REFUSED);
	assert_says(message.text, "not for you");
	fake_profd_set(profd, FAKE_TEXT);
	assert_int_equal(ask(profd, &wanted, &message), WANTED_E_REFUSED);
	assert_says(message.text, "another version");
	fake_profd_set(profd, FAKE_GARBAGE);
	assert_int_equal(ask(profd, &wanted, &message), WANTED_E_REFUSED);
	assert_says(message.text, "another version");
	fake_profd_free(profd);
}

static void test_away(void **state)
{
	struct fake_profd *profd = fake_profd_new();
	struct wanted_message message;
	struct wanted wanted;

	(void)state;
	fake_profd_set(profd, FAKE_CLOSE);
	assert_int_equal(ask(profd, &wanted, &message), WANTED_E_AWAY);
	fake_profd_set(profd, FAKE_SILENT);
	assert_int_equal(ask(profd, &wanted, &message), WANTED_E_AWAY);
	fake_profd_free(profd);
	assert_int_equal(wanted_query("/nowhere/control.sock", &wanted, &message), WANTED_E_AWAY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
