/* SPDX-License-Identifier: MIT */
#ifndef PROFD_EXPORT_OTLP_H
#define PROFD_EXPORT_OTLP_H

/*
 * A profile as an OTLP message: ExportProfilesServiceRequest, which is ProfilesData, of
 * opentelemetry-proto's profiles/v1development at version 1.11. Receivers accept what breaks its
 * rules and show it wrongly, so all of these hold here whatever the profile is; the checks of
 * tests/integration/otlp_rules.py list them. (But one: where samples of a difference add up to 0,
 * what they refer to is in the dictionary.)
 *
 * Each service is a resource with a profile for each type of values. Of CPU profiles that is
 * samples/count, of period type cpu/nanoseconds, where count times period is the CPU time, and else
 * cpu/nanoseconds; waits are off_cpu/nanoseconds, of that as its period type. Labels of samples are
 * attributes by OpenTelemetry's names (otlp_names.h), with service.name on each sample as well;
 * samples that are equal in stack and labels are one. The label `window` is not sent. Pure.
 */
#include <stddef.h>
#include <stdint.h>

struct export_scope;
struct profile;

/*
 * The samples of @p from the @first on, at most @n of them; @scope may be all zero: all labels of
 * samples are kept, and these name the services. *ret: malloc'ed. 0 or negative errno.
 */
int otlp_write(const struct profile *p, size_t first, size_t n, const struct export_scope *scope,
	       uint8_t **ret, size_t *ret_length);

#endif
