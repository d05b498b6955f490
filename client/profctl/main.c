/* SPDX-License-Identifier: MIT */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "client/profctl/profctl.h"

/*
 * glibc raises this bound when something large is freed, and arrays of megabytes then grow by being
 * copied within its heap, which keeps the holes. Above a bound that stays they grow by mremap(2),
 * and what is freed is gone.
 */
#define MAPPED_ALONE (128 << 10) /* bytes; where glibc begins */

/* Of the names in $TERM these are for terminals that nothing is known of (terminfo(5)). */
static bool is_dumb(const char *terminal)
{
	return !terminal || !*terminal || strcmp(terminal, "dumb") == 0 ||
	       strcmp(terminal, "unknown") == 0;
}

int main(int argc, char **argv)
{
	const char *no_color = getenv("NO_COLOR");
	struct environment environment = {
		.socket = getenv("PROFD_SOCKET"),
		.user = {.home = getenv("HOME"),
			 .state_home = getenv("XDG_STATE_HOME"),
			 .runtime_dir = getenv("XDG_RUNTIME_DIR")},
		.no_color = no_color && *no_color,
		.is_dumb = is_dumb(getenv("TERM")),
	};

	mallopt(M_MMAP_THRESHOLD, MAPPED_ALONE);
	return profctl_main(argc, argv, &environment, stdout, stderr);
}
