/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_RUNTIME_V8_TEXT_H
#define PROFD_DAEMON_WORKER_RUNTIME_V8_TEXT_H

/* Room for a function's name at least. */
#define V8_TEXT_MIN 16

/*
 * What V8 calls a function and its script, as a profile has them: what has no name, here of at
 * least V8_TEXT_MIN bytes, is "(anonymous)"; a module's script, named by a URL, is its path. Pure.
 */
void v8_text_fit(char *name, char *file);

#endif
