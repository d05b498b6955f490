/* SPDX-License-Identifier: MIT */
#ifndef PROFD_WORKER_SOURCES_H
#define PROFD_WORKER_SOURCES_H

/*
 * What addresses are looked up in: read of a request's files now, or for an earlier request with
 * the same key (cache.h). Each returns enum worker_outcome or -ENOMEM; *ret is the cache's,
 * borrowed until the request is answered.
 */
#include "daemon/worker/cache.h"
#include "daemon/worker/dwarf/dwarf_lines.h"
#include "daemon/worker/jit/jit_names.h"
#include "daemon/worker/names/elf_names.h"
#include "daemon/worker/request.h"

int sources_names(struct cache *cache, const struct request *request, struct elf_names **ret);
/* *ret: NULL where the files have none that can be used. WORKER_DONE or -ENOMEM. */
int sources_lines(struct cache *cache, const struct request *request, struct dwarf_lines **ret);
int sources_jit(struct cache *cache, const struct request *request, struct jit_names **ret);

#endif
