/* SPDX-License-Identifier: MIT */
#include "client/profctl/take.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/profctl/call.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/pprof.h"

#define UNPACKED_MAX ((size_t)1 << 30)

/* What was complained of, without who did. */
static void taken_set_trouble(struct taken *t, const char *said)
{
	const char *colon = strstr(said, ": ");

	snprintf(t->trouble, sizeof(t->trouble), "%s", colon ? colon + 2 : said);
	t->trouble[strcspn(t->trouble, "\n")] = '\0';
}

/* TAKE_E_* or negative errno. */
static int request_window(const struct context *context, uint64_t session, struct taken *t,
			  Profd__Control__Response **ret, uint8_t **ret_data)
{
	Profd__Control__Collect collect = PROFD__CONTROL__COLLECT__INIT;
	struct context quiet = *context;
	cleanup(freep) char *said = NULL;
	size_t length;
	int status;

	collect.which_case = PROFD__CONTROL__COLLECT__WHICH_SESSION;
	collect.session = session;
	collect.take = true;
	quiet.progress = false;
	quiet.err = open_memstream(&said, &length);
	if (!quiet.err)
		return error_origin(-ENOMEM);
	status = call_collect(&quiet, &collect, CALL_SHORT_MS, ret, ret_data);
	if (fclose(quiet.err))
		return error_origin(-ENOMEM);
	if (status)
		taken_set_trouble(t, said);
	return status == STATUS_DONE        ? TAKE_E_OK
	       : status == STATUS_NO_DAEMON ? TAKE_E_GONE
					    : TAKE_E_LATER;
}

int take_window(const struct context *context, uint64_t session, struct taken *ret)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message message;
	int r;

	*ret = (struct taken){0};
	r = request_window(context, session, ret, &response, &data);
	if (r)
		return r;
	ret->lost = response->collected->dropped + response->collected->lost;
	ret->more = response->collected->more;
	if (!response->collected->bytes)
		return TAKE_E_OK;
	r = pprof_read(data, (size_t)response->collected->bytes, UNPACKED_MAX, &ret->profile,
		       &message);
	if (r > 0)
		snprintf(ret->trouble, sizeof(ret->trouble), "profd sent an invalid profile: %s",
			 message.text);
	return r > 0 ? TAKE_E_BAD : r;
}
