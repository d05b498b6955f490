/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_FLAME_H
#define PROFD_CLIENT_ANALYSIS_FLAME_H

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
 * A profile of several sample types shows the one of view_input.type, and lets its reader go to the
 * others, unless options.one_type. Which boxes are kept, and are first, goes by the former.
 *
 * Limits: FLAME_NODES_MAX boxes; the lightest beyond them are told as one grey box below their
 * caller, with their sum. FLAME_TYPES_MAX sample types, and fewer of them where they would have
 * more values than FLAME_OTHERS_MAX.
 */
#include "client/analysis/view.h"

#define FLAME_NODES_MAX  ((size_t)1 << 20) /* some 15 bytes of the page each */
#define FLAME_TYPES_MAX  8
#define FLAME_OTHERS_MAX ((size_t)1 << 19) /* some 10 bytes each */

extern const struct view_class view_flame;

#endif
