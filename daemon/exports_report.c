/* SPDX-License-Identifier: MIT */
#include "daemon/exports_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/config/config.h"
#include "common/error.h"

#define GOOD_FOR_NS (60 * NS_PER_S)

/* They are printed on terminals. */
static bool exports_report_is_name(const char *name)
{
	size_t length = strlen(name);

	return length && length <= CONFIG_EXPORT_NAME_MAX &&
	       strspn(name, CONFIG_EXPORT_NAME_BYTES) == length;
}

int exports_report_set(struct exports_report *r, const Profd__Control__Exports *exports,
		       uint64_t now_ns)
{
	size_t length = profd__control__exports__get_packed_size(exports);
	uint8_t *packed;

	if (exports->n_exports > CONFIG_EXPORTS_MAX)
		return EXPORTS_REPORT_E_BAD;
	for (size_t i = 0; i < exports->n_exports; i++)
		if (!exports_report_is_name(exports->exports[i]->name))
			return EXPORTS_REPORT_E_BAD;
	packed = malloc(length + 1);
	if (!packed)
		return error_origin(-ENOMEM);
	exports_report_deinit(r);
	*r = (struct exports_report){
		.packed = packed,
		.length = profd__control__exports__pack(exports, packed),
		.reported_ns = now_ns,
	};
	return EXPORTS_REPORT_E_OK;
}

int exports_report_get(const struct exports_report *r, uint64_t now_ns,
		       Profd__Control__Exports **ret)
{
	*ret = NULL;
	if (!r->packed || now_ns - r->reported_ns > GOOD_FOR_NS)
		return 0;
	*ret = profd__control__exports__unpack(NULL, r->length, r->packed);
	return *ret ? 0 : error_origin(-ENOMEM);
}

void exports_report_deinit(struct exports_report *r)
{
	free(r->packed);
	*r = (struct exports_report){0};
}
