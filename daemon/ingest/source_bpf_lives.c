/* SPDX-License-Identifier: MIT */
/* The ring of bpf/lives.bpf.h: its records become process events, among those of perf. */
#include <errno.h>
#include <sys/epoll.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi.h"
#include "common/clock.h"
#include "common/error.h"
#include "daemon/ingest/source_bpf_private.h"
#include "profile.skel.h"

/* A negative return ends ring_buffer__consume() after this record. */
static int bpf_lives_on_record(void *userdata, void *data, size_t length)
{
	struct bpf_source *s = userdata;
	const struct abi_life *life = data;
	static const enum process_event_kind kinds[] = {
		[ABI_LIFE_ENDED] = PROCESS_EVENT_EXIT,
		[ABI_LIFE_MOVED] = PROCESS_EVENT_MOVED,
		[ABI_LIFE_BEGUN] = PROCESS_EVENT_BEGUN,
	};
	struct process_event event;
	int r;

	/* One that cannot be read is as one for which there was no room. */
	if (length < sizeof(*life) || life->kind >= ARRAY_SIZE(kinds)) {
		s->lives_lost--;
		return 0;
	}
	event = process_event_of(kinds[life->kind], (pid_t)life->pid, life->time_ns);
	event.cgroup_id = life->kind == ABI_LIFE_MOVED ? life->id : 0;
	event.owner_known = life->owner & ABI_OWNER_KNOWN;
	event.only_uid = life->owner & ABI_OWNER_ONLY;
	event.uid = (uid_t)life->id; /* with owner_known */
	r = process_events_add(s->events, &event);
	return r ?: life->time_ns > s->lives_until ? -EAGAIN : 0;
}

static int bpf_lives_read(void *userdata, uint64_t until)
{
	struct bpf_source *s = userdata;
	struct process_event event = process_event_of(PROCESS_EVENT_LOST, 0,
						      clock_ns(CLOCK_MONOTONIC));
	int r;

	s->lives_until = until;
	r = ring_buffer__consume(s->lives);
	if (r < 0 && r != -EAGAIN)
		return error_origin(r);
	event.lost = s->skeleton->bss->lives_lost - s->lives_lost;
	s->lives_lost += event.lost;
	return event.lost ? process_events_add(s->events, &event) : 0;
}

int bpf_lives_open(struct bpf_source *s)
{
	struct epoll_event wake = {.events = EPOLLIN};

	s->lives = ring_buffer__new(bpf_map__fd(s->skeleton->maps.lives), bpf_lives_on_record, s,
				    NULL);
	if (!s->lives)
		return error_origin(-errno);
	wake.data.fd = ring_buffer__epoll_fd(s->lives);
	if (epoll_ctl(s->source.fd, EPOLL_CTL_ADD, wake.data.fd, &wake) < 0)
		return error_origin(-errno);
	process_events_also(s->events, bpf_lives_read, s);
	s->source.tells_lives = true;
	return 0;
}
