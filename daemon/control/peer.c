/* SPDX-License-Identifier: MIT */
#include "daemon/control/peer.h"

#include <errno.h>
#include <sys/socket.h>

#include "common/error.h"

/* The supplementary groups of the peer; they can be up to 65536 (setgroups(2)). */
static int is_in_group(int fd, gid_t group, bool *ret)
{
	cleanup(freep) gid_t *groups = NULL;
	socklen_t size = 64 * sizeof(*groups);

	for (int attempt = 0; attempt < 2; attempt++) {
		free(groups);
		groups = malloc(size);
		if (!groups)
			return error_origin(-ENOMEM);
		if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) == 0) {
			*ret = false;
			for (size_t i = 0; i < size / sizeof(*groups); i++)
				*ret |= groups[i] == group;
			return 0;
		}
		/* ERANGE: the kernel has written the size that is needed. */
		if (errno != ERANGE)
			break;
	}
	return error_origin(-errno);
}

int peer_init(struct peer *ret, int fd, gid_t group)
{
	struct ucred credentials;
	socklen_t size = sizeof(credentials);
	bool member = false;
	int r;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
		return error_origin(-errno);
	if (group != (gid_t)-1) {
		r = is_in_group(fd, group, &member);
		if (r)
			return r;
		member |= credentials.gid == group;
	}
	*ret = (struct peer){
		.uid = credentials.uid,
		.gid = credentials.gid,
		.pid = credentials.pid,
		.privileged = credentials.uid == 0 || credentials.uid == geteuid() || member,
	};
	return 0;
}
