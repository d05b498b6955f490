/* SPDX-License-Identifier: MIT */
#include "common/worker/code_object.h"

#include <string.h>

#define ALIGNMENT 4u

static uint64_t code_object_size(const struct worker_code_object *head)
{
	uint64_t bytes = sizeof(*head) + (uint64_t)head->n_offsets * sizeof(uint32_t) +
			 head->name_bytes + head->file_bytes + head->table_bytes;

	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static struct worker_code_object code_object_head(const struct code_object *object)
{
	const struct runtime_code *code = &object->code;

	return (struct worker_code_object){
		.version = code->version,
		.first_line = code->first_line,
		.n_offsets = object->n_offsets,
		.table_bytes = code->table_bytes,
		.name_bytes = code->name.n_bytes,
		.file_bytes = code->file.n_bytes,
		.name_width = code->name.width,
		.file_width = code->file.width,
	};
}

size_t code_object_bytes(const struct code_object *object)
{
	const struct worker_code_object head = code_object_head(object);

	return (size_t)code_object_size(&head);
}

void code_object_put(const struct code_object *object, uint8_t *to)
{
	const struct worker_code_object head = code_object_head(object);
	const struct runtime_code *code = &object->code;
	const struct {
		const void *bytes;
		size_t n;
	} parts[] = {
		{&head, sizeof(head)},
		{object->offsets, object->n_offsets * sizeof(uint32_t)},
		{code->name.bytes, code->name.n_bytes},
		{code->file.bytes, code->file.n_bytes},
		{code->table, code->table_bytes},
	};
	uint8_t *end = to + code_object_size(&head);

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		to = parts[i].n ? mempcpy(to, parts[i].bytes, parts[i].n) : to;
	memset(to, 0, (size_t)(end - to));
}

bool code_object_take(const uint8_t **at, const uint8_t *end, struct code_object *ret)
{
	const size_t length = (size_t)(end - *at);
	struct worker_code_object head;
	const uint8_t *bytes;

	if (length < sizeof(head))
		return false;
	memcpy(&head, *at, sizeof(head));
	if (code_object_size(&head) > length)
		return false;
	ret->offsets = (const void *)(*at + sizeof(head));
	ret->n_offsets = head.n_offsets;
	bytes = (const uint8_t *)(ret->offsets + head.n_offsets);
	ret->code = (struct runtime_code){
		.version = head.version,
		.first_line = head.first_line,
		.name = {bytes, head.name_bytes, head.name_width},
		.file = {bytes + head.name_bytes, head.file_bytes, head.file_width},
		.table = bytes + head.name_bytes + head.file_bytes,
		.table_bytes = head.table_bytes,
	};
	*at += code_object_size(&head);
	return true;
}
