/* SPDX-License-Identifier: MIT */
#include "client/report/options.h"

#include "client/analysis/shape.h"

#define AT(member)       offsetof(struct report_options, member)
#define INPUT_AT(member) offsetof(struct report_inputs, member)

#define VIEW(name, alias, which, summary)                                                          \
	{                                                                                          \
		name, alias, REPORT_OPTION_VIEW, REPORT_GROUP_VIEWS, false, AT(view), which, NULL, \
			summary, NULL                                                              \
	}
#define PATTERN_VIEW(name, which, summary)                                                   \
	{                                                                                    \
		name, NULL, REPORT_OPTION_VIEW_PATTERN, REPORT_GROUP_VIEWS, false, AT(view), \
			which, "RE", summary, NULL                                           \
	}
#define CONVERSION(name, which, summary)                                                          \
	{                                                                                         \
		name, NULL, REPORT_OPTION_VIEW, REPORT_GROUP_CONVERSIONS, false, AT(view), which, \
			NULL, summary, NULL                                                       \
	}
#define CHOICE(name, group, member, value, summary, details)                                      \
	{                                                                                         \
		name, NULL, REPORT_OPTION_CHOICE, group, false, AT(member), value, NULL, summary, \
			details                                                                   \
	}
#define FLAG(name, group, summary, details)                                                        \
	{                                                                                          \
#name, NULL, REPORT_OPTION_FLAG, group, false, AT(name), 0, NULL, summary, details \
	}
#define SETTING(kind, name, alias, group, argument, summary, details)                     \
	{                                                                                 \
#name, alias, kind, group, false, AT(name), 0, argument, summary, details \
	}
