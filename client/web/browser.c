/* SPDX-License-Identifier: MIT */
#include "client/web/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/helper/child.h"
#include "common/text_print.h"

static bool browser_has_variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

bool browser_is_at_hand(void)
{
	return (browser_has_variable("DISPLAY") || browser_has_variable("WAYLAND_DISPLAY")) &&
	       !browser_has_variable("SSH_CONNECTION");
}

/* An address has no character that HTML has a use for. */
static int browser_write_file(const char *path, const char *address)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), n;

	if (fd < 0)
		return error_origin(-errno);
	n = dprintf(fd,
		    "<!DOCTYPE html><meta charset=\"utf-8\"><title>profd</title>\n"
		    "<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n",
		    address);
	close(fd);
	return n < 0 ? error_origin(-EIO) : 0;
}

int browser_open(const char *directory, const char *address)
{
	/* What a browser prints is not for our terminal. */
	const char *argv[] = {"sh", "-c", "exec xdg-open \"$0\" >/dev/null 2>&1", NULL, NULL};
	cleanup(freep) char **environment = NULL;
	cleanup(freep) char *path = NULL;
	struct child child = CHILD_NONE;
	int r = text_print(&path, "%s/open.html", directory)
			?: browser_write_file(path, address)
			?: child_environment(&environment, NULL, 0, NULL);

	if (r)
		return r;
	argv[3] = path;
	r = child_start(&child,
			&(struct child_program){.path = "/bin/sh",
						.argv = (char *const *)argv,
						.environment = environment},
			NULL);
	closep(&child.pidfd); /* it goes on without us */
	return r;
}
