/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_VIEW_VIEW_PROTOCOL_H
#define PROFD_CLIENT_GATEWAY_VIEW_VIEW_PROTOCOL_H

/*
 * What the gateway and a viewer, `profd-gateway --view`, say to each other over a SOCK_STREAM pair
 * that the viewer has as CHILD_FIRST_FD: a request with its profiles as files (SCM_RIGHTS), and its
 * answer. Both are one program; the magic number shows if they are not.
 */
#include <stdint.h>

#include "client/export/target.h"
#include "client/gateway/view/question.h"

#define VIEW_SOCKET_FD  3
#define VIEW_MAGIC      0x76697731u
#define VIEW_ANSWER_MAX (UINT64_C(1) << 20)  /* bytes of JSON */
#define VIEW_FILES_MAX  3u                   /* a profile, its base, a source */
#define VIEW_SOURCE_MAX ((size_t)2 << 20)    /* bytes of a source file */
#define VIEW_STORE_MAX  4096u                /* bytes of the path of a store */
#define VIEW_WHY_MAX    128u                 /* bytes of why there is none */
#define VIEW_TEXT_MAX   2048u                /* bytes of a text, with its NUL */
#define VIEW_MERGED_MAX (UINT64_C(72) << 20) /* of a profile, or of bodies */
#define VIEW_REASON_MAX 300u                 /* bytes of why there is none */

/* What a viewer may have, whatever is in the profile. */
#define VIEW_MEMORY_BYTES (UINT64_C(384) << 20)
#define VIEW_CPU_S        60u

enum view_task {
	VIEW_QUESTION, /* JSON */
	VIEW_MERGE,    /* the only file has pieces (pieces.h): one profile of them */
	VIEW_FLAT,     /* lines of flat.h */
	VIEW_SOURCE, /* of the question, whose view is the source: the name of the file, as it is */
	VIEW_EXPORT, /* of one window: exported.h */
};

/* Bytes that an answer may have. */
static inline uint64_t view_answer_max(uint32_t task)
{
	return task == VIEW_MERGE || task == VIEW_EXPORT ? VIEW_MERGED_MAX : VIEW_ANSWER_MAX;
}

/* Where the text of a source view is: a viewer opens nothing. */
enum view_source {
	VIEW_SOURCE_CLOSED,  /* this gateway opens no sources */
	VIEW_SOURCE_OPEN,    /* the last one of the files */
	VIEW_SOURCE_MISSING, /* source_why */
};

struct view_merge {
	uint64_t is_legacy;           /* in gperftools' format, with names: merged.h */
	uint64_t number;              /* of its made-up addresses */
	int64_t time_ns, duration_ns; /* that was sampled; 0: as the pieces have it */
};

/* client/export/target.h; the texts are those of a struct export_scope; the window names its host.
 */
struct view_export {
	char kind[EXPORT_KIND_MAX];
	char service[VIEW_TEXT_MAX];
	char labels[VIEW_TEXT_MAX], keep[VIEW_TEXT_MAX];
	uint64_t max_part;
};

/* What is asked, for the command that answers the same question. */
struct view_origin {
	uint32_t is_files;          /* files that were opened, of which no command has the names */
	char store[VIEW_STORE_MAX]; /* "": a running profd */
};

struct view_request {
	uint32_t magic;
	uint32_t task; /* enum view_task */
	uint64_t n_files;
	struct view_merge merge;
	struct view_export export;
	uint64_t n_windows; /* of the profile, which names them no more */
	struct view_origin origin;
	struct question question;
	uint32_t source; /* enum view_source */
	char source_why[VIEW_WHY_MAX];
	int64_t source_changed_s; /* Unix time; 0: not known */
	/* Of a heat map: which steps of the range the machine's windows span; none: not known. */
	uint64_t covered_since_ns, covered_step_ns;
	uint32_t n_covered;
	uint8_t is_covered[QUESTION_STEPS_MAX];
};

/* Then `length` bytes of what was asked for, or of text where the status is not 200. */
struct view_answer {
	uint32_t magic;
	uint32_t status; /* of HTTP */
	uint64_t length;
};

#endif
