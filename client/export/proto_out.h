/* SPDX-License-Identifier: MIT */
#ifndef PROFD_EXPORT_PROTO_OUT_H
#define PROFD_EXPORT_PROTO_OUT_H

/*
 * A protocol buffers message that is written field by field (common/wire.h) into memory that grows.
 * Errors stay in it: after is_short has become true nothing more is written.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* All zero is an empty message. */
struct proto_out {
	uint8_t *bytes; /* malloc'ed */
	size_t n, max;
	bool is_short; /* there was no memory for all of it */
};

static inline void proto_out_deinit(struct proto_out *out)
{
	free(out->bytes);
}

/* Without a field around them; of a text each byte that is no UTF-8 is U+FFFD. */
void proto_append_bytes(struct proto_out *out, const void *data, size_t length);
void proto_append_varint(struct proto_out *out, uint64_t value);
void proto_append_text(struct proto_out *out, const char *text);

/* Fields @first, @first + 1 and so on; a 0 is no field. */
void proto_put_numbers(struct proto_out *out, uint32_t first, const uint64_t *numbers, size_t n);
/* A field that is there even if @value is 0: one of several. */
void proto_put_chosen(struct proto_out *out, uint32_t number, uint64_t value);
void proto_put_fixed64(struct proto_out *out, uint32_t number, uint64_t value);
void proto_put_bytes(struct proto_out *out, uint32_t number, const void *data, size_t length);
void proto_put_text(struct proto_out *out, uint32_t number, const char *text);
/* A field that is a message of the numbers 1 to @n. */
void proto_put_message(struct proto_out *out, uint32_t number, const uint64_t *numbers, size_t n);
/* A packed list; an empty one is no field. */
void proto_put_list(struct proto_out *out, uint32_t number, const uint32_t *list, size_t n);

/* What is written between the two becomes the content of field @number. */
size_t proto_begin(struct proto_out *out);
void proto_end(struct proto_out *out, uint32_t number, size_t begin);

#endif
