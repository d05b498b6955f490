/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_VIEW_COMMAND_H
#define PROFD_CLIENT_GATEWAY_VIEW_COMMAND_H

/* The same question, asked with profctl. Pure. */
#include "client/gateway/view/question.h"

/*
 * A line for a shell (sh(1)), with one command or several. @store: the directory that is asked, of
 * no running profd; NULL or "": that of profd. *ret is malloc'ed; NULL: profctl cannot answer that.
 * 0 or -ENOMEM.
 */
int command_print(const struct question *q, const char *store, char **ret);

/*
 * One regular expression for the filters of a kind, any of which may match; NULL: there are none.
 * *ret is malloc'ed. 0 or -ENOMEM.
 */
int question_join_filters(const struct question *q, enum question_filter_kind kind, char **ret);

#endif
