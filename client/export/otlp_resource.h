/* SPDX-License-Identifier: MIT */
#ifndef PROFD_EXPORT_OTLP_RESOURCE_H
#define PROFD_EXPORT_OTLP_RESOURCE_H

/* What an OTLP message is of, and from: Resource and InstrumentationScope. */
#include "client/export/proto_out.h"

struct export_scope;

/*
 * Field @number: service.name, service.version, host.name and the configured labels, which replace
 * these, each as plain key and text, which all receivers read. @scope has no NULLs; @service and
 * @version may be "". 0 or negative errno.
 */
int otlp_put_resource(struct proto_out *out, uint32_t number, const struct export_scope *scope,
		      const char *service, const char *version);
/* Field @number: profd and its version. */
void otlp_put_instrumentation(struct proto_out *out, uint32_t number);

#endif
