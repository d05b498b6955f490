/* SPDX-License-Identifier: MIT */
#include "client/gateway/export/exports.h"

#include <errno.h>
#include <stdlib.h>

#include "client/gateway/export/headers.h"
#include "client/gateway/export/report.h"
#include "common/config/config.h"
#include "common/error.h"
#include "common/log.h"

struct exports {
	sd_event *loop;
	const char *directory;
	struct exporter *all[CONFIG_EXPORTS_MAX];
	size_t n;
	struct export_report *report;
};

int exports_new(struct exports **ret, sd_event *loop, const char *directory)
{
	struct exports *x = calloc(1, sizeof(*x));

	if (!x)
		return error_origin(-ENOMEM);
	x->loop = sd_event_ref(loop);
	x->directory = directory;
	*ret = x;
	return 0;
}

static void exports_clear(struct exports *x)
{
	export_report_free(x->report);
	x->report = NULL;
	while (x->n)
		exporter_free(x->all[--x->n]);
}

void exports_free(struct exports *x)
{
	if (!x)
		return;
	exports_clear(x);
	sd_event_unref(x->loop);
	free(x);
}

int exports_check(const struct config *config)
{
	for (size_t i = 0; i < config->n_exports; i++) {
		const struct config_export *export = &config->exports[i];
		cleanup(freep) char *headers = NULL;
		struct headers_message message;
		int r = headers_read(export->header_file, &headers, &message);

		if (r > 0)
			log_error("[export %s]: header_file: %s", export->name, message.text);
		if (r)
			return r < 0 ? r : EXPORTER_E_BAD;
	}
	return EXPORTER_E_OK;
}

int exports_configure(struct exports *x, const struct config *config)
{
	/* Two must not write down what one target has. */
	exports_clear(x);
	for (size_t i = 0; i < config->n_exports; i++) {
		const struct exporter_options options = {
			.loop = x->loop,
			.socket = config->control_socket,
			.config = &config->exports[i],
			.directory = x->directory,
		};
		int r = exporter_new(&x->all[x->n], &options);

		if (r)
			return r;
		x->n++;
		log_info("windows are exported to %s, %s", config->exports[i].name,
			 config->exports[i].url);
	}
	return x->n ? export_report_new(&x->report, x->loop, config->control_socket, x)
		    : EXPORTER_E_OK;
}

size_t exports_count(const struct exports *x)
{
	return x->n;
}

void exports_get_counters(const struct exports *x, size_t i, struct exporter_counters *ret)
{
	exporter_get_counters(x->all[i], ret);
}
