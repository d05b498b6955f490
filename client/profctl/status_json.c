/* SPDX-License-Identifier: MIT */
/*
 * Every field of the message stands by its own name, as common/control.proto describes it, so that
 * a new one takes no line here. But: what is a moment (its name ends in _ns) is a text, and named
 * without that; counters with names are members of an object; a session's id is the one that people
 * write; and where there is nothing to tell of an error or a fault, null.
 */
#include <inttypes.h>
#include <string.h>

#include "client/profctl/call.h"
#include "client/profctl/json.h"
#include "client/profctl/status.h"

static void put_message(struct json *j, const char *key, const ProtobufCMessage *message);

static bool status_name_is(const ProtobufCFieldDescriptor *field, const char *name)
{
	return strcmp(field->name, name) == 0;
}

static void put_text(struct json *j, const ProtobufCFieldDescriptor *field, const char *key,
		     const char *text)
{
	bool may_be_null = status_name_is(field, "error") || status_name_is(field, "trouble") ||
			   status_name_is(field, "last_bad_image");

	json_text(j, key, may_be_null && !*text ? NULL : text);
}

static void put_number(struct json *j, const ProtobufCFieldDescriptor *field, const char *key,
		       uint64_t number)
{
	size_t length = strlen(field->name);
	char name[64];

	if (length > 3 && strcmp(field->name + length - 3, "_ns") == 0) {
		snprintf(name, sizeof(name), "%.*s", (int)length - 3, field->name);
		json_moment(j, name, number);
	} else if (status_name_is(field, "id")) {
		snprintf(name, sizeof(name), number ? "s%" PRIu64 : "system", number);
		json_text(j, key, name);
	} else {
		json_number(j, key, number);
	}
}

/* One value of @field, which is stored at @at. */
static void put_value(struct json *j, const ProtobufCFieldDescriptor *field, const char *key,
		      const void *at)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_UINT64:
		put_number(j, field, key, *(const uint64_t *)at);
		break;
	case PROTOBUF_C_TYPE_UINT32:
		json_number(j, key, *(const uint32_t *)at);
		break;
	case PROTOBUF_C_TYPE_INT32:
		json_number(j, key, (uint64_t) * (const int32_t *)at);
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		json_real(j, key, *(const double *)at);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		json_bool(j, key, *(const protobuf_c_boolean *)at);
		break;
	case PROTOBUF_C_TYPE_STRING:
		put_text(j, field, key, *(char *const *)at);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		put_message(j, key, *(const ProtobufCMessage *const *)at);
		break;
	default: /* there are no others in Status */
		break;
	}
}

/* Those of the unwinder stand among its numbers. */
static void put_reasons(struct json *j, const ProtobufCFieldDescriptor *field,
			Profd__Control__Reason *const *reasons, size_t n)
{
	bool is_inline = status_name_is(field, "counters");

	if (!is_inline)
		json_begin_object(j, field->name);
	for (size_t i = 0; i < n; i++)
		json_number(j, reasons[i]->name, reasons[i]->count);
	if (!is_inline)
		json_close(j);
}

static void put_repeated(struct json *j, const ProtobufCFieldDescriptor *field, void *const *items,
			 size_t n)
{
	if (field->descriptor == &profd__control__reason__descriptor) {
		put_reasons(j, field, (Profd__Control__Reason *const *)items, n);
		return;
	}
	json_begin_array(j, field->name);
	for (size_t i = 0; i < n; i++)
		put_value(j, field, NULL, &items[i]);
	json_close(j);
}

static void put_message(struct json *j, const char *key, const ProtobufCMessage *message)
{
	if (!message) {
		json_text(j, key, NULL);
		return;
	}
	json_begin_object(j, key);
	for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
		size_t n;
		void *const *items = message_field(message, field, &n);

		if (field->label == PROTOBUF_C_LABEL_REPEATED)
			put_repeated(j, field, items, n);
		else
			put_value(j, field, field->name, items);
	}
	json_close(j);
}

void status_print_json(const Profd__Control__Status *s, bool compact, FILE *out)
{
	struct json j = {.out = out, .compact = compact};

	put_message(&j, NULL, &s->base);
	json_end(&j);
}
