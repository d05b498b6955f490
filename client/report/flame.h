/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_REPORT_FLAME_H
#define PROFD_CLIENT_REPORT_FLAME_H

/*
 * view_flame: the stacks as one HTML page that draws them, and needs nothing else: no network, no
 * other file. What is in the page is the tree of stacks with the values of each node; how it looks
 * is flame/.
 *
 * Stacks that are labelled pprof::base=true, as pprof labels what --diff_base takes away, are what
 * the others are compared with: their values, which are negative there, become the nodes' base, and
 * colours tell what changed. Values that are negative otherwise (--base) are told as they are, but
 * have no width.
 *
 * The page tells files, lines and modules of frames as far as frames tell them: the caller shapes
 * stacks with objects (shape_options.with_objects) and, where functions are asked for, with files
 * (SHAPE_FILEFUNCTIONS). Of options matter `unit` ("auto" and "minimum" let the page choose),
 * `divide_by` and `filters`; means are not drawn, since they do not add up.
 *
 * Limits: FLAME_NODES_MAX boxes; the lightest beyond them are told as one grey box below their
 * caller, with their sum.
 */
#include "client/report/view.h"

#define FLAME_NODES_MAX ((size_t)1 << 20) /* some 15 bytes of the page each */

extern const struct view_class view_flame;

#endif
