/* SPDX-License-Identifier: MIT */
/* A profd that accepts no connections does not hold up the loop. */
#include "client/gateway/call/profd_call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/unixsock.h"

#define CLIENTS_MAX 32

static void note_answer(void *userdata, const struct profd_answer *answer)
{
	assert_int_equal(answer->outcome, PROFD_CALL_AWAY);
	assert_string_equal(answer->message, "profd does not answer");
	++*(unsigned *)userdata;
}

static void test_full_backlog(void **state)
{
	char dir[] = "/tmp/profd-call-XXXXXX", path[64];
	int listener, clients[CLIENTS_MAX], r = 0;
	struct profd_call *call;
	unsigned n = 0, n_answers = 0;
	sd_event *loop;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sock", dir);
	assert_int_equal(unixsock_listen(path, 0600, (gid_t)-1, &listener), 0);
	assert_int_equal(listen(listener, 1), 0);
	while (n < CLIENTS_MAX && !(r = unixsock_connect_at_once(path, &clients[n])))
		n++;
	assert_int_equal(r, UNIXSOCK_E_TIMEOUT);
	assert_true(sd_event_new(&loop) >= 0);
	assert_int_equal(profd_call_new(&call,
					&(struct profd_call_options){
						.loop = loop,
						.socket = path,
						.verb = PROFD__CONTROL__REQUEST__VERB_STATUS,
						.result = PROFD__CONTROL__RESPONSE__RESULT_STATUS,
						.timeout_ms = 60000,
						.done = note_answer,
						.userdata = &n_answers,
					}),
			 0);
	while (!n_answers)
		assert_true(sd_event_run(loop, UINT64_MAX) >= 0);
	assert_int_equal(n_answers, 1);
	profd_call_free(call);
	sd_event_unref(loop);
	while (n)
		close(clients[--n]);
	close(listener);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_backlog),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
