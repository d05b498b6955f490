/* SPDX-License-Identifier: MIT */
#ifndef PROFD_EXPORT_OTLP_TYPES_H
#define PROFD_EXPORT_OTLP_TYPES_H

#include <stdbool.h>

struct profile;

/*
 * Which types of values an OTLP message has, by their number: all but one of a CPU profile's two,
 * which mean the same; were both sent, receivers would add them up. They take count times period
 * for CPU time, so it is samples/count where that is right, else cpu/nanoseconds.
 */
void otlp_choose_types(const struct profile *p, bool *ret_sent);

#endif
