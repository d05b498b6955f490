/* SPDX-License-Identifier: MIT */
/* Apart from user_paths.c: profctl looks for fewer variables, and its manual page says which. */
#include <stdlib.h>

#include "common/user_paths.h"

void user_environment_get(struct user_environment *ret)
{
	*ret = (struct user_environment){
		.home = getenv("HOME"),
		.state_home = getenv("XDG_STATE_HOME"),
		.cache_home = getenv("XDG_CACHE_HOME"),
		.config_home = getenv("XDG_CONFIG_HOME"),
		.runtime_dir = getenv("XDG_RUNTIME_DIR"),
	};
}
