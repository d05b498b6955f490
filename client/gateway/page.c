/* SPDX-License-Identifier: MIT */
#include "client/gateway/page.h"

#include <string.h>

#include "common/cleanup.h"

/* Its own scripts, styles and requests; nothing inline, nothing from elsewhere, in no frame. */
#define PAGE_POLICY                                                                 \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " \
	"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

static const char *page_content_type(const char *name)
{
	static const char *const types[][2] = {
		{".html", "text/html; charset=utf-8"},
		{".js", "text/javascript; charset=utf-8"},
		{".css", "text/css; charset=utf-8"},
		{".svg", "image/svg+xml"},
	};
	const char *ending = strrchr(name, '.');

	for (size_t i = 0; ending && i < ARRAY_SIZE(types); i++)
		if (strcmp(types[i][0], ending) == 0)
			return types[i][1];
	return "application/octet-stream";
}

void page_handle(struct http_exchange *x, void *userdata)
{
	const char *name = http_exchange_request(x)->wild;

	(void)userdata;
	for (const struct page_file *f = page_files; f->name; f++) {
		struct http_document document = {page_content_type(f->name), f->etag, PAGE_POLICY,
						 f->bytes, f->length};

		if (strcmp(f->name, name ? name : "index.html") == 0) {
			http_exchange_reply_document(x, &document);
			return;
		}
	}
	http_exchange_fail(x, 404, "the page has no such file");
}
