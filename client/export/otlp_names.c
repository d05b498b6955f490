/* SPDX-License-Identifier: MIT */
#include "client/export/otlp_names.h"

#include <string.h>

#include "client/analysis/frame_kind.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/profile.h"

#define HEX_DIGITS       "0123456789abcdef"
#define CONTAINER_ID_MIN 12u /* of which some show so much */

static bool otlp_is_hex(const char *text)
{
	return *text && !text[strspn(text, HEX_DIGITS)];
}

/* --- labels ----------------------------------------------------------------------------------- */

static const struct {
	const char *label, *attribute;
} otlp_labels[] = {
	{"service", OTLP_SERVICE_NAME},
	{"pid", "process.pid"},
	{"comm", "process.executable.name"},
	{"thread", "thread.name"},
	{"tid", "thread.id"},
	{"cgroup", "process.linux.cgroup"},
	{"pod", "k8s.pod.name"},
	{"namespace", "k8s.namespace.name"},
	{"image", "container.image.name"},
	{"version", OTLP_SERVICE_VERSION},
};

/* A container that has no name that is known is called by its id: 64 hexadecimal digits. */
static const char *otlp_name_of_container(const char *value, bool is_pod)
{
	if (otlp_is_hex(value) && strlen(value) >= CONTAINER_ID_MIN)
		return "container.id";
	return is_pod ? "k8s.container.name" : "container.name";
}

const char *otlp_name_of_label(const char *key, const char *value, bool is_pod)
{
	if (strcmp(key, "container") == 0)
		return otlp_name_of_container(value, is_pod);
	for (size_t i = 0; i < ARRAY_SIZE(otlp_labels); i++)
		if (strcmp(key, otlp_labels[i].label) == 0)
			return otlp_labels[i].attribute;
	return key;
}

/* --- programs and frames ---------------------------------------------------------------------- */

const char *otlp_name_of_build_id(const char *build_id)
{
	if (otlp_is_hex(build_id))
		return OTLP_BUILD_ID_GNU;
	/* Go's own: four parts in base64, with slashes between them (cmd/internal/buildid). */
	return strchr(build_id, '/') ? OTLP_BUILD_ID_GO : NULL;
}

/* What an interpreter runs has names and files, and no code of its own. */
static bool otlp_is_interpreted(const struct profile *p, const struct profile_location *l)
{
	return l->n_lines &&
	       (l->is_folded || (l->mapping == PROFILE_NONE &&
				 p->functions[p->lines[l->first_line].function].filename));
}

const char *otlp_frame_type(const struct profile *p, const struct profile_location *l)
{
	const struct frame_language *language;
	const char *file;

	if (profile_is_kernel_location(p, l))
		return "kernel";
	if (!otlp_is_interpreted(p, l))
		return "native";
	file = profile_string(p, p->functions[p->lines[l->first_line].function].filename);
	language = frame_language_of(file);
	if (language)
		return language->otlp_type;
	/* Frames with the native one of their loop are Python's: daemon/output/pprof_spots.c. */
	return l->is_folded ? "cpython" : "native";
}
