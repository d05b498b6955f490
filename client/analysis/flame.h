/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_FLAME_H
#define PROFD_CLIENT_ANALYSIS_FLAME_H

/*
 * The page of a flame graph around its data, which is JSON: flame/, as embed.cmake puts it together
 * when profd is built. Bytes, no NUL at the end.
 */
#include <stddef.h>

extern const unsigned char flame_page_head[], flame_page_tail[];
extern const size_t flame_page_head_length, flame_page_tail_length;

#endif
