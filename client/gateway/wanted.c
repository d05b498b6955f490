/* SPDX-License-Identifier: MIT */
#include "client/gateway/wanted.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/packet.h"
#include "common/unixsock.h"
#include "control.pb-c.h"

#define TIMEOUT_MS 1000 /* to send, and to receive */

static void response_freep(Profd__Control__Response **response)
{
	if (*response)
		profd__control__response__free_unpacked(*response, NULL);
}

static int wanted_send_request(int fd)
{
	Profd__Control__Request request = PROFD__CONTROL__REQUEST__INIT;
	Profd__Control__Empty empty = PROFD__CONTROL__EMPTY__INIT;
	uint8_t data[64];
	size_t size;

	request.verb_case = PROFD__CONTROL__REQUEST__VERB_WANTED;
	request.wanted = &empty;
	size = profd__control__request__get_packed_size(&request);
	if (size > sizeof(data))
		return error_origin(-EMSGSIZE);
	profd__control__request__pack(&request, data);
	return unixsock_send(fd, data, size, TIMEOUT_MS);
}

static void wanted_copy_ids(const Profd__Control__BuildIds *message, struct wanted *ret)
{
	ret->n = 0;
	for (size_t i = 0; i < message->n_build_ids && ret->n < WANTED_MAX; i++) {
		const ProtobufCBinaryData *id = &message->build_ids[i];
		struct wanted_id *to = &ret->ids[ret->n];

		if (!id->len || id->len > sizeof(to->bytes))
			continue;
		to->length = (uint8_t)id->len;
		memcpy(to->bytes, id->data, id->len);
		ret->n++;
	}
}

static int wanted_parse_response(const uint8_t *data, size_t size, struct wanted *ret,
				 struct wanted_message *message)
{
	cleanup(response_freep) Profd__Control__Response *response =
		profd__control__response__unpack(NULL, size, data);

	if (response && response->result_case == PROFD__CONTROL__RESPONSE__RESULT_BUILD_IDS) {
		wanted_copy_ids(response->build_ids, ret);
		return WANTED_E_OK;
	}
	if (response && response->result_case == PROFD__CONTROL__RESPONSE__RESULT_ERROR)
		snprintf(message->text, sizeof(message->text), "%s", response->error->message);
	else
		snprintf(message->text, sizeof(message->text), "it is of another version");
	return WANTED_E_REFUSED;
}

int wanted_query(const char *socket, struct wanted *ret, struct wanted_message *message)
{
	cleanup(freep) uint8_t *data = NULL;
	cleanup(closep) int fd = -1;
	size_t size;
	int r = unixsock_connect(socket, &fd);

	if (r == UNIXSOCK_E_DENIED) {
		snprintf(message->text, sizeof(message->text), "its socket is not open to us");
		return WANTED_E_REFUSED;
	}
	if (r)
		return r < 0 ? r : WANTED_E_AWAY;
	r = wanted_send_request(fd);
	/* One that closed without reading may have said why. */
	if (!r || r == UNIXSOCK_E_CLOSED)
		r = unixsock_receive(fd, PACKET_RESPONSE_MAX, TIMEOUT_MS, &data, &size);
	if (r)
		return r < 0 ? r : WANTED_E_AWAY;
	return wanted_parse_response(data, size, ret, message);
}
