/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_SCAN_H
#define PROFD_OUTPUT_SCAN_H

/* The one walk over the store, at start. */
struct store;

/*
 * Removes temporary files and empty folders of ours, and fills store->index. Names that are not
 * ours, and what is no folder or regular file, are passed over. Returns 0 or negative errno.
 */
int scan_store(struct store *store);

#endif
