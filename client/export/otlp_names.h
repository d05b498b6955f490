/* SPDX-License-Identifier: MIT */
#ifndef PROFD_EXPORT_OTLP_NAMES_H
#define PROFD_EXPORT_OTLP_NAMES_H

/*
 * What OpenTelemetry calls things: its semantic conventions for attributes
 * (opentelemetry.io/docs/specs/semconv: process, container, k8s, profile). Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;
struct profile_location;

#define OTLP_SERVICE_NAME    "service.name"
#define OTLP_SERVICE_VERSION "service.version"
#define OTLP_HOST_NAME       "host.name"
#define OTLP_FRAME_TYPE      "profile.frame.type"
#define OTLP_BUILD_ID_GNU    "process.executable.build_id.gnu"
#define OTLP_BUILD_ID_GO     "process.executable.build_id.go"
#define OTLP_BUILD_ID_HTL    "process.executable.build_id.htlhash"
/* The value of service.name where nobody knows it. */
#define OTLP_SERVICE_UNKNOWN "unknown_service"

/*
 * The attribute of a label of samples; of a label that it has no name for, the label's own.
 * @is_pod: of a sample from a pod of Kubernetes.
 */
const char *otlp_name_of_label(const char *key, const char *value, bool is_pod);
/* The attribute of a mapping's build id; NULL: it is of no kind that is known. */
const char *otlp_name_of_build_id(const char *build_id);
/* The value of OTLP_FRAME_TYPE. */
const char *otlp_frame_type(const struct profile *p, const struct profile_location *l);

#endif
