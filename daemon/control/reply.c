/* SPDX-License-Identifier: MIT */
/*
 * An answer is a message of common/control.proto, packed behind the header of its packet. struct
 * reply is the way to the client for as long as that is there; answering frees it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/packet.h"
#include "daemon/control/connection.h"
#include "daemon/output/collect.h"
#include "daemon/output/listing.h"
#include "daemon/output/symbols.h"

#define TEXT_SIZE 1024

/* Packs behind room for the header. NULL: no memory. */
static uint8_t *reply_pack(const Profd__Control__Response *response, size_t *ret_size)
{
	size_t size = profd__control__response__get_packed_size(response);
	uint8_t *data = malloc(PACKET_HEADER_SIZE + size);

	if (!data)
		return NULL;
	packet_put_header(data, size);
	profd__control__response__pack(response, data + PACKET_HEADER_SIZE);
	*ret_size = PACKET_HEADER_SIZE + size;
	return data;
}

/* The members of the union are pointers, all of them: one stands for all. */
static Profd__Control__Response reply_response(Profd__Control__Response__ResultCase which,
					       const void *result)
{
	Profd__Control__Response response = PROFD__CONTROL__RESPONSE__INIT;

	response.result_case = which;
	response.ok = (void *)result;
	return response;
}

uint8_t *reply_pack_error(enum control_error code, const char *text, size_t *ret_size)
{
	Profd__Control__Error error = PROFD__CONTROL__ERROR__INIT;
	Profd__Control__Response response = reply_response(PROFD__CONTROL__RESPONSE__RESULT_ERROR,
							   &error);

	error.code = (Profd__Control__ErrorCode)code;
	error.message = (char *)text;
	return reply_pack(&response, ret_size);
}

/*
 * Releases @reply; its client, if it is still there, gets @response, and then the first @n_bytes of
 * the file @fd, which is taken over (-1: none).
 */
static void reply_send_file(struct reply *reply, const Profd__Control__Response *response, int fd,
			    uint64_t n_bytes)
{
	struct connection *connection = reply->connection;
	uint8_t *data = NULL;
	size_t size = 0;

	free(reply);
	if (!connection) {
		closep(&fd);
		return;
	}
	if (profd__control__response__get_packed_size(response) > PACKET_RESPONSE_MAX)
		data = reply_pack_error(CONTROL_ERROR_FAILED,
					"the reply is too long; use a smaller range", &size);
	else
		data = reply_pack(response, &size);
	connection_answer(connection, data, size, fd, n_bytes);
}

void reply_send(struct reply *reply, Profd__Control__Response__ResultCase which, const void *result)
{
	Profd__Control__Response response = reply_response(which, result);

	reply_send_file(reply, &response, -1, 0);
}

bool reply_is_abandoned(const struct reply *reply)
{
	return !reply->connection;
}

void reply_ok(struct reply *reply)
{
	reply_send(reply, PROFD__CONTROL__RESPONSE__RESULT_OK,
		   &(Profd__Control__Empty)PROFD__CONTROL__EMPTY__INIT);
}

int reply_error(struct reply *reply, enum control_error code, const char *format, ...)
{
	Profd__Control__Error error = PROFD__CONTROL__ERROR__INIT;
	char text[TEXT_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (char *c = text; *c; c++)
		if (*c == '\n' || *c == '\r')
			*c = ' ';
	error.code = (Profd__Control__ErrorCode)code;
	error.message = text;
	reply_send(reply, PROFD__CONTROL__RESPONSE__RESULT_ERROR, &error);
	return CONTROL_DONE;
}

void reply_text(struct reply *reply, const char *text)
{
	reply_send(reply, PROFD__CONTROL__RESPONSE__RESULT_TEXT, text);
}

void reply_paths(struct reply *reply, char *const *paths)
{
	Profd__Control__Paths message = PROFD__CONTROL__PATHS__INIT;

	while (paths && paths[message.n_paths])
		message.n_paths++;
	message.paths = (char **)paths;
	reply_send(reply, PROFD__CONTROL__RESPONSE__RESULT_PATHS, &message);
}

static void fill_row(Profd__Control__ListingRow *ret, const struct listing_row *row)
{
	profd__control__listing_row__init(ret);
	if (row->service)
		ret->service = row->service;
	if (row->file)
		ret->file = row->file;
	if (row->format)
		ret->format = (char *)row->format;
	ret->start_ns = row->start_ns;
	ret->end_ns = row->end_ns;
	ret->samples = row->samples;
	ret->bytes = row->bytes;
	ret->n_files = row->n_files;
}

void reply_listing(struct reply *reply, const struct listing *listing)
{
	Profd__Control__Listing message = PROFD__CONTROL__LISTING__INIT;
	cleanup(freep)
		Profd__Control__ListingRow *rows = calloc(listing->n_rows + 1, sizeof(*rows));
	cleanup(freep) Profd__Control__ListingRow **pointers = calloc(listing->n_rows + 1,
								      sizeof(*pointers));

	if (!rows || !pointers) {
		reply_error(reply, CONTROL_ERROR_FAILED, "profd is out of memory for the reply");
		return;
	}
	for (size_t i = 0; i < listing->n_rows; i++) {
		fill_row(&rows[i], &listing->rows[i]);
		pointers[i] = &rows[i];
	}
	message.n_rows = listing->n_rows;
	message.rows = pointers;
	reply_send(reply, PROFD__CONTROL__RESPONSE__RESULT_LISTING, &message);
}

void reply_build_ids(struct reply *reply, const struct symbols_wanted *wanted)
{
	Profd__Control__BuildIds message = PROFD__CONTROL__BUILD_IDS__INIT;
	ProtobufCBinaryData ids[SYMBOLS_WANTED_MAX];

	for (uint32_t i = 0; i < wanted->n; i++)
		ids[i] = (ProtobufCBinaryData){.len = wanted->ids[i].length,
					       .data = (uint8_t *)wanted->ids[i].bytes};
	message.n_build_ids = wanted->n;
	message.build_ids = ids;
	reply_send(reply, PROFD__CONTROL__RESPONSE__RESULT_BUILD_IDS, &message);
}

void reply_collected(struct reply *reply, struct collected *collected)
{
	Profd__Control__Collected message = PROFD__CONTROL__COLLECTED__INIT;
	Profd__Control__Response response =
		reply_response(PROFD__CONTROL__RESPONSE__RESULT_COLLECTED, &message);

	message.bytes = collected->bytes;
	message.samples = collected->samples;
	message.windows = collected->n_windows;
	message.unreadable_files = collected->n_unreadable;
	message.in_pieces = collected->in_pieces;
	message.more = collected->more;
	message.over = collected->over;
	message.dropped = collected->dropped;
	message.lost = collected->lost;
	reply_send_file(reply, &response, steal_fd(&collected->fd), message.bytes);
}

bool reply_attached(struct reply *reply, const struct attach_ring *ring)
{
	struct connection *connection = reply->connection;

	free(reply);
	return connection && connection_send_ring(connection, ring);
}
