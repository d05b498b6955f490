/* SPDX-License-Identifier: MIT */
#include "client/profctl/page_address.h"

#include <string.h>
#include <unistd.h>

#include "client/profctl/telling.h"
#include "common/config/config.h"
#include "common/error.h"
#include "common/memory_text.h"

#define HOST_SIZE 256

/* Scheme, host and port; "" where the page is not served on TCP, or that cannot be read. */
static void page_origin(const struct context *context, char ret[HOST_SIZE + 32])
{
	cleanup(config_freep) struct config *config = NULL;
	struct config_message message;
	char host[HOST_SIZE] = "localhost";
	const char *listen, *colon;
	bool is_any;

	ret[0] = '\0';
	if (context->user || config_load(&config, NULL, NULL, &message))
		return;
	listen = config->http_listen;
	colon = strrchr(listen, ':');
	if (!*listen || *listen == '/' || !colon)
		return;
	is_any = strncmp(listen, "0.0.0.0:", 8) == 0 || strncmp(listen, "[::]:", 5) == 0;
	if (is_any)
		gethostname(host, sizeof(host) - 1);
	snprintf(ret, HOST_SIZE + 32, "%s://%.*s%.8s", *config->http_tls_key ? "https" : "http",
		 is_any ? HOST_SIZE : (int)(colon - listen), is_any ? host : listen, colon);
}

/* @r: of what has printed @text. */
static int page_address_finish(const struct context *context, int r, struct memory_text *text,
			       const struct profile_message *message)
{
	char origin[HOST_SIZE + 32];

	r = r ?: memory_text_close(text);
	if (r)
		return report_exit_status(context, r, message);
	page_origin(context, origin);
	fprintf(context->out, "%s%s\n", origin, text->text);
	if (!*origin)
		(void)profctl_complain(
			context, STATUS_DONE,
			"[http] in profd.conf does not listen on TCP: put this behind "
			"the host and port that profctl web prints");
	return STATUS_DONE;
}

int page_address_print(const struct context *context, const struct page_question *question)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	struct profile_message message;
	int r = memory_text_open(&text) ?: page_url_print(text.out, question, &message);

	return page_address_finish(context, r, &text, &message);
}

int page_address_print_scope(const struct context *context, const struct page_scope *scope)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	struct profile_message message;
	int r = memory_text_open(&text) ?: page_url_print_scope(text.out, scope, &message);

	return page_address_finish(context, r, &text, &message);
}
