/* SPDX-License-Identifier: MIT */
#include "common/line_reader.h"

static void line_reader_keep(struct line_reader *r, struct span part)
{
	r->is_too_long |= part.length > sizeof(r->kept) - r->n;
	if (r->is_too_long)
		return;
	memcpy(r->kept + r->n, part.at, part.length);
	r->n += part.length;
}

bool line_reader_end(struct line_reader *r, struct span *ret)
{
	const bool is_line = r->n && !r->is_too_long;

	*ret = (struct span){r->kept, r->n};
	r->n = 0;
	r->is_too_long = false;
	return is_line;
}

bool line_reader_next(struct line_reader *r, struct span *piece, struct span *ret)
{
	while (piece->length) {
		const bool has_end = memchr(piece->at, '\n', piece->length);
		const bool is_whole = has_end && !r->n && !r->is_too_long;
		struct span part;

		span_cut(piece, '\n', &part);
		if (is_whole && part.length <= LINE_READER_MAX) {
			*ret = part;
			return true;
		}
		line_reader_keep(r, part);
		if (has_end && line_reader_end(r, ret))
			return true;
	}
	return false;
}
