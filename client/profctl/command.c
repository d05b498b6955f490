/* SPDX-License-Identifier: MIT */
#include "client/profctl/command.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/run/launch.h"
#include "client/run/program.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/program_path.h"

#define LIBRARY "libprofd.so.0"

int command_preload(const struct context *context, enum program_kind kind, char **ret)
{
	cleanup(freep) char *path = NULL, *preload = NULL;
	int r = library_path("PROFD_LIBRARY", LIBRARY, &path);

	if (r)
		return profctl_complain(context, STATUS_RUN_FAILED, "%s", error_describe(r));
	if (access(path, R_OK) < 0)
		return profctl_complain(context, STATUS_RUN_FAILED,
					"the profiling library %s is missing: %s; "
					"the package libprofd0 has it",
					path, strerror(errno));
	/* What separates names there cannot be in one (ld.so(8)). */
	if (strpbrk(path, " :"))
		return profctl_complain(context, STATUS_RUN_FAILED,
					"%s: a path in LD_PRELOAD cannot have a space or colon",
					path);
	r = preload_path(path, &preload);
	if (r < 0)
		return profctl_complain(context, STATUS_RUN_FAILED, "%s", error_describe(r));
	/* Others warn of what they cannot load, or do not even start. */
	if (kind != PROGRAM_OTHER_MACHINE && (kind != PROGRAM_OTHER_LIBC || r == PRELOAD_E_OK))
		*ret = steal_ptr(&preload);
	return 0;
}

void command_release_signals(const sigset_t *mask)
{
	sigset_t waiting, blocked = *mask;

	launch_signals(&waiting);
	while (sigtimedwait(&waiting, NULL, &(struct timespec){0}) > 0)
		;
	sigaddset(&blocked, SIGHUP);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
}

int command_end_as(int status)
{
	const struct rlimit no_core = {0, 0};
	sigset_t one;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &no_core);
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, WTERMSIG(status));
	raise(WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	return 128 + WTERMSIG(status);
}

int command_complain(const struct context *context, const char *command, int error)
{
	return profctl_complain(context, error == ENOENT ? STATUS_RUN_NOT_FOUND : STATUS_RUN_CANNOT,
				"%s: %s", command, strerror(error));
}
