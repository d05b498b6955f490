/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_CODE_CODE_VIEWS_H
#define PROFD_CLIENT_CODE_CODE_VIEWS_H

/* Views that show code: source lines, instructions, and both on a page. */
#include "client/analysis/view.h"

extern const struct view_class view_list;
extern const struct view_class view_disasm;
extern const struct view_class view_weblist;

#endif
