/* SPDX-License-Identifier: MIT */
/*
 * Parca: WriteRawRequest (github.com/parca-dev/parca, proto/parca/profilestore/v1alpha1) as JSON,
 * of all series of a window as far as a body stays small: one must have arrived within 5 s.
 */
#include <errno.h>
#include <string.h>

#include "client/analysis/json_text.h"
#include "client/export/judge.h"
#include "client/export/kinds.h"
#include "client/export/parts.h"
#include "common/base64.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/memory_text.h"

#define BODY_MAX ((size_t)2 << 20) /* bytes, unless a single part takes more */

static const struct export_limits parca_limits = {
	.host_label = "node",
	.max_bytes = (uint64_t)8 << 20,
	.max_samples = 200000,
};

static void parca_put_labels(FILE *out, const struct export_labels *labels)
{
	fputs("{\"labels\":{\"labels\":[", out);
	for (size_t i = 0; i < labels->n; i++) {
		fprintf(out, "%s{\"name\":\"%s\",\"value\":", i ? "," : "", labels->all[i].name);
		json_text_write(out, labels->all[i].value);
		fputc('}', out);
	}
	fputs("]}", out);
}

static int parca_put_series(FILE *out, const struct export_part *part)
{
	cleanup(freep) char *data = malloc(BASE64_LENGTH(part->length) + 1);

	if (!data)
		return error_origin(-ENOMEM);
	base64_encode(part->data, part->length, data);
	parca_put_labels(out, &part->labels);
	fprintf(out, ",\"samples\":[{\"raw_profile\":\"%s\"}]}", data);
	return 0;
}

/* How many parts from @first on are one body. */
static size_t parca_count(const struct export_parts *parts, size_t first)
{
	size_t bytes = 0, n = 0;

	for (; first + n < parts->n; n++) {
		bytes += BASE64_LENGTH(parts->all[first + n].length);
		if (n && bytes > BODY_MAX)
			break;
	}
	return n;
}

static int parca_add_body(const struct export_part *parts, size_t n, struct export_bodies *ret)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	int r = memory_text_open(&text);

	if (r)
		return r;
	fputs("{\"normalized\":true,\"series\":[", text.out);
	for (size_t i = 0; i < n && !r; i++) {
		if (i)
			fputc(',', text.out);
		r = parca_put_series(text.out, &parts[i]);
	}
	fputs("]}", text.out);
	r = r ?: memory_text_close(&text);
	return r ? r : export_bodies_add(ret, (uint8_t *)steal_ptr(&text.text), text.length);
}

static int parca_encode(struct profile *window, const struct export_scope *scope,
			struct export_bodies *ret)
{
	cleanup(export_parts_deinit) struct export_parts parts = {0};
	int r = export_parts_make(window, scope, &parca_limits, &parts);

	for (size_t i = 0, n; i < parts.n && !r; i += n) {
		n = parca_count(&parts, i);
		r = parca_add_body(&parts.all[i], n, ret);
	}
	return r;
}

static enum export_verdict parca_judge(unsigned status, const char *body, size_t length)
{
	static const struct export_rule rules[] = {
		{400, "i/o timeout", EXPORT_LATER}, /* the body took too long to arrive */
	};

	return export_judge(rules, ARRAY_SIZE(rules), status, body, length);
}

const struct export_target export_parca = {
	.name = "parca",
	.path = "/api/profiles/writeraw",
	.content_type = "application/json",
	.encode = parca_encode,
	.judge = parca_judge,
};
