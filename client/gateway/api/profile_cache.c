/* SPDX-License-Identifier: MIT */
#include "client/gateway/api/profile_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "common/clock.h"
#include "common/error.h"

#define KEPT_NS     (60 * NS_PER_S)
#define PRESENT_NS  (2 * NS_PER_S)   /* of a range that reaches into the present */
#define SETTLED_NS  (120 * NS_PER_S) /* a window ends, and is written, within that */
#define ENTRIES_MAX 64u

struct cached_profile {
	char *service;
	struct profile_key key; /* its service is the above */
	int fd;
	size_t bytes;
	uint64_t n_windows, until_ns; /* kept until */
	struct cached_profile *prev, *next;
};

struct profile_cache {
	struct cached_profile *entries; /* used last: first */
	size_t bytes, max;
	unsigned n;
};

int profile_cache_new(struct profile_cache **ret, size_t max)
{
	struct profile_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return error_origin(-ENOMEM);
	c->max = max;
	*ret = c;
	return 0;
}

static void profile_cache_drop(struct profile_cache *c, struct cached_profile *e)
{
	DL_DELETE(c->entries, e);
	c->bytes -= e->bytes;
	c->n--;
	closep(&e->fd);
	free(e->service);
	free(e);
}

void profile_cache_free(struct profile_cache *c)
{
	if (!c)
		return;
	while (c->entries)
		profile_cache_drop(c, c->entries);
	free(c);
}

static bool cached_profile_matches(const struct cached_profile *e, const struct profile_key *key)
{
	return e->key.pid == key->pid && e->key.since_ns == key->since_ns &&
	       e->key.until_ns == key->until_ns && strcmp(e->service, key->service) == 0;
}

int profile_cache_find(struct profile_cache *c, const struct profile_key *key, uint64_t now_ns,
		       uint64_t *ret_windows)
{
	struct cached_profile *e, *next;

	DL_FOREACH_SAFE(c->entries, e, next)
	{
		if (e->until_ns <= now_ns) {
			profile_cache_drop(c, e);
			continue;
		}
		if (!cached_profile_matches(e, key))
			continue;
		DL_DELETE(c->entries, e);
		DL_PREPEND(c->entries, e);
		*ret_windows = e->n_windows;
		return e->fd;
	}
	return -1;
}

void profile_cache_add(struct profile_cache *c, const struct profile_key *key, int fd,
		       const Profd__Control__Collected *collected, uint64_t now_ns)
{
	bool is_settled = key->until_ns + SETTLED_NS < now_ns;
	struct cached_profile *e;

	if (collected->bytes > c->max)
		return;
	while (c->n == ENTRIES_MAX || c->bytes + collected->bytes > c->max)
		profile_cache_drop(c, c->entries->prev); /* the last one: utlist's head */
	e = calloc(1, sizeof(*e));
	if (!e)
		return;
	*e = (struct cached_profile){
		.service = strdup(key->service),
		.key = *key,
		.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0),
		.bytes = (size_t)collected->bytes,
		.n_windows = collected->windows,
		.until_ns = now_ns + (is_settled ? KEPT_NS : PRESENT_NS),
	};
	DL_PREPEND(c->entries, e);
	c->bytes += e->bytes;
	c->n++;
	if (!e->service || e->fd < 0)
		profile_cache_drop(c, e);
}

size_t profile_cache_bytes(const struct profile_cache *c)
{
	return c->bytes;
}
