/* SPDX-License-Identifier: MIT */
#include "daemon/control/dispatch.h"

#include <string.h>

#include "common/error.h"
#include "common/packet.h"

static void request_freep(Profd__Control__Request **request)
{
	if (*request)
		profd__control__request__free_unpacked(*request, NULL);
}

/* The row of the verb that @request asks for, with its message in *ret_message; NULL: none. */
static const struct control_verb *
dispatch_find_verb(const struct dispatcher *d, Profd__Control__Request *request, void **ret_message)
{
	const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(
		request->base.descriptor, request->verb_case);

	for (const struct control_verb *verb = d->verbs; field && verb->name; verb++) {
		if (strcmp(verb->name, field->name) != 0 || verb->message != field->descriptor)
			continue;
		memcpy(ret_message, (char *)request + field->offset, sizeof(*ret_message));
		return verb;
	}
	return NULL;
}

int dispatch_request(const struct dispatcher *d, const struct peer *peer, const uint8_t *data,
		     size_t size, struct reply *reply, const bool *answered)
{
	struct control_call call = {
		.userdata = d->userdata, .peer = peer, .proc_fd = d->proc_fd, .reply = reply};
	cleanup(request_freep) Profd__Control__Request *request = NULL;
	const struct control_verb *verb;
	int r;

	if (size <= PACKET_REQUEST_MAX)
		request = profd__control__request__unpack(NULL, size, data);
	if (!request) {
		reply_error(reply, CONTROL_ERROR_USAGE, "malformed request; use profctl");
		return DISPATCH_E_GARBAGE;
	}
	verb = dispatch_find_verb(d, request, &call.message);
	if (!verb) {
		reply_error(reply, CONTROL_ERROR_USAGE,
			    "this profd (" PROFD_VERSION
			    ") does not support this request; is profctl newer?");
		return DISPATCH_E_OK;
	}
	if (verb->access == CONTROL_FOR_PRIVILEGED && !peer->privileged) {
		reply_error(reply, CONTROL_ERROR_DENIED,
			    "%s needs root, or membership in the group that owns the store",
			    verb->name);
		return DISPATCH_E_OK;
	}
	r = verb->handle(&call);
	if (r != CONTROL_PENDING && !*answered)
		reply_error(reply, CONTROL_ERROR_FAILED, "profd failed: %s",
			    r < 0 ? error_describe(r) : "internal error: unanswered request");
	return DISPATCH_E_OK;
}
