/* SPDX-License-Identifier: MIT */
#include "client/gateway/view/merged.h"

#include <errno.h>
#include <stdio.h>

#include "client/gateway/view/answer.h"
#include "client/gateway/view/made_up.h"
#include "client/gateway/view/pieces.h"
#include "client/gateway/view/view_protocol.h"
#include "common/memory_text.h"
#include "common/profile/merge.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"

#define UNPACKED_MAX ((size_t)128 << 20)
#define MERGED_MAX   ((size_t)96 << 20)
#define GZIP_LEVEL   6

static int merged_refuse(struct answer_message *message, const char *why)
{
	snprintf(message->text, sizeof(message->text), "%s", why);
	return 503;
}

static int merged_add(struct merge *m, const uint8_t *data, size_t length,
		      struct answer_message *message)
{
	cleanup(profile_freep) struct profile *profile = NULL;
	struct profile_message why;
	int r = pprof_read(data, length, UNPACKED_MAX, &profile, &why)
			?: merge_add(m, profile, NULL, NULL, &why);

	if (r > 0)
		return merged_refuse(message, "profd sent an unusable profile");
	if (!r && merge_bytes(m) > MERGED_MAX)
		return merged_refuse(message, "there are too many different stacks");
	return r;
}

/* Of a time in which nothing was sampled. */
static int merged_make_empty(struct profile **ret)
{
	cleanup(profile_freep) struct profile *p = NULL;
	int r = profile_new(&p);

	if (!r)
		r = profile_add_sample_type(p, "samples", "count")
			    ?: profile_add_sample_type(p, "cpu", "nanoseconds")
			    ?: profile_add_text(p, "cpu", &p->period_type.type)
			    ?: profile_add_text(p, "nanoseconds", &p->period_type.unit);
	if (r)
		return r;
	p->period = 1;
	*ret = steal_ptr(&p);
	return 0;
}

static int merged_make(const uint8_t *data, size_t length, struct profile **ret,
		       struct answer_message *message)
{
	cleanup(merge_freep) struct merge *m = NULL;
	size_t at = 0, piece_length;
	const uint8_t *piece;
	int r = merge_new(&m, MERGE_WINDOWS_DROPPED);

	while (!r && pieces_next(data, length, &at, &piece, &piece_length))
		r = merged_add(m, piece, piece_length, message);
	if (r)
		return r;
	if (!merge_profile(m))
		return merged_make_empty(ret);
	r = merge_finish(m);
	if (!r)
		*ret = merge_steal_profile(m);
	return r;
}

/* Windows without samples are not among the pieces: the others do not span all of the time. */
static void merged_set_time(const struct view_merge *merge, struct profile *p)
{
	if (!merge->duration_ns)
		return;
	p->time_ns = merge->time_ns;
	p->duration_ns = merge->duration_ns;
}

static int merged_put_legacy(const struct view_merge *merge, const struct profile *p, FILE *out)
{
	cleanup(memory_text_deinit) struct memory_text names = {0};
	cleanup(freep) uint8_t *data = NULL;
	size_t length;
	int r = made_up_encode(p, merge->number, &data, &length) ?: memory_text_open(&names);

	if (r)
		return r;
	made_up_write_names(p, names.out);
	r = memory_text_close(&names);
	if (r)
		return r;
	pieces_print(out, data, length);
	pieces_print(out, names.text, names.length);
	return 0;
}

int merged_write(const struct view_merge *merge, int file, struct memory_text *ret,
		 struct answer_message *message)
{
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(freep) uint8_t *data = NULL, *packed = NULL;
	size_t length;
	int r = view_read_file(file, &data, &length) ?: merged_make(data, length, &p, message);

	if (r)
		return r;
	merged_set_time(merge, p);
	if (merge->is_legacy)
		return merged_put_legacy(merge, p, ret->out);
	r = pprof_write(p, GZIP_LEVEL, &packed, &length);
	if (!r)
		fwrite(packed, 1, length, ret->out);
	return r;
}
