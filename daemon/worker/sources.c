/* SPDX-License-Identifier: MIT */
/*
 * A source's key is the request's key, its kind, and which files it was made of. The cache is
 * asked for that before the files are read.
 */
#include "daemon/worker/sources.h"

#include <stdbool.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "daemon/worker/elf/debuglink.h"

enum thing { THING_NAMES, THING_LINES, THING_JIT };

static void sources_free_names(void *thing)
{
	elf_names_free(thing);
}

static size_t sources_names_bytes(const void *thing)
{
	return elf_names_bytes(thing);
}

static void sources_free_lines(void *thing)
{
	dwarf_lines_free(thing);
}

static size_t sources_lines_bytes(const void *thing)
{
	return dwarf_lines_bytes(thing);
}

static void sources_free_jit(void *thing)
{
	jit_names_free(thing);
}

static size_t sources_jit_bytes(const void *thing)
{
	return jit_names_bytes(thing);
}

static const struct cache_class classes[] = {
	[THING_NAMES] = {.free = sources_free_names, .bytes = sources_names_bytes},
	[THING_LINES] = {.free = sources_free_lines, .bytes = sources_lines_bytes},
	[THING_JIT] = {.free = sources_free_jit, .bytes = sources_jit_bytes},
};

static struct cache_key sources_cache_key(const struct request *request, enum thing type)
{
	return (struct cache_key){
		.key = request->header.key,
		.type = type,
		.made_of = request->header.files | (request->header.flags & WORKER_CHECK_CRC)
							   << N_WORKER_FILES,
	};
}

int sources_names(struct cache *cache, const struct request *request, struct elf_names **ret)
{
	const struct cache_key key = sources_cache_key(request, THING_NAMES);
	const struct elf_names_files files = {
		.image = request->files[WORKER_FILE_IMAGE],
		.debug = request->files[WORKER_FILE_DEBUG],
		.check_crc = request->header.flags & WORKER_CHECK_CRC,
	};
	int r;

	*ret = cache_get(cache, &key);
	if (*ret)
		return WORKER_DONE;
	r = elf_names_new(ret, &files);
	if (r == WORKER_DONE)
		cache_put(cache, &key, &classes[THING_NAMES], *ret);
	return r;
}

int sources_lines(struct cache *cache, const struct request *request, struct dwarf_lines **ret)
{
	const struct cache_key key = sources_cache_key(request, THING_LINES);
	struct dwarf_lines_files files = {
		.image = request->files[WORKER_FILE_IMAGE],
		.debug = request->files[WORKER_FILE_DEBUG],
		.alternate = request->files[WORKER_FILE_ALTERNATE],
	};
	int r;

	*ret = cache_get(cache, &key);
	if (*ret)
		return WORKER_DONE;
	if (request->header.flags & WORKER_CHECK_CRC && files.debug >= 0 &&
	    !debuglink_crc_matches(files.image, files.debug))
		files.debug = files.alternate = -1;
	r = dwarf_lines_new(ret, &files);
	if (r == WORKER_DONE)
		cache_put(cache, &key, &classes[THING_LINES], *ret);
	else
		*ret = NULL;
	return r < 0 ? r : WORKER_DONE;
}

int sources_jit(struct cache *cache, const struct request *request, struct jit_names **ret)
{
	bool is_jitdump = request->files[WORKER_FILE_JITDUMP] >= 0;
	int fd = request->files[is_jitdump ? WORKER_FILE_JITDUMP : WORKER_FILE_PERF_MAP], r;
	struct cache_key key = sources_cache_key(request, THING_JIT);
	struct stat st;

	if (fstat(fd, &st) < 0)
		return WORKER_UNREADABLE;
	/* Measured before it is read: what is written meanwhile is found the next time. */
	key.size = (uint64_t)st.st_size;
	key.mtime = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
	*ret = cache_get(cache, &key);
	if (*ret)
		return WORKER_DONE;
	r = jit_names_read(ret, fd, is_jitdump);
	if (r == WORKER_DONE)
		cache_put(cache, &key, &classes[THING_JIT], *ret);
	return r;
}
