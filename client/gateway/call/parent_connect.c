/* SPDX-License-Identifier: MIT */
#include "client/gateway/call/parent_connect.h"

#include <sys/socket.h>

#include "client/web/web_protocol.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/helper/fd_packet.h"
#include "common/unixsock.h"

#define CONNECT_NS (2 * NS_PER_S) /* profctl may be stopped */

int parent_connect(int *ret_fd)
{
	const struct web_ask ask = {.magic = WEB_MAGIC, .number = clock_ns(CLOCK_MONOTONIC)};

	if (fd_packet_send(WEB_SOCKET_FD, &ask, sizeof(ask), NULL, 0, MSG_DONTWAIT))
		return UNIXSOCK_E_NOBODY;
	while (fd_packet_await(WEB_SOCKET_FD, ask.number + CONNECT_NS)) {
		cleanup(fd_packet_deinit) struct fd_packet files = {0};
		struct web_connection answer;

		if (fd_packet_receive(WEB_SOCKET_FD, &answer, sizeof(answer), MSG_DONTWAIT,
				      &files) ||
		    files.length != sizeof(answer) || answer.magic != WEB_MAGIC)
			return UNIXSOCK_E_NOBODY;
		if (answer.number != ask.number)
			continue;
		if (files.n_fds == 1)
			*ret_fd = steal_fd(&files.fds[0]);
		return files.n_fds == 1 ? UNIXSOCK_E_OK
					: (int)(answer.outcome ?: UNIXSOCK_E_NOBODY);
	}
	return UNIXSOCK_E_TIMEOUT;
}
