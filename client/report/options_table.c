/* SPDX-License-Identifier: MIT */
/*
 * A row an option: its name, its kind, where its value lies, and what help says of it. Another
 * option is another row; those of views are in views.h.
 */
#include "client/report/options.h"

#define AT(member)       offsetof(struct report_options, member)
#define INPUT_AT(member) offsetof(struct report_inputs, member)

/* ROW: an option of a kind and a group, which lies at @at. Others leave out what they do not have.
 */
#define ROW(kind, group, name, alias, is_input, at, value, argument, summary, details)        \
	{                                                                                     \
		name, alias, REPORT_OPTION_##kind, REPORT_GROUP_##group, is_input, at, value, \
			argument, summary, details                                            \
	}
#define VIEW_ARGUMENT_VIEW         NULL
#define VIEW_ARGUMENT_VIEW_PATTERN "RE"
#define VIEW_OPTION(number, name, alias, kind, group, summary, ...)                           \
	ROW(kind, group, name, alias, false, AT(view), REPORT_##number, VIEW_ARGUMENT_##kind, \
	    summary, NULL)
#define CHOICE(name, group, member, value, summary) \
	ROW(CHOICE, group, name, NULL, false, AT(member), value, NULL, summary, NULL)
#define FLAG(name, group, member, summary) \
	ROW(FLAG, group, name, NULL, false, AT(member), 0, NULL, summary, NULL)
#define SETTING(kind, name, group, member, argument, summary) \
	ROW(kind, group, name, NULL, false, AT(member), 0, argument, summary, NULL)
