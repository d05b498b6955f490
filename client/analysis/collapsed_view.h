/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_COLLAPSED_VIEW_H
#define PROFD_CLIENT_ANALYSIS_COLLAPSED_VIEW_H

/*
 * view_collapsed: a line for each distinct stack of names, as flame graph programs take them and
 * client/formats/collapsed.h writes whole profiles: `main;work;memcpy 42`, the value in the unit of
 * its type, whatever the unit option says. Here stacks have been shaped, and names are those of
 * reports (node_name.h), where what has no name is `[module]`. Stacks stand in the order of their
 * names, each before those that go on from it; those whose values cancel out are left out.
 */
#include "client/analysis/view.h"

extern const struct view_class view_collapsed;

#endif
