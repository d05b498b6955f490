/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_COMMAND_H
#define PROFD_PROFCTL_COMMAND_H

/* What `run` and `record` do with a command that they start. */
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
 * Ends as a command with @status (waitpid(2)) did, so that a shell sees what it would have seen of
 * that: by its signal, or by the exit status that is returned.
 */
int command_end_as(int status);

#endif
