/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_STATUS_H
#define PROFD_PROFCTL_STATUS_H

/* The daemon's status, for people and as JSON. Only writes to the stream it is given. */
#include <stdbool.h>
#include <stdio.h>

#include "control.pb-c.h"

/* Takes control characters out of its texts. Returns 0 or negative errno. */
int status_print(const Profd__Control__Status *status, bool color, FILE *out);
/* What leads: a terminal's worth of it. */
int status_print_short(const Profd__Control__Status *status, bool color, FILE *out);
/* What is wrong, one line each. */
void status_print_warnings(const Profd__Control__Status *status, FILE *out);
/* One object; its field names are part of profctl's interface. @compact: in one line. */
void status_print_json(const Profd__Control__Status *status, bool compact, FILE *out);

/* How stacks ended, in one line. */
void status_print_stacks(const Profd__Control__Ledger *ledger, FILE *out);
/* The part of @whole, which may be 0, in percent. */
double status_percent(uint64_t part, uint64_t whole);
/* Of reasons: the sum of all, and the count of the one that has @name, or 0. */
uint64_t status_sum(Profd__Control__Reason *const *reasons, size_t n);
uint64_t status_reason(Profd__Control__Reason *const *reasons, size_t n, const char *name);

#endif
