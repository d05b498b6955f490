/* SPDX-License-Identifier: MIT */
#include "daemon/control/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/output/snapshot.h"

/* A request as it arrives, and what is read from it. */
struct request {
	Profd__Control__Request *message;
};

static void request_free(struct request *r)
{
	if (!r)
		return;
	profd__control__request__free_unpacked(r->message, NULL);
	free(r);
}
DEFINE_CLEANUP(struct request *, request_free)

static int decode(const Profd__Control__Request *message, struct request **ret,
		  struct source_message *why)
{
	cleanup(request_freep) struct request *request = calloc(1, sizeof(*request));
	uint8_t data[8192];
	size_t size = profd__control__request__get_packed_size(message);
	int r = 0;

	assert_true(size <= sizeof(data));
	assert_non_null(request);
	profd__control__request__pack(message, data);
	request->message = profd__control__request__unpack(NULL, size, data);
	assert_non_null(request->message);
	if (message->verb_case == PROFD__CONTROL__REQUEST__VERB_START)
		r = request_check_start(request->message->start, why);
	if (message->verb_case == PROFD__CONTROL__REQUEST__VERB_STOP)
		r = request_check_stop(request->message->stop, why);
	if (message->verb_case == PROFD__CONTROL__REQUEST__VERB_LIST)
		r = request_check_list(request->message->list, why);
	if (message->verb_case == PROFD__CONTROL__REQUEST__VERB_COLLECT)
		r = request_check_collect(request->message->collect, why);
	if (!r)
		*ret = steal_ptr(&request);
	return r;
}

static int decode_start(Profd__Control__Start *start, struct request **ret,
			struct source_message *why)
{
	Profd__Control__Request message = PROFD__CONTROL__REQUEST__INIT;

	message.verb_case = PROFD__CONTROL__REQUEST__VERB_START;
	message.start = start;
	return decode(&message, ret, why);
}

static void test_start(void **state)
{
	Profd__Control__Format formats[] = {PROFD__CONTROL__FORMAT__LEGACY,
					    PROFD__CONTROL__FORMAT__PPROF};
	Profd__Control__Start start = PROFD__CONTROL__START__INIT;
	cleanup(request_freep) struct request *request = NULL;
	struct source_message why;

	(void)state;
	start.target = PROFD__CONTROL__TARGET_KIND__CPUS;
	start.text = (char[]){"0-3,8"};
	start.event = (char[]){"cycles:u"};
	start.is_period = true;
	start.rate = 1000000;
	start.duration_ns = 5;
	start.name = (char[]){"night@1_x.y-z"};
	start.formats = formats;
	start.n_formats = 2;
	start.children = start.no_kernel = true;
	assert_int_equal(decode_start(&start, &request, &why), 0);
	assert_int_equal(request->message->start->target, TARGET_CPUS);
	assert_string_equal(request->message->start->text, "0-3,8");
	assert_string_equal(request->message->start->event, "cycles:u");
	assert_true(request->message->start->is_period && request->message->start->children);
	assert_true(request->message->start->no_kernel);
	assert_int_equal(request->message->start->rate, 1000000);
	assert_int_equal(request->message->start->n_formats, 2);
}

#define KIND(name) PROFD__CONTROL__TARGET_KIND__##name

