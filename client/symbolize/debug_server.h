/* SPDX-License-Identifier: MIT */
#ifndef PROFD_SYMBOLIZE_DEBUG_SERVER_H
#define PROFD_SYMBOLIZE_DEBUG_SERVER_H

/*
 * Where a distribution keeps the debug information that it stripped its programs of, so that
 * messages can name a remedy.
 */

struct debug_server {
	const char *id;      /* os-release(5), ID or a word of ID_LIKE; NULL: any other */
	const char *url;     /* of its debuginfod */
	const char *package; /* what the names of its debug packages end in */
};

/* By the text of os-release. Pure; never NULL, and static. */
const struct debug_server *debug_server_by_release(const char *text);
/* Of the host whose root directory is @root_fd. */
const struct debug_server *debug_server_of_host(int root_fd);

#endif
