/* SPDX-License-Identifier: MIT */
/* Where nothing may be sampled: takes every sampler, and no tick ever comes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/error.h"
#include "daemon/ingest/sources.h"

struct source_none {
	struct source source;
	int fd; /* an eventfd that never is readable */
	bool used[SAMPLERS_MAX];
};

static struct source_none *from_source(struct source *source)
{
	return (struct source_none *)source;
}

static void none_free(struct source *source)
{
	close(from_source(source)->fd);
	free(source);
}

static int none_fd(struct source *source)
{
	return from_source(source)->fd;
}

static int none_drain(struct source *source, unsigned budget)
{
	(void)source, (void)budget;
	return SOURCE_E_OK;
}

static int none_add_sampler(struct source *source, const struct sampler_spec *spec, unsigned *ret,
			    struct source_message *message)
{
	struct source_none *s = from_source(source);

	(void)spec;
	for (unsigned i = 0; i < SAMPLERS_MAX; i++) {
		if (s->used[i])
			continue;
		s->used[i] = true;
		*ret = i;
		return SOURCE_E_OK;
	}
	snprintf(message->text, sizeof(message->text), "all %d samplers are in use", SAMPLERS_MAX);
	return SOURCE_E_FULL;
}

static int none_remove_sampler(struct source *source, unsigned sampler)
{
	from_source(source)->used[sampler] = false;
	return SOURCE_E_OK;
}

static int none_set_all(struct source *source, unsigned sampler, bool all)
{
	(void)source, (void)sampler, (void)all;
	return SOURCE_E_OK;
}

static int none_add_pid(struct source *source, unsigned sampler, pid_t pid, bool children)
{
	(void)source, (void)sampler, (void)pid, (void)children;
	return SOURCE_E_OK;
}

static int none_remove_pid(struct source *source, unsigned sampler, pid_t pid)
{
	(void)source, (void)sampler, (void)pid;
	return SOURCE_E_OK;
}

static int none_follow_cpus(struct source *source)
{
	(void)source;
	return SOURCE_E_OK;
}

static int none_get_stats(struct source *source, unsigned sampler, struct source_stats *ret)
{
	(void)source, (void)sampler;
	*ret = (struct source_stats){0};
	return SOURCE_E_OK;
}

static uint64_t none_memory_bytes(struct source *source)
{
	(void)source;
	return 0;
}

static const struct source_ops none_ops = {
	.name = "none",
	.free = none_free,
	.fd = none_fd,
	.drain = none_drain,
	.add_sampler = none_add_sampler,
	.remove_sampler = none_remove_sampler,
	.set_all = none_set_all,
	.add_pid = none_add_pid,
	.remove_pid = none_remove_pid,
	.follow_cpus = none_follow_cpus,
	.get_stats = none_get_stats,
	.memory_bytes = none_memory_bytes,
};

int source_none_new(struct source **ret)
{
	struct source_none *s = calloc(1, sizeof(*s));

	if (!s)
		return error_origin(-ENOMEM);
	s->source.ops = &none_ops;
	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->fd < 0) {
		free(s);
		return error_origin(-errno);
	}
	*ret = &s->source;
	return SOURCE_E_OK;
}
