/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "client/profctl/profctl.h"

int main(int argc, char **argv)
{
	const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
	struct environment environment = {
		.socket = getenv("PROFD_SOCKET"),
		.runtime_dir = getenv("XDG_RUNTIME_DIR"),
		.state_home = getenv("XDG_STATE_HOME"),
		.home = getenv("HOME"),
		.no_color = no_color && *no_color,
		.is_dumb = terminal && strcmp(terminal, "dumb") == 0,
	};

	return profctl_main(argc, argv, &environment, stdout, stderr);
}
