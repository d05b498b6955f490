/* SPDX-License-Identifier: MIT */
#include "client/gateway/view/exported.h"

#include <errno.h>
#include <stdint.h>

#include "client/analysis/title.h"
#include "client/export/target.h"
#include "client/gateway/view/answer.h"
#include "client/gateway/view/pieces.h"
#include "client/gateway/view/view_protocol.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"

#define UNPACKED_MAX ((size_t)128 << 20)

static int exported_encode(const struct view_export *export, struct profile *window,
			   struct export_bodies *ret, struct answer_message *message)
{
	const struct export_target *target = export_find_target(export->kind);
	size_t n_hosts;
	const struct export_scope scope = {
		.service = export->service,
		.host = report_title_host(window, &n_hosts) ?: "",
		.labels = export->labels,
		.keep = export->keep,
		.max_part = export->max_part,
	};

	if (target)
		return target->encode(window, &scope, ret);
	snprintf(message->text, sizeof(message->text), "no such kind of server");
	return 503;
}

static void exported_print(const struct export_bodies *bodies, FILE *out)
{
	const uint64_t n = bodies->n;

	fwrite(&n, sizeof(n), 1, out);
	for (size_t i = 0; i < bodies->n; i++)
		pieces_print(out, bodies->all[i].data, bodies->all[i].length);
}

int exported_write(const struct view_export *export, int file, FILE *out,
		   struct answer_message *message)
{
	cleanup(export_bodies_deinit) struct export_bodies bodies = {0};
	cleanup(profile_freep) struct profile *window = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message why;
	size_t length;
	int r = view_read_file(file, &data, &length)
			?: pprof_read(data, length, UNPACKED_MAX, &window, &why);

	if (r > 0) {
		snprintf(message->text, sizeof(message->text), "not a usable window: %.170s",
			 why.text);
		return 422;
	}
	r = r ?: exported_encode(export, window, &bodies, message);
	if (!r)
		exported_print(&bodies, out);
	return r;
}
