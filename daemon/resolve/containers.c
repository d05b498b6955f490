/* SPDX-License-Identifier: MIT */
/*
 * A hash table of those that somebody refers to, by their paths. The last reference takes one out.
 */
#include "daemon/resolve/containers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "common/clock.h"
#include "common/error.h"

/* Pauses double: given up after some two minutes. */
#define PAUSE_NS     NS_PER_S
#define PAUSE_MAX_NS (64 * NS_PER_S)
#define NEVER        UINT64_MAX

/* After one that was slow nobody is asked for as long, which doubles, too. */
#define REST_NS     (10 * NS_PER_S)
#define REST_MAX_NS (600 * NS_PER_S)

struct container {
	unsigned n_references;
	struct containers *among; /* NULL: those are gone */
	struct container_path path;
	struct container_names names;
	uint64_t due_ns; /* CLOCK_MONOTONIC */
	uint64_t pause_ns;
	UT_hash_handle hh;
};

struct containers {
	struct container *all;
	containers_ask_fn ask; /* or NULL */
	void *ask_userdata;
	uint64_t rest_ns, rests_until_ns;
};

int containers_new(struct containers **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : error_origin(-ENOMEM);
}

void containers_free(struct containers *c)
{
	struct container *container, *next;

	if (!c)
		return;
	HASH_ITER (hh, c->all, container, next) {
		HASH_DEL(c->all, container);
		container->among = NULL;
	}
	free(c);
}

void containers_ask_by(struct containers *c, containers_ask_fn ask, void *userdata)
{
	c->ask = ask;
	c->ask_userdata = userdata;
}

/* A manager that keeps names elsewhere than in the path. */
static bool container_has_files(const struct container_path *path)
{
	return path->pod[0] || (path->id[0] && path->runtime != CONTAINER_OTHER);
}

static int containers_add(struct containers *c, const struct container_path *path,
			  struct container **ret)
{
	struct container *container = calloc(1, sizeof(*container));

	if (!container)
		return error_origin(-ENOMEM);
	container->n_references = 1;
	container->among = c;
	container->path = *path;
	container->due_ns = container_has_files(path) ? 0 : NEVER;
	container_names_of_path(path, &container->names);
	HASH_ADD(hh, c->all, path, sizeof(container->path), container);
	*ret = container;
	return 0;
}

int containers_find(struct containers *c, const char *cgroup, struct container **ret)
{
	struct container_path path;
	struct container *container;

	*ret = NULL;
	memset(&path, 0, sizeof(path)); /* its padding is part of the key */
	if (!container_path_parse(cgroup, &path))
		return 0;
	HASH_FIND(hh, c->all, &path, sizeof(path), container);
	if (!container)
		return containers_add(c, &path, ret);
	*ret = container_ref(container);
	return 0;
}

struct container *container_ref(struct container *container)
{
	container->n_references++;
	return container;
}

void container_unref(struct container *container)
{
	if (!container || --container->n_references)
		return;
	if (container->among)
		HASH_DEL(container->among->all, container);
	free(container);
}

const struct container_names *container_names(const struct container *container)
{
	return &container->names;
}

/* --- names ------------------------------------------------------------------------------------ */

static void ask_again_later(struct container *container, uint64_t now_ns)
{
	container->pause_ns = container->pause_ns ? container->pause_ns * 2 : PAUSE_NS;
	container->due_ns = container->pause_ns > PAUSE_MAX_NS ? NEVER
							       : now_ns + container->pause_ns;
}

static void containers_rest(struct containers *c, uint64_t now_ns)
{
	c->rest_ns = c->rest_ns ? c->rest_ns * 2 : REST_NS;
	if (c->rest_ns > REST_MAX_NS)
		c->rest_ns = REST_MAX_NS;
	c->rests_until_ns = now_ns + c->rest_ns;
}

/* Returns whether its service has another name now. */
static bool ask_for_names(struct containers *c, struct container *container, uint64_t now_ns)
{
	struct container_names names = container->names;
	int r = c->ask(c->ask_userdata, &container->path, now_ns, &names);
	bool is_renamed = strcmp(names.service, container->names.service) != 0;

	container->names = names;
	if (r == CONTAINERS_E_SLOW)
		containers_rest(c, now_ns);
	else
		c->rest_ns = 0;
	if (r == CONTAINERS_E_ALL)
		container->due_ns = NEVER;
	else if (r == CONTAINERS_E_PARTLY)
		ask_again_later(container, now_ns);
	return is_renamed;
}

bool containers_look(struct containers *c, uint64_t now_ns)
{
	struct container *container, *next;
	bool is_renamed = false;
	size_t n = 0;

	HASH_ITER (hh, c->all, container, next) {
		if (!c->ask || now_ns < c->rests_until_ns || n == CONTAINERS_LOOK_MAX)
			break;
		if (container->due_ns > now_ns)
			continue;
		is_renamed |= ask_for_names(c, container, now_ns);
		n++;
	}
	return is_renamed;
}

size_t containers_count(const struct containers *c)
{
	return HASH_COUNT(c->all);
}
