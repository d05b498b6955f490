/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_NAMES_NAMES_MERGE_H
#define PROFD_DAEMON_WORKER_NAMES_NAMES_MERGE_H

/*
 * One answer for each address, from several tables of symbols of which the earlier are preferred.
 * Within one, common/symbols/symtab.h says who wins; a sized symbol of a later table counts where
 * no sized one of an earlier table covers, and unsized ones where no sized one covers at all. They
 * reach up to the next symbol of any table.
 *
 * Pure. Sorts, and takes memory for at most two pieces a symbol: nothing is nested in the result.
 */
#include "common/symbols/symtab_build.h"

#define NAMES_MERGE_SOURCES 8

/*
 * @list: all tables in one, told apart by `source`, the lowest preferred; it is sorted. @ret: for
 * each source its pieces, by address, disjoint in and between sources; names are those of @list;
 * zeroed before the call, and to be deinitialized by the caller whatever is returned. Returns 0 or
 * -ENOMEM.
 */
int names_merge(struct symtab_entries *list, struct symtab_entries ret[NAMES_MERGE_SOURCES]);

#endif
