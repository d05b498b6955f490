/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_CONTROL_ATTACH_FIXTURE_H
#define PROFD_TESTS_UNIT_CONTROL_ATTACH_FIXTURE_H

/* Children that ask the listener for a ring, as libprofd does: common/shim/attach.h. */
#include "tests/unit/control/listener_fixture.h"

#include <sys/wait.h>

#include "common/shim/ring_writer.h"

enum { CHILD_GOT_RING = 40, CHILD_REFUSED, CHILD_OTHER };

/* What a child does, and ends with. */
static int attach_and_judge(const char *path, const char *reason)
{
	struct attach_reason said = {""};
	struct ring_writer writer;
	int memory, bell, r;

	r = attach_connect(path, 5000, &memory, &bell, &said);
	if (r == ATTACH_E_REFUSED)
		return reason && strstr(said.text, reason) ? CHILD_REFUSED : CHILD_OTHER;
	if (r || !ring_writer_open(&writer, memory, bell))
		return CHILD_OTHER;
	return atomic_load(&writer.page->frequency) == 0 ? CHILD_GOT_RING : CHILD_OTHER;
}

static int run_child(struct world *w, int (*child)(struct world *w), pid_t *ret_pid)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(20);
		_exit(child(w));
	}
	while (waitpid(pid, &status, WNOHANG) == 0)
		run(w, 1);
	assert_true(WIFEXITED(status));
	*ret_pid = pid;
	return WEXITSTATUS(status);
}

#endif
