/* SPDX-License-Identifier: MIT */
/* A request of the API: its parameters, and the command that is made of them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/gateway/http/credentials.h"
#include "client/gateway/view/command.h"
#include "client/gateway/view/tags.h"
#include "common/clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW (UINT64_C(1795262400) * NS_PER_S)

/* Each text is one of the question's. */
static void check_text(const struct question *q, uint16_t text)
{
	if (text >= q->length || q->length > sizeof(q->texts) || q->texts[q->length - 1])
		abort();
}

static void check_command(const struct question *q)
{
	char *command = NULL;
	const char *text;
	size_t i = 0;

	while ((text = question_next_filter(q, QUESTION_TAG, &i))) {
		const struct tag tag = tag_parse(text);

		if (!tag.key_length || tag.value != tag.key + tag.key_length + 1)
			abort();
	}
	if (q->view == QUESTION_USAGE)
		return;
	if (command_print(q, q->has_base ? NULL : "/store", &command))
		abort();
	/* What quotes open, quotes close. */
	for (const char *c = command; c && *c; c++) {
		if (*c == '\\' && c[1])
			c++;
		else if (*c == '\'' && !(c = strchr(c + 1, '\'')))
			abort();
		else if (strchr("`$<\"", *c))
			abort();
	}
	free(command);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_message message;
	struct http_target target;
	struct question q;

	if (!size || http_target_parse((const char *)data + 1, size - 1, &target) ||
	    question_parse(&target, data[0] % N_QUESTION_VIEWS, NOW, &q, &message))
		return 0;
	check_text(&q, q.service);
	check_text(&q, q.base_service);
	check_text(&q, q.function);
	check_text(&q, q.type);
	check_text(&q, q.search);
	for (size_t i = 0; i < q.n_filters; i++)
		check_text(&q, q.filters[i].text);
	if (q.range.until_ns <= q.range.since_ns || q.steps > QUESTION_STEPS_MAX)
		abort();
	check_command(&q);
	return 0;
}
