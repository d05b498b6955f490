/* SPDX-License-Identifier: MIT */
/* profctl diff BASE NEW: report --diff_base=BASE NEW. */
#include "client/profctl/report.h"

int diff_run(struct context *context, int argc, char **argv)
{
	struct profile_message message;
	struct report_arguments a;
	int r = report_parse_diff(argc, argv, &a, &message);
	int status = r ? report_parse_ended(context, r, &message) : report_on(context, &a);

	report_arguments_deinit(&a);
	return status;
}
