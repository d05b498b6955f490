/* SPDX-License-Identifier: MIT */
/* A verb that was added: profctl has it and its help, and profd's own table handles it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "client/profctl/profctl.h"
#include "daemon/control/buckets.h"
#include "daemon/operations.h"

struct world {
	char dir[32], socket[48];
	sd_event *loop;
	struct buckets buckets[2];
	struct listener *listener;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	strcpy(w->dir, "/tmp/test-verb-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->socket, sizeof(w->socket), "%s/socket", w->dir);
	w->buckets[0].share = w->buckets[1].share = 1;
	assert_true(sd_event_new(&w->loop) >= 0);
	assert_int_equal(listener_new(&w->listener, w->loop,
				      &(struct listener_options){.path = w->socket,
								 .mode = 0600,
								 .fd = -1,
								 .verbs = daemon_verbs,
								 .buckets = w->buckets}),
			 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	listener_free(w->listener);
	sd_event_unref(w->loop);
	assert_int_equal(rmdir(w->dir), 0);
	free(w);
	return 0;
}

/* What `profctl ARGUMENTS` prints, in a child while the listener listens. Its exit status. */
static int run(struct world *w, char *const *arguments, char *text, size_t size)
{
	char *argv[8] = {(char[]){"profctl"}, (char[]){"--socket"}, w->socket};
	struct environment environment = {0};
	int ends[2], status, n = 3;
	pid_t pid, ended;
	FILE *out;

	while (*arguments)
		argv[n++] = *arguments++;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		out = fdopen(ends[1], "w");
		status = profctl_main(n, argv, &environment, out, stderr);
		_exit(fclose(out) ? 99 : status);
	}
	close(ends[1]);
	while ((ended = waitpid(pid, &status, WNOHANG)) == 0)
		sd_event_run(w->loop, 10000);
	assert_int_equal(ended, pid);
	out = fdopen(ends[0], "r");
	text[fread(text, 1, size - 1, out)] = '\0';
	fclose(out);
	return WEXITSTATUS(status);
}

static void test_another_verb(void **state)
{
	char *const plain[] = {(char[]){"motto"}, NULL};
	char *const json[] = {(char[]){"motto"}, (char[]){"--json"}, NULL};
	char *const help[] = {(char[]){"help"}, NULL};
	char text[4096];

	assert_int_equal(run(*state, plain, text, sizeof(text)), STATUS_DONE);
	assert_string_equal(text, "every tick\n");
	assert_int_equal(run(*state, json, text, sizeof(text)), STATUS_DONE);
	assert_string_equal(text, "{\n  \"motto\": \"every tick\"\n}\n");
	assert_int_equal(run(*state, help, text, sizeof(text)), STATUS_DONE);
	assert_non_null(strstr(text, "motto      print what profd is for"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_another_verb, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
