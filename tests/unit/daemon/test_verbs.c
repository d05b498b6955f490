/* SPDX-License-Identifier: MIT */
/* The table of verbs has a row for each field of Request, with its message, and no others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/operations.h"

static void test_every_request_has_a_row(void **state)
{
	const ProtobufCMessageDescriptor *request = &profd__control__request__descriptor;
	size_t n_rows = 0;

	(void)state;
	for (const struct control_verb *verb = daemon_verbs; verb->name; verb++) {
		const ProtobufCFieldDescriptor *field =
			protobuf_c_message_descriptor_get_field_by_name(request, verb->name);

		if (!field)
			fail_msg("there is no field %s", verb->name);
		assert_ptr_equal(verb->message, field->descriptor);
		assert_non_null(verb->handle);
		for (const struct control_verb *other = daemon_verbs; other < verb; other++)
			assert_string_not_equal(other->name, verb->name);
		n_rows++;
	}
	assert_int_equal(n_rows, request->n_fields);
}

static bool verb_is_one_of(const struct control_verb *verb, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], verb->name) == 0)
			return true;
	return false;
}

/* What changes or reads the whole machine is not for everybody; what changes it, not of a store. */
static void test_privileged_verbs(void **state)
{
	static const char *const for_all[] = {"start",   "stop",        "status", "flush",
					      "collect", "attach_shim", "hold"};
	static const char *const reading[] = {"status", "config",  "list", "wanted",
					      "usage",  "collect", "hold", "exports"};

	(void)state;
	for (const struct control_verb *verb = daemon_verbs; verb->name; verb++) {
		bool is_for_all = verb_is_one_of(verb, for_all, ARRAY_SIZE(for_all));
		bool changes = !verb_is_one_of(verb, reading, ARRAY_SIZE(reading));

		assert_int_equal(verb->access & CONTROL_FOR_PRIVILEGED,
				 is_for_all ? CONTROL_FOR_ALL : CONTROL_FOR_PRIVILEGED);
		assert_int_equal(verb->access & CONTROL_CHANGES, changes ? CONTROL_CHANGES : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_request_has_a_row),
		cmocka_unit_test(test_privileged_verbs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
