/* SPDX-License-Identifier: MIT */
/* What is made of whatever answers at profd's socket. */
#include "tests/unit/gateway/fake_profd.h"

#include "client/gateway/debuginfo.h"
#include "tests/support/says.h"

static int query_wanted(struct fake_profd *profd, Profd__Control__Response **ret,
			struct debuginfo_message *message)
{
	memset(message, 0, sizeof(*message));
	return wanted_query(profd->path, ret, message);
}

static void test_ids(void **state)
{
	static const uint8_t id[] = {0xab, 0xcd, 0xef, 0x00, 0x01}, other[100] = {7};
	struct fake_profd *profd = fake_profd_new();
	struct debuginfo_message message;
	Profd__Control__Response *wanted;

	(void)state;
	assert_int_equal(query_wanted(profd, &wanted, &message), WANTED_E_OK);
	assert_int_equal(wanted->build_ids->n_build_ids, 0);
	profd__control__response__free_unpacked(wanted, NULL);
	fake_profd_want(profd, id, sizeof(id));
	fake_profd_want(profd, id, 0);
	fake_profd_want(profd, other, sizeof(other));
	assert_int_equal(query_wanted(profd, &wanted, &message), WANTED_E_OK);
	assert_int_equal(wanted->build_ids->n_build_ids, 3);
	assert_int_equal(wanted->build_ids->build_ids[0].len, sizeof(id));
	assert_memory_equal(wanted->build_ids->build_ids[0].data, id, sizeof(id));
	assert_int_equal(wanted->build_ids->build_ids[1].len, 0);
	assert_int_equal(wanted->build_ids->build_ids[2].len, sizeof(other));
	profd__control__response__free_unpacked(wanted, NULL);
	assert_int_equal(fake_profd_free(profd), 2);
}

static void test_refusals(void **state)
{
	struct fake_profd *profd = fake_profd_new();
	struct debuginfo_message message;
	Profd__Control__Response *wanted;

	(void)state;
	fake_profd_set(profd, FAKE_ERROR);
	assert_int_equal(query_wanted(profd, &wanted, &message), WANTED_E_REFUSED);
	assert_says(message.text, "not for you");
	fake_profd_set(profd, FAKE_TEXT);
	assert_int_equal(query_wanted(profd, &wanted, &message), WANTED_E_REFUSED);
	assert_says(message.text, "another version");
	fake_profd_set(profd, FAKE_GARBAGE);
	assert_int_equal(query_wanted(profd, &wanted, &message), WANTED_E_REFUSED);
	assert_says(message.text, "another version");
	fake_profd_free(profd);
}

static void test_away(void **state)
{
	struct fake_profd *profd = fake_profd_new();
	struct debuginfo_message message;
	Profd__Control__Response *wanted;

	(void)state;
	fake_profd_set(profd, FAKE_CLOSE);
	assert_int_equal(query_wanted(profd, &wanted, &message), WANTED_E_AWAY);
	fake_profd_set(profd, FAKE_SILENT);
	assert_int_equal(query_wanted(profd, &wanted, &message), WANTED_E_AWAY);
	fake_profd_free(profd);
	assert_int_equal(wanted_query("/nowhere/control.sock", &wanted, &message), WANTED_E_AWAY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
