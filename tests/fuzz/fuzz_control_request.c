/* SPDX-License-Identifier: MIT */
/* What the checks accept keeps the promises that the handlers of verbs rely on. */
#include <stdlib.h>
#include <string.h>

#include "daemon/control/request.h"
#include "daemon/output/index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_start(const Profd__Control__Start *s)
{
	bool numbered = s->target == TARGET_PID || s->target == TARGET_TID;

	if (s->target > TARGET_CPUS)
		abort();
	if (numbered && (s->number < 1 || s->number > INT32_MAX))
		abort();
	if (s->target == TARGET_CGROUP && (s->text[0] != '/' || strstr(s->text, "/../")))
		abort();
	if (*s->name && (strchr(s->name, '/') || strlen(s->name) > 64 || *s->name == '.'))
		abort();
	if (strlen(s->event) > 31)
		abort();
	if (!s->is_period && s->rate > 100000)
		abort();
}

static void check_collect(const Profd__Control__Collect *c)
{
	if (c->take &&
	    (c->which_case != PROFD__CONTROL__COLLECT__WHICH_SESSION || !c->session || c->stored))
		abort();
	if (c->which_case == PROFD__CONTROL__COLLECT__WHICH_FILE &&
	    (!*c->file || strlen(c->file) >= INDEX_PATH_SIZE || strchr(c->file, '\n') || c->open))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source_message why;
	Profd__Control__Request *request;

	request = profd__control__request__unpack(NULL, size, data);
	if (!request)
		return 0;
	if (request->verb_case == PROFD__CONTROL__REQUEST__VERB_START &&
	    !request_check_start(request->start, &why))
		check_start(request->start);
	if (request->verb_case == PROFD__CONTROL__REQUEST__VERB_COLLECT &&
	    !request_check_collect(request->collect, &why))
		check_collect(request->collect);
	if (request->verb_case == PROFD__CONTROL__REQUEST__VERB_STOP)
		request_check_stop(request->stop, &why);
	if (request->verb_case == PROFD__CONTROL__REQUEST__VERB_LIST)
		request_check_list(request->list, &why);
	if (request->verb_case == PROFD__CONTROL__REQUEST__VERB_USAGE)
		request_check_usage(request->usage, &why);
	profd__control__request__free_unpacked(request, NULL);
	return 0;
}