#define INPUT(kind, name, alias, group, member, argument, summary, details)                     \
	{                                                                                       \
		name, alias, kind, group, true, INPUT_AT(member), 0, argument, summary, details \
	}

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

	CHOICE("functions", REPORT_GROUP_GRANULARITY, granularity, SHAPE_FUNCTIONS,
	       "by function (the default)", NULL),
	CHOICE("filefunctions", REPORT_GROUP_GRANULARITY, granularity, SHAPE_FILEFUNCTIONS,
	       "by function and file", NULL),
	CHOICE("lines", REPORT_GROUP_GRANULARITY, granularity, SHAPE_LINES, "by source line", NULL),
	CHOICE("files", REPORT_GROUP_GRANULARITY, granularity, SHAPE_FILES, "by source file", NULL),
	CHOICE("addresses", REPORT_GROUP_GRANULARITY, granularity, SHAPE_ADDRESSES, "by address",
	       NULL),
	FLAG(noinlines, REPORT_GROUP_GRANULARITY, "inlined functions count for who called them",
	     NULL),
	FLAG(showcolumns, REPORT_GROUP_GRANULARITY, "source lines with their columns", NULL),
	FLAG(call_tree, REPORT_GROUP_GRANULARITY,
	     "in graphs, a function is one node for each way that leads to it", NULL),
	FLAG(compact_labels, REPORT_GROUP_GRANULARITY, "short headers", NULL),
	FLAG(intel_syntax, REPORT_GROUP_GRANULARITY, "instructions in Intel's syntax", NULL),

	CHOICE("flat", REPORT_GROUP_ORDER, cum, 0, "ordered by own values (the default)", NULL),
	CHOICE("cum", REPORT_GROUP_ORDER, cum, 1, "ordered by values with callees", NULL),
	SETTING(REPORT_OPTION_INTEGER, nodecount, NULL, REPORT_GROUP_ORDER, "N",
		"at most so many (all in --text, 80 in graphs)", NULL),
	SETTING(REPORT_OPTION_NUMBER, nodefraction, NULL, REPORT_GROUP_ORDER, "F",
		"not those below this part of the total (.005)", NULL),
	SETTING(REPORT_OPTION_NUMBER, edgefraction, NULL, REPORT_GROUP_ORDER, "F",
		"no calls below this part of the total (.001)", NULL),
	SETTING(REPORT_OPTION_INTEGER, maxdegree, NULL, REPORT_GROUP_ORDER, "N",
		"in graphs, at most so many callers and callees each", NULL),
	FLAG(trim, REPORT_GROUP_ORDER, "the limits above hold (--trim=false: they do not)", NULL),
	FLAG(drop_negative, REPORT_GROUP_ORDER, "of differences, what grew alone", NULL),
	FLAG(relative_percentages, REPORT_GROUP_ORDER,
	     "percentages of what the filters let through", NULL),

	SETTING(REPORT_OPTION_TEXT, focus, NULL, REPORT_GROUP_FILTERS, "RE",
		"only samples with a matching frame", matching),
	SETTING(REPORT_OPTION_TEXT, ignore, NULL, REPORT_GROUP_FILTERS, "RE",
		"only samples without one", matching),
	SETTING(REPORT_OPTION_TEXT, hide, NULL, REPORT_GROUP_FILTERS, "RE",
		"without the frames that match", matching),
	SETTING(REPORT_OPTION_TEXT, show, NULL, REPORT_GROUP_FILTERS, "RE",
		"with these frames alone", matching),
	SETTING(REPORT_OPTION_TEXT, show_from, NULL, REPORT_GROUP_FILTERS, "RE",
		"without what called the outermost matching frame", matching),
	SETTING(REPORT_OPTION_TEXT, prune_from, NULL, REPORT_GROUP_FILTERS, "RE",
		"without matching frames and what they called", matching),
	SETTING(REPORT_OPTION_TEXT, tagfocus, NULL, REPORT_GROUP_FILTERS, "TAGS",
		"only samples with such tags", tag_filter),
	SETTING(REPORT_OPTION_TEXT, tagignore, NULL, REPORT_GROUP_FILTERS, "TAGS",
		"only samples without them", tag_filter),
	SETTING(REPORT_OPTION_TEXT, tagshow, NULL, REPORT_GROUP_FILTERS, "RE",
		"of the tags, those whose key matches", NULL),
	SETTING(REPORT_OPTION_TEXT, taghide, NULL, REPORT_GROUP_FILTERS, "RE",
		"of the tags, the others", NULL),
	SETTING(REPORT_OPTION_TEXT, tagroot, NULL, REPORT_GROUP_FILTERS, "KEYS",
		"tags as frames at the root", "Keys of tags, with commas between them.\n"),
	SETTING(REPORT_OPTION_TEXT, tagleaf, NULL, REPORT_GROUP_FILTERS, "KEYS",
		"tags as frames at the leaf", "Keys of tags, with commas between them.\n"),

	SETTING(REPORT_OPTION_TEXT, sample_index, NULL, REPORT_GROUP_VALUES, "TYPE",
		"which of the samples' values: a name, or a number from 0 on", NULL),
	FLAG(mean, REPORT_GROUP_VALUES, "the value divided by the first one", NULL),
	SETTING(REPORT_OPTION_TEXT, unit, NULL, REPORT_GROUP_VALUES, "UNIT",
		"ms, s, MB ...; auto: each its own; minimum (the default): one for all", NULL),
	SETTING(REPORT_OPTION_NUMBER, divide_by, NULL, REPORT_GROUP_VALUES, "N",
		"all values divided by N", NULL),

	INPUT(REPORT_OPTION_LIST, "base", NULL, REPORT_GROUP_COMPARISON, bases, "FILE",
	      "subtract this profile", NULL),
	INPUT(REPORT_OPTION_LIST, "diff_base", NULL, REPORT_GROUP_COMPARISON, bases, "FILE",
	      "the same; percentages are of this profile's total", NULL),
	INPUT(REPORT_OPTION_FLAG, "normalize", NULL, REPORT_GROUP_COMPARISON, normalize, NULL,
	      "first scale the profile to the base's total", NULL),

	INPUT(REPORT_OPTION_TEXT, "service", "s", REPORT_GROUP_SOURCES, service, "SERVICE",
	      "what the store holds of a service", NULL),
	INPUT(REPORT_OPTION_TEXT, "since", NULL, REPORT_GROUP_SOURCES, since, "T",
	      "from then on: -10m (ago), 14:30, today, yesterday, RFC 3339", NULL),
	INPUT(REPORT_OPTION_TEXT, "until", NULL, REPORT_GROUP_SOURCES, until, "T", "up to then",
	      NULL),
	INPUT(REPORT_OPTION_TEXT, "store", NULL, REPORT_GROUP_SOURCES, store, "DIR",
	      "instead of /var/lib/profd", NULL),
	INPUT(REPORT_OPTION_INTEGER, "seconds", NULL, REPORT_GROUP_SOURCES, seconds, "N",
	      "of a URL: have the server profile for so long", NULL),
	INPUT(REPORT_OPTION_INTEGER, "timeout", NULL, REPORT_GROUP_SOURCES, timeout, "N",
	      "of a URL: seconds to wait (half as long again as --seconds, else 60)", NULL),
	INPUT(REPORT_OPTION_TEXT, "tls_cert", NULL, REPORT_GROUP_SOURCES, tls_cert, "FILE",
	      "of https: a certificate for this side", NULL),
	INPUT(REPORT_OPTION_TEXT, "tls_key", NULL, REPORT_GROUP_SOURCES, tls_key, "FILE",
	      "its private key", NULL),
	INPUT(REPORT_OPTION_TEXT, "tls_ca", NULL, REPORT_GROUP_SOURCES, tls_ca, "FILE",
	      "certificates of those who vouch for servers", NULL),
	INPUT(REPORT_OPTION_TEXT, "symbolize", NULL, REPORT_GROUP_SOURCES, symbolize, "MODE",
	      "none, local (files here), fastlocal (no lines), remote (servers), force (anew),\n"
	      "                           demangle=none|full|templates; colons between several",
	      NULL),
	INPUT(REPORT_OPTION_TEXT, "buildid", NULL, REPORT_GROUP_SOURCES, buildid, "ID",
	      "the program's build id, where the profile has none", NULL),
	INPUT(REPORT_OPTION_LIST, "add_lib", NULL, REPORT_GROUP_SOURCES, libraries, "FILE",
	      "look here for the library of that name", NULL),
	INPUT(REPORT_OPTION_TEXT, "lib_prefix", NULL, REPORT_GROUP_SOURCES, lib_prefix, "DIRS",
	      "look for programs and libraries below these, too", NULL),
	INPUT(REPORT_OPTION_TEXT, "tools", NULL, REPORT_GROUP_SOURCES, tools, "DIR",
	      "does nothing; taken for scripts that have it: no binutils are run", NULL),
	INPUT(REPORT_OPTION_FLAG, "all_frames", NULL, REPORT_GROUP_SOURCES, all_frames, NULL,
	      "ignore the profile's drop_frames and keep_frames", NULL),
	INPUT(REPORT_OPTION_TEXT, "add_comment", NULL, REPORT_GROUP_SOURCES, comment, "TEXT",
	      "add this comment to the profile", NULL),
	INPUT(REPORT_OPTION_FLAG, "auto_signal_frames", NULL, REPORT_GROUP_SOURCES,
	      auto_signal_frames, NULL, "drop second frames that all samples share",
	      "As google-pprof does with legacy profiles, which takes them for the signal's.\n"),
	INPUT(REPORT_OPTION_FLAG, "interactive", NULL, REPORT_GROUP_SOURCES, interactive, NULL,
	      "ask for commands, wherever they come from", NULL),
	SETTING(REPORT_OPTION_TEXT, source_path, NULL, REPORT_GROUP_SOURCES, "DIRS",
		"look for source files here", NULL),
	SETTING(REPORT_OPTION_TEXT, trim_path, NULL, REPORT_GROUP_SOURCES, "PATHS",
		"what to take off the front of source files' names", NULL),
	SETTING(REPORT_OPTION_TEXT, output, "o", REPORT_GROUP_SOURCES, "FILE",
		"write there; - is standard output", NULL),
	{"help", "h", REPORT_OPTION_HELP, REPORT_GROUP_SOURCES, true, 0, 0, NULL, "this", NULL},
	{0},
};
