/* SPDX-License-Identifier: MIT */
/* Whatever comes out of the decoder keeps the promises that the operations rely on. */
#include <stdlib.h>
#include <string.h>

#include "daemon/control/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_start(const struct session_request *s)
{
	bool numbered = s->target == TARGET_PID || s->target == TARGET_TID;

	if (s->target > TARGET_CPUS || s->pidfd != -1)
		abort();
	if (numbered && (s->number < 1 || s->number > INT32_MAX))
		abort();
	if (s->target == TARGET_CGROUP && (s->text[0] != '/' || strstr(s->text, "/../")))
		abort();
	if (s->name && (strchr(s->name, '/') || strlen(s->name) > 64 || *s->name == '.'))
		abort();
	if (s->event && strlen(s->event) > 31)
		abort();
	if (!s->is_period && s->rate > 100000)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup(request_freep) struct request *request = NULL;
	struct request_message message;

	if (request_decode(data, size, &request, &message) != REQUEST_E_OK)
		return 0;
	if (request->verb == REQUEST_START)
		check_start(&request->start);
	if (request->verb == REQUEST_STOP_ID && request->id == 0)
		abort();
	if (request->verb == REQUEST_STOP_PID && request->pid < 1)
		abort();
	return 0;
}
