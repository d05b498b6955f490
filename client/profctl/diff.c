/* SPDX-License-Identifier: MIT */
/* profctl diff BASE NEW: report --diff_base=BASE NEW. */
#include <stdlib.h>

#include "client/profctl/arguments.h"
#include "client/profctl/report.h"

/* Takes the operand before the last one for the base. Returns 0 or OPTIONS_BAD. */
static int take_base(struct report_inputs *in, struct usage_message *message)
{
	const char **base;

	if (in->n_bases)
		return usage_error(message, "BASE is an operand here: profctl diff BASE NEW");
	if (*in->service || in->n_profiles < 2 || in->n_profiles > 3)
		return usage_error(message, "which two profiles? profctl diff BASE NEW");
	base = malloc(sizeof(*base));
	if (!base)
		return usage_error(message, "out of memory");
	*base = in->profiles[in->n_profiles - 2];
	in->profiles[in->n_profiles - 2] = in->profiles[in->n_profiles - 1];
	in->n_profiles--;
	in->bases = base;
	in->n_bases = 1;
	in->is_diff = true;
	return 0;
}

int diff_run(struct context *context, int argc, char **argv)
{
	struct report_arguments a;
	struct usage_message message;
	int status;

	if (!report_begin(context, argc, argv, &a, &status)) {
		report_arguments_deinit(&a);
		return status;
	}
	if (take_base(&a.inputs, &message))
		status = parse_ended(context, OPTIONS_BAD, &message);
	else
		status = report_on(context, &a);
	report_arguments_deinit(&a);
	return status;
}
