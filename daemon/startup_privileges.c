/* SPDX-License-Identifier: MIT */
/* What a profd that samples does without, where a container or unit gives it less than all. */
#include <linux/capability.h>

#include "common/privileges.h"
#include "daemon/startup.h"

/* Those without which there is no source have their own messages, as names of the kernel have. */
static const struct {
	unsigned capability;
	const char *without;
} wanted[] = {
	{CAP_SYS_PTRACE,
	 "without CAP_SYS_PTRACE the programs of others have no names of functions, "
	 "and containers none at all"},
	{CAP_DAC_READ_SEARCH,
	 "without CAP_DAC_READ_SEARCH programs that not everybody may read have "
	 "no names of functions, and some stacks of others end early"},
	{CAP_CHECKPOINT_RESTORE, "without CAP_CHECKPOINT_RESTORE programs that were deleted or "
				 "replaced have no names of functions"},
};

void daemon_warn_of_privileges(struct daemon *d)
{
	if (d->options.user || d->replay || d->source == d->shim)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!privileges_have(wanted[i].capability))
			daemon_warn(d, "%s", wanted[i].without);
}
