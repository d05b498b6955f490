/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_FORMATS_PERF_SCRIPT_LINES_H
#define PROFD_CLIENT_FORMATS_PERF_SCRIPT_LINES_H

/* What the lines are that perf-script(1) prints. Internal to client/formats; pure. */
#include <stdbool.h>
#include <stdint.h>

#include "client/formats/text_lines.h"

struct perf_script_head {
	struct text_span comm, event, rest; /* empty: not printed; rest: a frame or nothing */
	int64_t pid, tid;                   /* -1: not printed */
	int64_t period;                     /* 1: perhaps not printed */
	bool has_period, has_time;
};

struct perf_script_frame {
	uint64_t address;
	struct text_span symbol, object; /* without brackets and offset; empty: not known */
	bool is_inlined;
};

enum perf_script_kind {
	PERF_SCRIPT_END, /* of a sample */
	PERF_SCRIPT_HEAD,
	PERF_SCRIPT_FRAME,
	PERF_SCRIPT_OTHER,
};

struct perf_script_lines {
	struct text_lines lines;
	bool in_sample, is_headless;
	struct perf_script_head head;   /* of the last line, if it is one */
	struct perf_script_frame frame; /* the same */
};

/* What the next line is; its number and bytes in *ret_line. False: there is none. */
bool perf_script_next(struct perf_script_lines *l, struct text_line *ret_line,
		      enum perf_script_kind *ret);
/* A frame at the beginning of @line. False: it is none. */
bool perf_script_frame(struct text_span line, struct perf_script_frame *ret);

#endif
