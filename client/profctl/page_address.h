/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_PAGE_ADDRESS_H
#define PROFD_PROFCTL_PAGE_ADDRESS_H

/* --url of report, list and top: where the page answers the same question. */
#include "client/profctl/profctl.h"
#include "client/report/page_url.h"

/*
 * Prints it, beginning with the host if [http] of profd.conf listens on TCP. Returns the exit
 * status.
 */
int page_address_print(const struct context *context, const struct page_question *question);
int page_address_print_scope(const struct context *context, const struct page_scope *scope);

#endif
