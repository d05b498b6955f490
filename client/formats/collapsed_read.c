/* SPDX-License-Identifier: MIT */
/*
 * Lines are independent of each other. A line is split at its last blank, and its stack from the
 * end on, because profiles have the leaf first.
 */
#include "client/formats/collapsed.h"

#include <errno.h>

#include "client/formats/text_lines.h"
#include "common/cleanup.h"
#include "common/profile/message.h"
#include "common/profile/profile.h"

#define REFUSE(message, ...) profile_refuse(message, ANY_E_MALFORMED, __VA_ARGS__)

/* The count behind the last blank; what is before it in *ret. */
static bool collapsed_split_line(const struct text_line *line, struct text_span *ret,
				 int64_t *ret_count)
{
	struct text_span rest = text_trim(line->text);
	const char *at = rest.end;

	while (at > rest.at && !text_is_blank(at[-1]))
		at--;
	if (at == rest.at || !text_number((struct text_span){at, rest.end}, ret_count))
		return false;
	*ret = text_trim((struct text_span){rest.at, at});
	return true;
}

static int collapsed_add_frame(struct frame_list *list, struct profile *p, struct text_span name)
{
	struct profile_line line = {0};
	uint32_t location;
	int r = text_add_function(p, name, &line.function)
			?: profile_add_location(p, PROFILE_NONE, 0, &line, 1, &location);

	return r ?: frame_list_add(list, location);
}

/* From root to leaf in the text, the other way round in the profile. */
static int collapsed_add_stack(struct frame_list *list, struct profile *p, struct text_span stack,
			       int64_t count)
{
	int r = 0;

	list->n = 0;
	for (const char *end = stack.end; !r && end >= stack.at;) {
		const char *at = end;

		while (at > stack.at && at[-1] != ';')
			at--;
		if (at < end)
			r = collapsed_add_frame(list, p, (struct text_span){at, end});
		end = at - 1;
	}
	if (r)
		return r;
	return profile_add_sample(p, list->locations, (uint32_t)list->n, &count, NULL, 0);
}

static int collapsed_read_lines(const uint8_t *data, size_t length, struct profile *p,
				struct profile_message *message)
{
	cleanup(frame_list_deinit) struct frame_list list = {0};
	struct text_lines lines = text_lines_of(data, length);
	struct text_line line;
	bool any = false;
	int r = 0;

	while (!r && text_next(&lines, &line)) {
		struct text_span stack;
		int64_t count;
		bool is_stack;

		if (line.has_nul)
			return REFUSE(message, "line %zu (byte %zu) holds a NUL byte", line.number,
				      line.offset);
		if (!text_length(text_trim(line.text)))
			continue;
		is_stack = collapsed_split_line(&line, &stack, &count);
		if (!is_stack && *line.text.at == '#')
			continue;
		if (!is_stack)
			return REFUSE(message,
				      "line %zu (byte %zu) does not end in a blank and a count",
				      line.number, line.offset);
		r = collapsed_add_stack(&list, p, stack, count);
		any = true;
	}
	if (!r && !any)
		return REFUSE(message, "no stacks in it");
	return r;
}

int collapsed_read(const uint8_t *data, size_t length, struct profile **ret,
		   struct profile_message *message)
{
	cleanup(profile_freep) struct profile *p = NULL;
	int r = profile_new(&p) ?:
		profile_add_sample_type(p, "samples", "count") ?:
		collapsed_read_lines(data, length, p, message);

	if (r == -E2BIG)
		return REFUSE(message, "more names than can be numbered");
	if (r)
		return r;
	*ret = steal_ptr(&p);
	return ANY_E_OK;
}
