/* SPDX-License-Identifier: MIT */
/*
 * A row an option: its name, its kind, where its value lies, and what help says of it. Another
 * option is another row.
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
#define VIEW(name, alias, which, summary) \
	ROW(VIEW, VIEWS, name, alias, false, AT(view), which, NULL, summary, NULL)
#define PATTERN_VIEW(name, which, summary) \
	ROW(VIEW_PATTERN, VIEWS, name, NULL, false, AT(view), which, "RE", summary, NULL)
#define CONVERSION(name, which, summary) \
	ROW(VIEW, CONVERSIONS, name, NULL, false, AT(view), which, NULL, summary, NULL)
#define CHOICE(name, group, member, value, summary) \
	ROW(CHOICE, group, name, NULL, false, AT(member), value, NULL, summary, NULL)
#define FLAG(name, group, member, summary) \
	ROW(FLAG, group, name, NULL, false, AT(member), 0, NULL, summary, NULL)
#define SETTING(kind, name, alias, group, member, argument, summary) \
	ROW(kind, group, name, alias, false, AT(member), 0, argument, summary, NULL)
#define FILTER(name, argument, summary, details) \
	ROW(TEXT, FILTERS, #name, NULL, false, AT(shape.name), 0, argument, summary, details)
#define INPUT(kind, name, alias, group, member, argument, summary, details) \
	ROW(kind, group, name, alias, true, INPUT_AT(member), 0, argument, summary, details)

static const char matching[] =
	"A regular expression, looked for in the function's name, its file's "
	"and its object's.\n";
static const char tag_filter[] =
	"tag=RE: that tag's texts; RE: key:text of any tag; several with commas "
	"between them.\n"
	"Numbers are ranges: 32kb, :64kb, 4mb:, 12kb:64mb, bytes=32kb:.\n";

const struct report_option report_options_all[] = {
	VIEW("text", "top", REPORT_TEXT, "a line for each function, the hottest first"),
	VIEW("tree", NULL, REPORT_TREE, "each with its callers and callees"),
	PATTERN_VIEW("peek", REPORT_PEEK, "callers and callees of those that match"),
	VIEW("traces", NULL, REPORT_TRACES, "every stack"),
	VIEW("tags", NULL, REPORT_TAGS, "labels and their values"),
	VIEW("raw", NULL, REPORT_RAW, "all that the profile holds, as text"),
	VIEW("comments", NULL, REPORT_COMMENTS, "the profile's comments"),
	PATTERN_VIEW("list", REPORT_LIST, "annotated source of the functions that match"),
	PATTERN_VIEW("weblist", REPORT_WEBLIST, "the same with instructions, as a page"),
	PATTERN_VIEW("disasm", REPORT_DISASM, "annotated instructions of them"),
	VIEW("flame", NULL, REPORT_FLAME, "a flame graph: one HTML file"),
	VIEW("dot", NULL, REPORT_DOT, "the call graph in graphviz's language"),
	VIEW("svg", NULL, REPORT_SVG, "the call graph as SVG (needs graphviz)"),
	VIEW("pdf", NULL, REPORT_PDF, "the call graph as PDF (needs graphviz)"),
	VIEW("png", NULL, REPORT_PNG, "the call graph as PNG (needs graphviz)"),
	VIEW("gif", NULL, REPORT_GIF, "the call graph as GIF (needs graphviz)"),
	VIEW("ps", NULL, REPORT_PS, "the call graph as PostScript (needs graphviz)"),
	VIEW("web", NULL, REPORT_WEB, "the call graph, shown by a browser"),
	VIEW("gv", NULL, REPORT_GV, "the call graph, shown by gv"),
	VIEW("callgrind", NULL, REPORT_CALLGRIND, "the call graph as callgrind writes it"),
	VIEW("kcachegrind", NULL, REPORT_KCACHEGRIND, "the same, shown by kcachegrind"),

	CONVERSION("proto", REPORT_PROTO, "gzip'ed profile.proto"),
	CONVERSION("legacy", REPORT_LEGACY, "a legacy CPU profile"),
	CONVERSION("collapsed", REPORT_COLLAPSED,
		   "a line for each stack, as flame graph programs "
		   "take them"),
	CONVERSION("speedscope", REPORT_SPEEDSCOPE, "JSON for speedscope"),

	CHOICE("functions", GRANULARITY, shape.granularity, SHAPE_FUNCTIONS,
	       "by function (the default)"),
	CHOICE("filefunctions", GRANULARITY, shape.granularity, SHAPE_FILEFUNCTIONS,
	       "by function and file"),
	CHOICE("lines", GRANULARITY, shape.granularity, SHAPE_LINES, "by source line"),
	CHOICE("files", GRANULARITY, shape.granularity, SHAPE_FILES, "by source file"),
	CHOICE("addresses", GRANULARITY, shape.granularity, SHAPE_ADDRESSES, "by address"),
	FLAG("noinlines", GRANULARITY, shape.no_inlines,
	     "inlined functions count for who called them"),
	FLAG("showcolumns", GRANULARITY, shape.show_columns, "source lines with their columns"),
	FLAG("call_tree", GRANULARITY, print.call_tree,
	     "in graphs, a function is one node for each way that leads to it"),
	FLAG("compact_labels", GRANULARITY, print.compact_labels, "short headers"),
	FLAG("intel_syntax", GRANULARITY, print.intel_syntax, "instructions in Intel's syntax"),

	CHOICE("flat", ORDER, print.by_cum, 0, "ordered by own values (the default)"),
	CHOICE("cum", ORDER, print.by_cum, 1, "ordered by values with callees"),
	SETTING(INTEGER, "nodecount", NULL, ORDER, print.nodecount, "N",
		"at most so many (all in --text, 80 in graphs)"),
	SETTING(NUMBER, "nodefraction", NULL, ORDER, print.nodefraction, "F",
		"not those below this part of the total (.005)"),
	SETTING(NUMBER, "edgefraction", NULL, ORDER, print.edgefraction, "F",
		"no calls below this part of the total (.001)"),
	SETTING(INTEGER, "maxdegree", NULL, ORDER, print.maxdegree, "N",
		"in graphs, at most so many callers and callees each"),
	FLAG("trim", ORDER, print.trim, "the limits above hold (--trim=false: they do not)"),
	FLAG("drop_negative", ORDER, print.drop_negative, "of differences, what grew alone"),
	FLAG("relative_percentages", ORDER, relative_percentages,
	     "percentages of what the filters let through"),

	FILTER(focus, "RE", "only samples with a matching frame", matching),
	FILTER(ignore, "RE", "only samples without one", matching),
	FILTER(hide, "RE", "without the frames that match", matching),
	FILTER(show, "RE", "with these frames alone", matching),
	FILTER(show_from, "RE", "without what called the outermost matching frame", matching),
	FILTER(prune_from, "RE", "without matching frames and what they called", matching),
	FILTER(tagfocus, "TAGS", "only samples with such tags", tag_filter),
	FILTER(tagignore, "TAGS", "only samples without them", tag_filter),
	FILTER(tagshow, "RE", "of the tags, those whose key matches", NULL),
	FILTER(taghide, "RE", "of the tags, the others", NULL),
	FILTER(tagroot, "KEYS", "tags as frames at the root",
	       "Keys of tags, with commas between them.\n"),
	FILTER(tagleaf, "KEYS", "tags as frames at the leaf",
	       "Keys of tags, with commas between them.\n"),

	SETTING(TEXT, "sample_index", NULL, VALUES, sample_index, "TYPE",
		"which of the samples' values: a name, or a number from 0 on"),
	FLAG("mean", VALUES, mean, "the value divided by the first one"),
	SETTING(TEXT, "unit", NULL, VALUES, print.unit, "UNIT",
		"ms, s, MB ...; auto: each its own; minimum (the default): one for all"),
	SETTING(NUMBER, "divide_by", NULL, VALUES, print.divide_by, "N", "all values divided by N"),

	INPUT(LIST, "base", NULL, COMPARISON, bases, "FILE", "subtract this profile", NULL),
	INPUT(LIST, "diff_base", NULL, COMPARISON, bases, "FILE",
	      "the same; percentages are of this profile's total", NULL),
	INPUT(FLAG, "normalize", NULL, COMPARISON, normalize, NULL,
	      "first scale the profile to the base's total", NULL),

	INPUT(TEXT, "service", "s", SOURCES, service, "SERVICE",
	      "what the store holds of a service", NULL),
	INPUT(TEXT, "since", NULL, SOURCES, since, "T",
	      "from then on: -10m (ago), 14:30, today, yesterday, RFC 3339", NULL),
	INPUT(TEXT, "until", NULL, SOURCES, until, "T", "up to then", NULL),
	INPUT(TEXT, "store", NULL, SOURCES, store, "DIR", "instead of /var/lib/profd", NULL),
	INPUT(INTEGER, "seconds", NULL, SOURCES, seconds, "N",
	      "of a URL: have the server profile for so long", NULL),
	INPUT(INTEGER, "timeout", NULL, SOURCES, timeout, "N",
	      "of a URL: seconds to wait (half as long again as --seconds, else 60)", NULL),
	INPUT(TEXT, "tls_cert", NULL, SOURCES, tls_cert, "FILE",
	      "of https: a certificate for this side", NULL),
	INPUT(TEXT, "tls_key", NULL, SOURCES, tls_key, "FILE", "its private key", NULL),
	INPUT(TEXT, "tls_ca", NULL, SOURCES, tls_ca, "FILE",
	      "certificates of those who vouch for servers", NULL),
	INPUT(TEXT, "symbolize", NULL, SOURCES, symbolize, "MODE",
	      "none, local (files here), fastlocal (no lines), remote (servers), force (anew),\n"
	      "                           demangle=none|full|templates; colons between several",
	      NULL),
	INPUT(TEXT, "buildid", NULL, SOURCES, buildid, "ID",
	      "the program's build id, where the profile has none", NULL),
	INPUT(LIST, "add_lib", NULL, SOURCES, libraries, "FILE",
	      "look here for the library of that name", NULL),
	INPUT(TEXT, "lib_prefix", NULL, SOURCES, lib_prefix, "DIRS",
	      "look for programs and libraries below these, too", NULL),
	INPUT(TEXT, "tools", NULL, SOURCES, tools, "DIR",
	      "does nothing; taken for scripts that have it: no binutils are run", NULL),
	INPUT(FLAG, "all_frames", NULL, SOURCES, all_frames, NULL,
	      "ignore the profile's drop_frames and keep_frames", NULL),
	INPUT(TEXT, "add_comment", NULL, SOURCES, comment, "TEXT",
	      "add this comment to the profile", NULL),
	INPUT(FLAG, "auto_signal_frames", NULL, SOURCES, auto_signal_frames, NULL,
	      "drop second frames that all samples share",
	      "As google-pprof does with legacy profiles, which takes them for the signal's.\n"),
	INPUT(FLAG, "interactive", NULL, SOURCES, interactive, NULL,
	      "ask for commands, wherever they come from", NULL),
	SETTING(TEXT, "source_path", NULL, SOURCES, print.source_path, "DIRS",
		"look for source files here"),
	SETTING(TEXT, "trim_path", NULL, SOURCES, print.trim_path, "PATHS",
		"what to take off the front of source files' names"),
	SETTING(TEXT, "output", "o", SOURCES, output, "FILE", "write there; - is standard output"),
	{"help", "h", REPORT_OPTION_HELP, REPORT_GROUP_SOURCES, true, 0, 0, NULL, "this", NULL},
	{0},
};