#define FILTER(name, argument, summary, details) \
	ROW(TEXT, FILTERS, #name, NULL, false, AT(shape.name), 0, argument, summary, details)
#define INPUT(kind, name, group, member, argument, summary) \
	ROW(kind, group, name, NULL, true, INPUT_AT(member), 0, argument, summary, NULL)

static const char matching[] =
	"A regular expression, matched against the names of the function, its "
	"file and its object.\n";
static const char tag_filter[] =
	"tag=RE: the text of that tag; RE: key:text of any tag; several are "
	"separated by commas.\n"
	"Numbers are ranges: 32kb, :64kb, 4mb:, 12kb:64mb, bytes=32kb:.\n";

const struct report_option report_options_all[] = {
	REPORT_VIEWS(VIEW_OPTION),

	FLAG("json", VIEWS, print.json, "--waits as JSON"),

	CHOICE("functions", GRANULARITY, shape.granularity, SHAPE_FUNCTIONS,
	       "per function (the default)"),
	CHOICE("filefunctions", GRANULARITY, shape.granularity, SHAPE_FILEFUNCTIONS,
	       "per function and file"),
	CHOICE("lines", GRANULARITY, shape.granularity, SHAPE_LINES, "per source line"),
	CHOICE("files", GRANULARITY, shape.granularity, SHAPE_FILES, "per source file"),
	CHOICE("addresses", GRANULARITY, shape.granularity, SHAPE_ADDRESSES, "per address"),
	FLAG("noinlines", GRANULARITY, shape.no_inlines,
	     "count inlined functions for their callers"),
	FLAG("showcolumns", GRANULARITY, shape.show_columns, "source lines with their columns"),
	FLAG("call_tree", GRANULARITY, print.call_tree,
	     "in graphs, one node per call path to a function"),
	FLAG("compact_labels", GRANULARITY, print.compact_labels, "short headers"),
	FLAG("intel_syntax", GRANULARITY, print.intel_syntax, "instructions in Intel syntax"),

	CHOICE("flat", ORDER, print.by_cum, 0, "sort by flat value (the default)"),
	CHOICE("cum", ORDER, print.by_cum, 1, "sort by cum value"),
	SETTING(INTEGER, "nodecount", ORDER, print.nodecount, "N",
		"show at most N nodes (all in --text, 80 in graphs)"),
	SETTING(NUMBER, "nodefraction", ORDER, print.nodefraction, "F",
		"hide nodes below this fraction of the total (.005)"),
	SETTING(NUMBER, "edgefraction", ORDER, print.edgefraction, "F",
		"hide calls below this fraction of the total (.001)"),
	SETTING(INTEGER, "maxdegree", ORDER, print.maxdegree, "N",
		"in graphs, at most N callers and callees per node"),
	FLAG("trim", ORDER, print.trim, "apply the limits above (--trim=false: show everything)"),
	FLAG("drop_negative", ORDER, print.drop_negative,
	     "in a comparison, hide entries that shrank"),
	FLAG("relative_percentages", ORDER, relative_percentages,
	     "percentages of the filtered samples"),

	FILTER(focus, "RE", "keep samples with a matching frame", matching),
	FILTER(ignore, "RE", "drop samples with a matching frame", matching),
	FILTER(hide, "RE", "remove matching frames", matching),
	FILTER(show, "RE", "remove all other frames", matching),
	FILTER(show_from, "RE", "remove the callers of the outermost matching frame", matching),
	FILTER(prune_from, "RE", "remove matching frames and everything they called", matching),
	FILTER(tagfocus, "TAGS", "keep samples with such tags", tag_filter),
	FILTER(tagignore, "TAGS", "drop samples with such tags", tag_filter),
	FILTER(tagshow, "RE", "show tags whose key matches", NULL),
	FILTER(taghide, "RE", "hide tags whose key matches", NULL),
	FLAG("idle", FILTERS, idle, "keep the waiting time of idle threads"),
	FILTER(tagroot, "KEYS", "tags as frames at the root",
	       "Keys of tags, separated by commas.\n"),
	FILTER(tagleaf, "KEYS", "tags as frames at the leaf",
	       "Keys of tags, separated by commas.\n"),

	SETTING(TEXT, "sample_index", VALUES, sample_index, "TYPE",
		"the value to show: a name, or a number starting at 0; wall: cpu + off_cpu"),
	FLAG("mean", VALUES, mean, "divide the value by the first one"),
	SETTING(TEXT, "unit", VALUES, print.unit, "UNIT",
		"ms, s, MB ...; auto: one per value; minimum (the default): one for all"),
	SETTING(NUMBER, "divide_by", VALUES, print.divide_by, "N", "divide all values by N"),

	INPUT(LIST, "base", COMPARISON, bases, "FILE", "subtract this profile"),
	INPUT(LIST, "diff_base", COMPARISON, bases, "FILE",
	      "the same; percentages are of this profile's total"),
	INPUT(FLAG, "normalize", COMPARISON, normalize, NULL,
	      "first scale the profile to the base's total"),

	ROW(TEXT, SOURCES, "service", "s", true, INPUT_AT(service), 0, "SERVICE",
	    "the store's profiles of a service, or several: a,b or 'web-*'", NULL),
	INPUT(MOMENT, "since", SOURCES, since, "T",
	      "start of the range: -2h30m, 14:03, yesterday 14:03 or RFC 3339"),
	INPUT(MOMENT, "until", SOURCES, until, "T", "end of the range"),
	INPUT(TEXT, "store", SOURCES, store, "DIR", "instead of /var/lib/profd"),
	INPUT(INTEGER, "seconds", SOURCES, seconds, "N", "for a URL: how long the server profiles"),
	INPUT(INTEGER, "timeout", SOURCES, timeout, "N",
	      "for a URL: seconds to wait (1.5 times --seconds, or 60)"),
	INPUT(TEXT, "tls_cert", SOURCES, tls_cert, "FILE", "for https: the client certificate"),
	INPUT(TEXT, "tls_key", SOURCES, tls_key, "FILE", "its private key"),
	INPUT(TEXT, "tls_ca", SOURCES, tls_ca, "FILE", "CA certificates"),
	INPUT(TEXT, "symbolize", SOURCES, symbolize, "MODE",
	      "none, local (files here), fastlocal (no lines), remote (servers), force (replace), "
	      "demangle=none|full|templates; separated by colons"),
	INPUT(TEXT, "buildid", SOURCES, buildid, "ID",
	      "the program's build id, if the profile has none"),
	INPUT(FLAG, "all_frames", SOURCES, all_frames, NULL,
	      "ignore the profile's drop_frames and keep_frames"),
	INPUT(TEXT, "add_comment", SOURCES, comment, "TEXT", "add this comment to the profile"),
	INPUT(FLAG, "url", SOURCES, url, NULL,
	      "print the address at which profd's page shows the same, with --since"),
	INPUT(FLAG, "interactive", SOURCES, interactive, NULL,
	      "start the prompt even without a terminal"),
	SETTING(TEXT, "source_path", SOURCES, print.source_path, "DIRS",
		"look for source files in these directories"),
	SETTING(TEXT, "trim_path", SOURCES, print.trim_path, "PATHS",
		"prefixes to remove from the names of source files"),
	ROW(TEXT, SOURCES, "output", "o", false, AT(output), 0, "FILE",
	    "the output file; - is standard output", NULL),
	{"help", "h", REPORT_OPTION_HELP, REPORT_GROUP_SOURCES, true, 0, 0, NULL, "print this",
	 NULL},
	{0},
};
