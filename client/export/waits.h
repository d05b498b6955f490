/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_EXPORT_WAITS_H
#define PROFD_CLIENT_EXPORT_WAITS_H

/*
 * Servers know one profile of CPU time, whose samples are counted as such. Waits beside them are a
 * profile of their own there, by the name of their type. Pure.
 */
struct profile;

/*
 * Takes the waits out of @window, if it has any beside other values, with their type: *ret is a
 * profile of samples and waits, the caller's, or NULL. 0 or negative errno.
 */
int export_take_waits(struct profile *window, struct profile **ret);

#endif
