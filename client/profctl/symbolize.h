/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_SYMBOLIZE_H
#define PROFD_PROFCTL_SYMBOLIZE_H

/* The command line of `profctl symbolize`; as in arguments.h. */
#include <stdbool.h>
#include <stddef.h>

#include "common/options.h"

#define SYMBOLIZE_URLS_MAX 16

struct symbolize_arguments {
	const char *profile;
	const char *output; /* "-": standard output */
	const char *urls[SYMBOLIZE_URLS_MAX];
	size_t n_urls;
	bool want_lines;
};

/* Pure. Returns 0, OPTIONS_BAD with a message, or VERB_HELP. */
int symbolize_parse(int argc, char *const *argv, struct symbolize_arguments *ret,
		    struct usage_message *message);

#endif
