/* SPDX-License-Identifier: MIT */
/* What warnings advise is what helps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/proc.h"
#include "common/text_print.h"
#include "daemon/resolve/proc_door.h"
#include "daemon/status.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/session/session_set_fixture.h"

/* More budget is what lacked unless a user's sessions have used up their part of it. */
static void test_early_closes(void **state)
{
	const struct peer root = {.privileged = true}, user = {.uid = 1000};
	Profd__Control__Start request = PROFD__CONTROL__START__INIT;
	cleanup(texts_deinit) struct texts texts = {0};
	struct session *of_root, *of_user, *system;
	struct source_message message;
	struct world *w = *state;

	request.target = TARGET_UID;
	request.number = 1000;
	assert_int_equal(session_set_start_system(w->set, &message), 0);
	system = w->set->sessions[0];
	assert_int_equal(session_set_start(w->set, &root, &request, -1, &of_root, &message), 0);
	assert_int_equal(session_set_start(w->set, &user, &request, -1, &of_user, &message), 0);
	daemon_warn_of_early_closes(w->set, &texts);
	assert_int_equal(texts.n, 0);
	of_user->counts.early_closes = 7;
	daemon_warn_of_early_closes(w->set, &texts);
	assert_int_equal(texts.n, 1);
	assert_non_null(strstr(texts.all[0], "7 windows of users' sessions were closed early"));
	assert_null(strstr(texts.all[0], "budget"));
	of_root->counts.early_closes = 2;
	system->counts.early_closes = 3;
	daemon_warn_of_early_closes(w->set, &texts);
	assert_int_equal(texts.n, 3);
	assert_string_equal(texts.all[1], "5 windows were closed early for lack of memory: raise "
					  "[memory] budget");
}

/* A process with a file in place of /proc's that has its reader wait. */
static pid_t make_held_up(const struct temp_dir *proc)
{
	pid_t pid = fork();
	char path[64];

	if (pid == 0) {
		alarm(60);
		pause();
	}
	snprintf(path, sizeof(path), "%d/status", pid);
	write_file(proc->fd, path, "", 0);
	snprintf(path, sizeof(path), "%d/stat", pid);
	assert_int_equal(mkfifoat(proc->fd, path, 0600), 0);
	return pid;
}

/* They are counted, and named as far as there is room; one that has ended is no matter. */
static void test_held_up(void **state)
{
	cleanup(temp_dir_remove) struct temp_dir proc;
	cleanup(proc_door_freep) struct proc_door *door = NULL;
	cleanup(texts_deinit) struct texts texts = {0};
	struct proc_stat stat;
	char expected[64];
	pid_t pids[2];

	(void)state;
	temp_dir_make(&proc);
	assert_int_equal(proc_door_new(&door, proc.fd), 0);
	daemon_warn_of_held_up(door, &texts);
	assert_int_equal(texts.n, 0);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = make_held_up(&proc);
		assert_int_equal(proc_read_stat(proc.fd, pids[i], &stat), PROC_E_GONE);
		daemon_warn_of_held_up(door, &texts);
	}
	snprintf(expected, sizeof(expected), "reading /proc/%d takes too long (1 such):", pids[0]);
	assert_memory_equal(texts.all[0], expected, strlen(expected));
	snprintf(expected, sizeof(expected), "/proc/%d takes too long (2 such, also %d):", pids[0],
		 pids[1]);
	assert_non_null(strstr(texts.all[1], expected));
	kill(pids[0], SIGKILL);
	waitpid(pids[0], NULL, 0);
	daemon_warn_of_held_up(door, &texts);
	snprintf(expected, sizeof(expected), "/proc/%d takes too long (1 such):", pids[1]);
	assert_non_null(strstr(texts.all[2], expected));
	kill(pids[1], SIGKILL);
	waitpid(pids[1], NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_held_up),
		WORLD(test_early_closes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
