/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "client/profctl/profctl.h"

int main(int argc, char **argv)
{
	const char *no_color = getenv("NO_COLOR");
	struct environment environment = {
		.socket = getenv("PROFD_SOCKET"),
		.runtime_dir = getenv("XDG_RUNTIME_DIR"),
		.state_home = getenv("XDG_STATE_HOME"),
		.home = getenv("HOME"),
		.no_color = no_color && *no_color,
	};

	return profctl_main(argc, argv, &environment, stdout, stderr);
}
