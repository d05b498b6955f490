/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_EXPORT_FRAMES_H
#define PROFD_CLIENT_EXPORT_FRAMES_H

/*
 * What servers ask of frames: each has a name, or it vanishes when profiles are merged; stacks,
 * names and inlined functions have bounds, past which servers cut names and stacks at the wrong
 * end.
 */
struct profile;

#define EXPORT_DEPTH_MAX 1000u /* frames of a stack; outer ones are left out */
#define EXPORT_LINES_MAX \
	64u /* of a frame: further functions that it is inlined into are not sent */
#define EXPORT_TEXT_MAX 4096u /* bytes of a name */

/*
 * Makes @p so. What has no name becomes FILE+0xOFFSET, [FILE] where the address is not known. All
 * texts of functions and mappings are valid UTF-8 then. 0 or negative errno.
 */
int export_frames_fit(struct profile *p);

#endif
