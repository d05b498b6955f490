/* SPDX-License-Identifier: MIT */
#include "client/report/makers.h"

#include "client/analysis/shape.h"
#include "client/code/code_view.h"
#include "client/report/produce.h"

static const struct maker makers[] = {
	[REPORT_TEXT] = {.class = &view_text},
	[REPORT_TREE] = {.class = &view_tree},
	[REPORT_PEEK] = {.class = &view_peek},
	[REPORT_TRACES] = {.class = &view_traces, .held = true, .units = true},
	[REPORT_TAGS] = {.class = &view_tags, .held = true, .units = true, .frameless = true},
	[REPORT_COMMENTS] = {.class = &view_comments},
	[REPORT_DOT] = {.class = &view_dot, .units = true},
	[REPORT_SVG] = {.class = &view_dot, .units = true, .draws = "svg", .binary = true},
	[REPORT_PDF] = {.class = &view_dot, .units = true, .draws = "pdf", .binary = true},
	[REPORT_PNG] = {.class = &view_dot, .units = true, .draws = "png", .binary = true},
	[REPORT_GIF] = {.class = &view_dot, .units = true, .draws = "gif", .binary = true},
	[REPORT_PS] = {.class = &view_dot, .units = true, .draws = "ps", .binary = true},
	[REPORT_GV] = {.class = &view_dot,
		       .units = true,
		       .draws = "ps",
		       .shows = ".ps",
		       .window = PICTURE_GV},
	[REPORT_WEB] = {.class = &view_dot,
			.units = true,
			.draws = "svg",
			.shows = ".svg",
			.window = PICTURE_BROWSER},
	[REPORT_CALLGRIND] = {.class = &view_callgrind},
	[REPORT_KCACHEGRIND] = {.class = &view_callgrind,
				.shows = ".callgrind",
				.window = PICTURE_KCACHEGRIND},
	[REPORT_FLAME] = {.class = &view_flame, .objects = true, .binary = true, .adds_up = true},
	[REPORT_SPEEDSCOPE] = {.class = &view_speedscope, .objects = true, .adds_up = true},
	[REPORT_LIST] = {.class = &view_list, .objects = true, .lines = true},
	[REPORT_WEBLIST] = {.class = &view_weblist, .binary = true, .inlined = true},
	[REPORT_DISASM] = {.class = &view_disasm, .outermost = true},
	[REPORT_COLLAPSED] = {.class = &view_collapsed, .adds_up = true},
	[REPORT_RAW] = {.converts = true, .addresses = true, .held = true, .frameless = true},
	[REPORT_PROTO] = {.converts = true,
			  .addresses = true,
			  .held = true,
			  .frameless = true,
			  .binary = true},
	[REPORT_LEGACY] = {.converts = true, .addresses = true, .held = true, .binary = true},
};

const struct maker *maker_of(const struct report_options *o)
{
	static const struct maker none;

	return (size_t)o->view < ARRAY_SIZE(makers) ? &makers[o->view] : &none;
}

/* The units of labels are those of all samples together. */
bool produce_wants_held(const struct report_options *o)
{
	return maker_of(o)->held || *o->shape.tagfocus || *o->shape.tagignore ||
	       *o->shape.tagroot || *o->shape.tagleaf;
}

bool produce_wants_code(const struct report_options *o)
{
	return o->view == REPORT_LIST || o->view == REPORT_WEBLIST || o->view == REPORT_DISASM;
}

bool produce_wants_lines(const struct report_options *o)
{
	return o->shape.granularity == SHAPE_LINES || o->shape.granularity == SHAPE_FILES ||
	       produce_wants_code(o);
}

bool produce_is_binary(const struct report_options *o)
{
	return maker_of(o)->binary;
}
