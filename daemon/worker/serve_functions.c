/* SPDX-License-Identifier: MIT */
/* Code objects of interpreters, which come with the request: no file is read. */
#include "common/worker/code_object.h"
#include "daemon/worker/answer_builder.h"
#include "daemon/worker/runtime/interpreter.h"
#include "daemon/worker/serve.h"

bool request_has_code_objects(const struct request *request)
{
	const uint8_t *at = request->payload, *end = at + request->header.payload_length;
	struct code_object object;

	if (at == end)
		return false;
	while (at < end)
		if (!code_object_take(&at, end, &object))
			return false;
	return true;
}

static int serve_add_function(struct answer_builder *b, const struct code_object *object)
{
	struct decoded_code decoded;
	int r;

	code_decode(&object->code, &decoded);
	r = answer_builder_add_function(b, decoded.name, decoded.file);
	for (uint32_t i = 0; i < object->n_offsets && !r; i++)
		r = answer_builder_add_line(b, code_decode_line(&object->code, object->offsets[i]));
	return r;
}

int serve_functions(struct cache *cache, const struct request *request, struct answer *ret)
{
	const uint8_t *at = request->payload, *end = at + request->header.payload_length;
	cleanup(answer_builder_freep) struct answer_builder *b = NULL;
	struct code_object object;
	int r = answer_builder_new(&b);

	(void)cache;
	while (!r && code_object_take(&at, end, &object))
		r = serve_add_function(b, &object);
	return r ?: answer_builder_finish(b, ANSWER_FUNCTIONS, &ret->data, &ret->length);
}
