/* SPDX-License-Identifier: MIT */
#ifndef PROFD_REPORT_PAGE_URL_H
#define PROFD_REPORT_PAGE_URL_H

/*
 * The address of profd's page (profd-gateway(8)) that answers the question of a report: which
 * parameters it has is the page's affair (client/gateway/page/state.js). Pure.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "client/report/options.h"

struct page_question {
	const struct report_options *options;
	const struct report_inputs *inputs;
	uint64_t since_ns, until_ns; /* of the inputs: Unix time */
};

/*
 * The part behind the host, on @out. REPORT_E_OK, or _BAD_OPTION: the page cannot show that, or not
 * by what was said; see @message.
 */
int page_url_print(FILE *out, const struct page_question *question,
		   struct profile_message *message);

/* What lists and live tables show: a service, a process or the machine. */
struct page_scope {
	const char *service;         /* "": none */
	int64_t pid;                 /* 0: none */
	uint64_t since_ns, until_ns; /* Unix time; 0: not given */
	bool is_table;               /* of functions; else what ran when */
};

/* As page_url_print(). Without since_ns: of a table the page's own range, else of a week. */
int page_url_print_scope(FILE *out, const struct page_scope *scope,
			 struct profile_message *message);

#endif