static void test_start_bounds(void **state)
{
	static const struct {
		Profd__Control__TargetKind target;
		int64_t number;
		const char *text, *event, *name;
		bool is_period;
		uint64_t rate, duration_ns;
		const char *why;
	} cases[] = {
		{99, 0, "", "", "", false, 0, 0, "kind of target"},
		{KIND(PID), 0, "", "", "", false, 0, 0, "not a process id"},
		{KIND(PID), -1, "", "", "", false, 0, 0, "not a process id"},
		{KIND(TID), INT64_C(1) << 31, "", "", "", false, 0, 0, "not a process id"},
		{KIND(UID), UINT32_MAX, "", "", "", false, 0, 0, "not a user id"},
		{KIND(SERVICE), 0, "", "", "", false, 0, 0, "is missing"},
		{KIND(SERVICE), 0, "a\x1b[2J", "", "", false, 0, 0, "control character"},
		{KIND(COMM), 0, "0123456789abcdef", "", "", false, 0, 0, "longer than 15"},
		{KIND(CGROUP), 0, "a/b", "", "", false, 0, 0, "begin with /"},
		{KIND(CGROUP), 0, "/a/../b", "", "", false, 0, 0, ".."},
		{KIND(CGROUP), 0, "/a/..", "", "", false, 0, 0, ".."},
		{KIND(CPUS), 0, "3-1", "", "", false, 0, 0, "0-3,8"},
		{KIND(CPUS), 0, "1,", "", "", false, 0, 0, "0-3,8"},
		{KIND(CPUS), 0, "99999", "", "", false, 0, 0, "0-3,8"},
		{KIND(ALL), 0, "", "../x", "", false, 0, 0, "the event"},
		{KIND(ALL), 0, "", "", "a/b", false, 0, 0, "name may"},
		{KIND(ALL), 0, "", "", "..", false, 0, 0, "may not begin"},
		{KIND(ALL), 0, "", "", "", false, 100001, 0, "100000 Hz"},
		{KIND(ALL), 0, "", "", "", true, 0, 0, "at least 100"},
		{KIND(ALL), 0, "", "", "", true, 99, 0, "at least 100"},
		{KIND(ALL), 0, "", "", "", false, 9, UINT64_MAX, "hundred"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		Profd__Control__Start start = PROFD__CONTROL__START__INIT;
		struct request *request = NULL;
		struct source_message why = {""};

		start.target = cases[i].target;
		start.number = cases[i].number;
		start.text = (char *)cases[i].text;
		start.event = (char *)cases[i].event;
		start.name = (char *)cases[i].name;
		start.is_period = cases[i].is_period;
		start.rate = cases[i].rate;
		start.duration_ns = cases[i].duration_ns;
		assert_int_equal(decode_start(&start, &request, &why), CONTROL_ERROR_USAGE);
		assert_null(request);
		if (!strstr(why.text, cases[i].why))
			fail_msg("case %zu says '%s'", i, why.text);
	}
}

static void test_unknown_formats(void **state)
{
	Profd__Control__Format format = (Profd__Control__Format)CONTENTS_IMAGES;
	Profd__Control__Start start = PROFD__CONTROL__START__INIT;
	struct request *request = NULL;
	struct source_message why;

	(void)state;
	start.formats = &format;
	start.n_formats = 1;
	assert_int_equal(decode_start(&start, &request, &why), CONTROL_ERROR_USAGE);
	assert_non_null(strstr(why.text, "does not know that format"));
	format = (Profd__Control__Format)-1;
	assert_int_equal(decode_start(&start, &request, &why), CONTROL_ERROR_USAGE);
}

static void test_stop_and_list(void **state)
{
	Profd__Control__Request message = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Stop stop = PROFD__CONTROL__STOP__INIT;
	Profd__Control__List list = PROFD__CONTROL__LIST__INIT;
	struct request *request = NULL;
	struct source_message why;

	(void)state;
	message.verb_case = PROFD__CONTROL__REQUEST__VERB_STOP;
	message.stop = &stop;
	assert_int_equal(decode(&message, &request, &why), CONTROL_ERROR_USAGE);
	stop.which_case = PROFD__CONTROL__STOP__WHICH_ID;
	assert_int_equal(decode(&message, &request, &why), CONTROL_ERROR_USAGE);
	stop.id = UINT64_MAX;
	assert_int_equal(decode(&message, &request, &why), 0);
	assert_int_equal(request->message->stop->id, UINT64_MAX);
	request_free(request);
	stop.which_case = PROFD__CONTROL__STOP__WHICH_PID;
	stop.pid = -5;
	assert_int_equal(decode(&message, &request, &why), CONTROL_ERROR_USAGE);
	message.verb_case = PROFD__CONTROL__REQUEST__VERB_LIST;
	message.list = &list;
	assert_int_equal(decode(&message, &request, &why), 0);
	assert_string_equal(request->message->list->service, "");
	request_free(request);
	list.since_ns = 9;
	list.until_ns = 8;
	assert_int_equal(decode(&message, &request, &why), CONTROL_ERROR_USAGE);
}

/* As systemctl takes names of services. */
/* They may be containers': what a name means shows when it is looked for. */
static void test_services_without_suffix(void **state)
{
	Profd__Control__Request message = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Start start = PROFD__CONTROL__START__INIT;
	Profd__Control__List list = PROFD__CONTROL__LIST__INIT;
	Profd__Control__Collect collect = PROFD__CONTROL__COLLECT__INIT;
	struct request *request = NULL;
	struct source_message why;

	(void)state;
	message.verb_case = PROFD__CONTROL__REQUEST__VERB_START;
	message.start = &start;
	start.target = PROFD__CONTROL__TARGET_KIND__SERVICE;
	start.text = (char[]){"nginx"};
	assert_int_equal(decode(&message, &request, &why), 0);
	assert_string_equal(request->message->start->text, "nginx");
	request_free(request);
	start.target = PROFD__CONTROL__TARGET_KIND__COMM;
	assert_int_equal(decode(&message, &request, &why), 0);
	assert_string_equal(request->message->start->text, "nginx");
	request_free(request);
	message.verb_case = PROFD__CONTROL__REQUEST__VERB_LIST;
	message.list = &list;
	list.service = (char[]){"other"};
	assert_int_equal(decode(&message, &request, &why), 0);
	assert_string_equal(request->message->list->service, "other");
	request_free(request);
	message.verb_case = PROFD__CONTROL__REQUEST__VERB_COLLECT;
	message.collect = &collect;
	collect.which_case = PROFD__CONTROL__COLLECT__WHICH_SERVICE;
	collect.service = (char[]){"getty@tty1"};
	assert_int_equal(decode(&message, &request, &why), 0);
	assert_string_equal(request->message->collect->service, "getty@tty1");
	request_free(request);
}

static void test_collect(void **state)
{
	Profd__Control__Request message = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Collect collect = PROFD__CONTROL__COLLECT__INIT;
	struct request *request = NULL;
	struct source_message why;

	(void)state;
	message.verb_case = PROFD__CONTROL__REQUEST__VERB_COLLECT;
	message.collect = &collect;
	assert_int_equal(decode(&message, &request, &why), 0);
	assert_false(request->message->collect->stored);
	request_free(request);
	collect.which_case = PROFD__CONTROL__COLLECT__WHICH_SERVICE;
	collect.service = (char[]){"a\nb"};
	assert_int_equal(decode(&message, &request, &why), CONTROL_ERROR_USAGE);
	collect.service = (char[]){""};
	assert_int_equal(decode(&message, &request, &why), CONTROL_ERROR_USAGE);
	collect.which_case = PROFD__CONTROL__COLLECT__WHICH_SESSION;
	collect.session = 0;
	assert_int_equal(decode(&message, &request, &why), CONTROL_ERROR_USAGE);
	collect.which_case = PROFD__CONTROL__COLLECT__WHICH_PID;
	collect.pid = -1;
	assert_int_equal(decode(&message, &request, &why), CONTROL_ERROR_USAGE);
	collect.pid = 7;
	collect.since_ns = 8;
	collect.until_ns = 7;
	assert_int_equal(decode(&message, &request, &why), CONTROL_ERROR_USAGE);
	collect.until_ns = 9;
	collect.stored = true;
	assert_int_equal(decode(&message, &request, &why), 0);
	assert_true(request->message->collect->pid == 7 && request->message->collect->stored);
	assert_true(request->message->collect->since_ns == 8 &&
		    request->message->collect->until_ns == 9);
	request_free(request);
}

/* One window, or those of many services. */
static void test_windows(void **state)
{
	Profd__Control__Request message = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Collect collect = PROFD__CONTROL__COLLECT__INIT;
	Profd__Control__List list = PROFD__CONTROL__LIST__INIT;
	struct request *request = NULL;
	struct source_message why;
	char path[2000];

	(void)state;
	message.verb_case = PROFD__CONTROL__REQUEST__VERB_LIST;
	message.list = &list;
	list.windows = true;
	list.service = (char[]){"web*,db"};
	assert_int_equal(decode(&message, &request, &why), 0);
	assert_string_equal(request->message->list->service, "web*,db");
	request_free(request);
	list.service = (char[]){"web"};
	assert_int_equal(decode(&message, &request, &why), 0);
	assert_string_equal(request->message->list->service, "web");
	request_free(request);
	list.service = (char[]){"web*,\x1b"};
	assert_int_equal(decode(&message, &request, &why), CONTROL_ERROR_USAGE);
	message.verb_case = PROFD__CONTROL__REQUEST__VERB_COLLECT;
	message.collect = &collect;
	collect.which_case = PROFD__CONTROL__COLLECT__WHICH_FILE;
	collect.file = (char[]){""};
	assert_int_equal(decode(&message, &request, &why), CONTROL_ERROR_USAGE);
	memset(path, 'x', sizeof(path));
	path[1024] = '\0';
	collect.file = path;
	assert_int_equal(decode(&message, &request, &why), CONTROL_ERROR_USAGE);
	path[1023] = '\0';
	assert_int_equal(decode(&message, &request, &why), 0);
	assert_string_equal(request->message->collect->file, path);
	request_free(request);
	collect.open = true;
	assert_int_equal(decode(&message, &request, &why), CONTROL_ERROR_USAGE);
	collect.open = false;
	collect.take = true;
	assert_int_equal(decode(&message, &request, &why), CONTROL_ERROR_USAGE);
}

static void test_live_sessions(void **state)
{
	Profd__Control__Request message = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Format format = PROFD__CONTROL__FORMAT__PPROF;
	Profd__Control__Collect collect = PROFD__CONTROL__COLLECT__INIT;
	Profd__Control__Start start = PROFD__CONTROL__START__INIT;
	struct request *request = NULL;
	struct source_message why;

	(void)state;
	message.verb_case = PROFD__CONTROL__REQUEST__VERB_START;
	message.start = &start;
	start.live = start.held = true;
	assert_int_equal(decode(&message, &request, &why), 0);
	assert_true(request->message->start->live && request->message->start->held);
	request_free(request);
	start.formats = &format;
	start.n_formats = 1;
	assert_int_equal(decode(&message, &request, &why), CONTROL_ERROR_USAGE);
	message.verb_case = PROFD__CONTROL__REQUEST__VERB_COLLECT;
	message.collect = &collect;
	collect.take = true;
	assert_int_equal(decode(&message, &request, &why), CONTROL_ERROR_USAGE);
	collect.which_case = PROFD__CONTROL__COLLECT__WHICH_SESSION;
	collect.session = 3;
	assert_int_equal(decode(&message, &request, &why), 0);
	assert_true(request->message->collect->take && request->message->collect->session == 3);
	request_free(request);
	collect.stored = true;
	assert_int_equal(decode(&message, &request, &why), CONTROL_ERROR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_start_bounds),
		cmocka_unit_test(test_unknown_formats),
		cmocka_unit_test(test_stop_and_list),
		cmocka_unit_test(test_services_without_suffix),
		cmocka_unit_test(test_collect),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_live_sessions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
