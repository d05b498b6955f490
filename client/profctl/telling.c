/* SPDX-License-Identifier: MIT */
#include "client/profctl/telling.h"

#include "client/profctl/memory.h"
#include "client/report/outcome.h"
#include "common/profile/pprof.h"

static void report_note(void *context, const char *text)
{
	struct telling *t = context;

	progress_clear(&t->progress);
	(void)profctl_complain(t->context, STATUS_DONE, "%s", text);
}

static void report_update_progress(void *context, double done, const char *text)
{
	struct telling *t = context;

	if (text)
		progress_update(&t->progress, done, text);
	else
		progress_clear(&t->progress);
}

struct listener telling_init(struct telling *ret, const struct context *context)
{
	ret->context = context;
	progress_init(&ret->progress, context);
	return (struct listener){report_note, report_update_progress, ret};
}

int report_exit_status(const struct context *context, int r, const struct profile_message *message)
{
	if (r < 0)
		return memory_complain(context, r);
	if (!r)
		return STATUS_DONE;
	return profctl_complain(context,
				r == REPORT_E_BAD_OPTION ? STATUS_USAGE
				: r == REPORT_E_DENIED   ? STATUS_DENIED
							 : STATUS_FAILED,
				"%s", message->text);
}
