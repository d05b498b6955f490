/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_WEB_BROWSER_H
#define PROFD_CLIENT_WEB_BROWSER_H

/*
 * Has the user's browser open an address that is a secret. Command lines are for everybody to read:
 * so the browser is given a file instead, which only its user can read, and which leads there.
 */

/* Whether there is a display here, which is not behind a remote login. */
#include <stdbool.h>

bool browser_is_at_hand(void);
/* Writes the file to @directory, and starts xdg-open(1). Returns 0 or negative errno. */
int browser_open(const char *directory, const char *address);

#endif
