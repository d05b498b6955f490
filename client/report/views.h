/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_VIEWS_H
#define PROFD_REPORT_VIEWS_H

/*
 * The views of a report, a row each: its number (REPORT_*), its option with alias, kind and group,
 * what help says of it, and how it is made (struct maker). Another view is a row here and a file
 * with its class.
 */
#include "client/analysis/view.h"
#include "client/code/code_view.h"
#include "client/formats/any_read.h"
#include "client/report/picture.h"

#define REPORT_PICTURE(format) .class = &view_dot, .units = true, .draws = (format), .headed = true

/* clang-format off */
#define REPORT_VIEWS(X) \
	X(TEXT, "text", "top", VIEW, VIEWS, "one line per function, the hottest first", \
	  .class = &view_text, .headed = true), \
	X(TREE, "tree", NULL, VIEW, VIEWS, "the same, with callers and callees", \
	  .class = &view_tree, .headed = true), \
	X(PEEK, "peek", NULL, VIEW_PATTERN, VIEWS, \
	  "callers and callees of the functions that match", .class = &view_peek, .headed = true), \
	X(TRACES, "traces", NULL, VIEW, VIEWS, "all stacks", \
	  .class = &view_traces, .headed = true, .held = true, .units = true, .paths = true), \
	X(TAGS, "tags", NULL, VIEW, VIEWS, "labels and their values", \
	  .class = &view_tags, .held = true, .units = true, .frameless = true), \
	X(WAITS, "waits", NULL, VIEW, VIEWS, "what threads waited for, and where", \
	  .class = &view_waits, .type = "off_cpu", .headed = true, .objects = true, \
	  .frameless = true, .json = true), \
	X(RAW, "raw", NULL, VIEW, VIEWS, "the whole profile as text", \
	  .converts = true, .print = raw_write, .frameless = true), \
	X(COMMENTS, "comments", NULL, VIEW, VIEWS, "the profile's comments", \
	  .class = &view_comments), \
	X(LIST, "list", NULL, VIEW_PATTERN, VIEWS, \
	  "annotated source of the functions that match", \
	  .class = &view_list, .code = true, .objects = true, .lines = true), \
	X(WEBLIST, "weblist", NULL, VIEW_PATTERN, VIEWS, \
	  "the same with instructions, as an HTML page", \
	  .class = &view_weblist, .code = true, .binary = true, .inlined = true), \
	X(DISASM, "disasm", NULL, VIEW_PATTERN, VIEWS, \
	  "annotated instructions of the functions that match", \
	  .class = &view_disasm, .code = true, .outermost = true), \
	X(FLAME, "flame", NULL, VIEW, VIEWS, "a flame graph: one HTML file", \
	  .class = &view_flame, .headed = true, .objects = true, .binary = true, .adds_up = true, \
	  .rooted = true), \
	X(DOT, "dot", NULL, VIEW, VIEWS, "the call graph in graphviz's language", \
	  .class = &view_dot, .units = true, .headed = true), \
	X(SVG, "svg", NULL, VIEW, VIEWS, "the call graph as SVG (needs graphviz)", \
	  REPORT_PICTURE("svg"), .binary = true), \
	X(PDF, "pdf", NULL, VIEW, VIEWS, "the call graph as PDF (needs graphviz)", \
	  REPORT_PICTURE("pdf"), .binary = true), \
	X(PNG, "png", NULL, VIEW, VIEWS, "the call graph as PNG (needs graphviz)", \
	  REPORT_PICTURE("png"), .binary = true), \
	X(GIF, "gif", NULL, VIEW, VIEWS, "the call graph as GIF (needs graphviz)", \
	  REPORT_PICTURE("gif"), .binary = true), \
	X(PS, "ps", NULL, VIEW, VIEWS, "the call graph as PostScript (needs graphviz)", \
	  REPORT_PICTURE("ps"), .binary = true), \
	X(WEB, "web", NULL, VIEW, VIEWS, "the call graph, opened in a browser", \
	  REPORT_PICTURE("svg"), .shows = ".svg", .window = PICTURE_BROWSER), \
	X(GV, "gv", NULL, VIEW, VIEWS, "the call graph, opened in gv", \
	  REPORT_PICTURE("ps"), .shows = ".ps", .window = PICTURE_GV), \
	X(CALLGRIND, "callgrind", NULL, VIEW, VIEWS, "the call graph in callgrind's format", \
	  .class = &view_callgrind), \
	X(KCACHEGRIND, "kcachegrind", NULL, VIEW, VIEWS, "the same, opened in kcachegrind", \
	  .class = &view_callgrind, .shows = ".callgrind", .window = PICTURE_KCACHEGRIND), \
	X(PROTO, "proto", NULL, VIEW, CONVERSIONS, "gzip'ed profile.proto", \
	  .converts = true, .format = ANY_PPROF, .frameless = true, .binary = true), \
	X(TOPPROTO, "topproto", NULL, VIEW, CONVERSIONS, "the table of --text as profile.proto", \
	  .class = &view_top_proto, .binary = true), \
	X(LEGACY, "legacy", NULL, VIEW, CONVERSIONS, "a legacy CPU profile", \
	  .converts = true, .format = ANY_CPUPROFILE, .binary = true), \
	X(COLLAPSED, "collapsed", NULL, VIEW, CONVERSIONS, \
	  "one line per stack, for flame graph programs", \
	  .converts = true, .format = ANY_COLLAPSED, .adds_up = true, .one_type = true), \
	X(SPEEDSCOPE, "speedscope", NULL, VIEW, CONVERSIONS, "JSON for speedscope", \
	  .class = &view_speedscope, .objects = true, .adds_up = true)
/* clang-format on */

/* What a view is made by, and what it asks of its stacks beyond what it says itself. */
struct maker {
	const struct view_class *class; /* NULL: what is left becomes a profile */
	bool converts;          /* the profile as it is, but for the filters: by address, held */
	enum any_format format; /* to that, unless there is: */
	int (*print)(const struct profile *p, FILE *out); /* 0 or negative errno */
	const char *draws;                                /* what graphviz makes of it, or NULL */
	const char *shows; /* how a file of it is called, which a window shows; or NULL */
	enum picture_window window;
	const char *type; /* the only type of values that it shows, or NULL */
	bool json;        /* may be asked for as JSON */
	bool headed;      /* prints notes, unless the user wants no header */
	bool binary;      /* nothing for a terminal */
	bool code;        /* reads programs */
	bool paths;       /* names of files with their directories */
	bool objects;     /* tells files and modules, whatever the granularity */
	bool held;        /* all samples at once */
	bool frameless;   /* samples that have no frames as well */
	bool units;       /* prints labels' numbers */
	bool lines;       /* tells lines, whatever the granularity */
	bool inlined;     /* inlined functions, whatever the user asked for */
	bool outermost;   /* no inlined functions: what is inlined lies at the same address */
	bool adds_up;     /* what a function calls is part of it, which means are not */
	bool one_type;    /* of a conversion: to a format of one value */
	bool rooted;      /* of several services: at them, then at their processes */
};

#endif
