/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_COMMAND_H
#define PROFD_PROFCTL_COMMAND_H

/* What `run` and `record` do with a command that they start. */
#include <signal.h>

#include "client/profctl/profctl.h"
#include "client/run/program.h"

/*
 * What is to be put into LD_PRELOAD of a program of that @kind, so that it is sampled: NULL if
 * nothing is. Returns 0, or an exit status after a complaint.
 */
int command_preload(const struct context *context, enum program_kind kind, char **ret);
/* Why @command cannot be executed, an errno. Returns the exit status. */
int command_complain(const struct context *context, const char *command, int error);
/*
 * The command has ended, or there is none: signals end us as usual again, with @mask as it was, so
 * that nobody has to wait for a file that cannot be written. What came until now was the command's;
 * and a terminal that hangs up tells so more than once.
 */
void command_release_signals(const sigset_t *mask);
/*
 * Ends as a command with @status (waitpid(2)) did, so that a shell sees what it would have seen of
 * that: by its signal, or by the exit status that is returned.
 */
int command_end_as(int status);

#endif
