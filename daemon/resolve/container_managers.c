/* SPDX-License-Identifier: MIT */
/*
 * A question is WAITING, then ASKED (one at a time), then ANSWERED until somebody takes the answer,
 * or nobody did for a while. A worker that dies of a file has answered that there are no names.
 */
#include "daemon/resolve/container_managers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"
#include "common/worker/answer.h"
#include "common/worker/memory.h"
#include "common/worker/worker.h"
#include "daemon/resolve/file_opener.h"
#include "daemon/resolve/proc_door.h"

#define QUESTIONS_MAX 32
#define UNTAKEN_NS    (10 * NS_PER_S)

enum question_state { QUESTION_NONE, QUESTION_WAITING, QUESTION_ASKED, QUESTION_ANSWERED };

struct question {
	enum question_state state;
	struct container_path path;
	uint64_t since_ns;              /* CLOCK_MONOTONIC */
	int root_fd;                    /* borrowed, until it is asked */
	int result;                     /* CONTAINERS_E_* */
	struct worker_container answer; /* with _ALL */
};

struct container_managers {
	struct proc_door *door;
	struct memory_budget *budget;
	struct worker *worker; /* or NULL */
	int epoll_fd;
	struct question questions[QUESTIONS_MAX];
};

static const char storage[] = "var/lib/containers/storage/overlay-containers/containers.json";

static const struct manager {
	enum container_runtime runtime;
	const char *before, *after; /* the id in the path; after: NULL: it is of all containers */
} managers[] = {
	{CONTAINER_DOCKER, "var/lib/docker/containers/", "/config.v2.json"},
	{CONTAINER_PODMAN, storage, NULL},
	{CONTAINER_CRIO, storage, NULL},
	{CONTAINER_CONTAINERD, "run/containerd/io.containerd.runtime.v2.task/k8s.io/",
	 "/config.json"},
};

static const struct manager *find_manager(const struct container_path *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(managers); i++)
		if (path->id[0] && managers[i].runtime == path->runtime)
			return &managers[i];
	return NULL;
}

bool container_managers_know(const struct container_path *path)
{
	return find_manager(path);
}

int container_managers_new(struct container_managers **ret, struct proc_door *door,
			   struct memory_budget *budget)
{
	cleanup(container_managers_freep) struct container_managers *m = calloc(1, sizeof(*m));

	if (!m)
		return error_origin(-ENOMEM);
	m->door = door;
	m->budget = budget;
	m->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (m->epoll_fd < 0)
		return error_origin(-errno);
	*ret = steal_ptr(&m);
	return 0;
}

void container_managers_free(struct container_managers *m)
{
	if (!m)
		return;
	worker_free(m->worker);
	closep(&m->epoll_fd);
	free(m);
}

int container_managers_fd(const struct container_managers *m)
{
	return m->epoll_fd;
}

/* --- the worker ------------------------------------------------------------------------------- */

static int start_worker(struct container_managers *m)
{
	const struct worker_options options = {
		.name = "containers",
		.memory_bytes = MEMORY_LEFT_MIN,
		.budget = m->budget,
		.number = MEMORY_CONTAINERS,
	};
	struct epoll_event event = {.events = EPOLLIN};
	int r = m->worker ? 0 : worker_new(&m->worker, &options);

	if (!r && epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, worker_fd(m->worker), &event) < 0 &&
	    errno != EEXIST)
		return error_origin(-errno);
	return r;
}

static struct question *find_in_state(struct container_managers *m, enum question_state state)
{
	for (size_t i = 0; i < ARRAY_SIZE(m->questions); i++)
		if (m->questions[i].state == state)
			return &m->questions[i];
	return NULL;
}

static void answer_question(struct question *q, int result)
{
	q->state = QUESTION_ANSWERED;
	q->result = result;
}

/* Returns FILE_OPENER_E_*. What a manager mounts for itself is no concern of other users. */
static int open_manager_file(struct container_managers *m, const struct question *q, int *ret)
{
	const unsigned flags = FILE_OPENER_CROSS_MOUNTS | FILE_OPENER_TRUST_OVERLAYS;
	const struct manager *manager = find_manager(&q->path);
	char path[256];

	snprintf(path, sizeof(path), "%s%s%s", manager->before, manager->after ? q->path.id : "",
		 manager->after ? manager->after : "");
	return proc_door_open_file(m->door, q->root_fd, path, flags, ret);
}

/* Returns 0 or negative errno; it is answered, asked, or waits for a worker to be had. */
static int send_question(struct container_managers *m, struct question *q)
{
	struct worker_request request = worker_request_of(WORKER_CONTAINER, -1);
	cleanup(closep) int fd = -1;
	int r = open_manager_file(m, q, &fd);

	if (r) {
		answer_question(q,
				r == FILE_OPENER_E_NONE ? CONTAINERS_E_PARTLY : CONTAINERS_E_SLOW);
		return 0;
	}
	r = start_worker(m);
	if (r)
		return r;
	request.files[WORKER_FILE_CONTAINERS] = fd;
	request.payload = q->path.id;
	request.payload_length = WORKER_CONTAINER_ID;
	r = worker_send(m->worker, &request);
	if (r == WORKER_E_OK)
		q->state = QUESTION_ASKED;
	return r < 0 ? r : 0;
}

static void use_manager_reply(struct container_managers *m, struct question *q,
			      const struct worker_reply *reply)
{
	if (reply->outcome == WORKER_DONE) {
		if (answer_container(reply->data, reply->length, &q->answer))
			return answer_question(q, CONTAINERS_E_ALL);
		worker_reject_answer(m->worker);
	}
	answer_question(q, CONTAINERS_E_PARTLY);
}

static void receive_answer(struct container_managers *m, struct question *q)
{
	struct worker_reply reply;
	struct worker_stats stats;

	switch (worker_receive(m->worker, &reply)) {
	case WORKER_E_NONE:
		return;
	case WORKER_E_OK:
		return use_manager_reply(m, q, &reply);
	case WORKER_E_REST:
		q->state = QUESTION_WAITING;
		return;
	default:
		worker_get_stats(m->worker, &stats);
		log_warning("image worker for containers: %s while reading what is known of %s",
			    stats.why, q->path.id);
		memset(&q->answer, 0, sizeof(q->answer));
		answer_question(q, CONTAINERS_E_ALL);
	}
}

int container_managers_receive(struct container_managers *m)
{
	struct question *q = find_in_state(m, QUESTION_ASKED);
	int r = 0;

	if (q)
		receive_answer(m, q);
	while (!r && !find_in_state(m, QUESTION_ASKED)) {
		q = find_in_state(m, QUESTION_WAITING);
		if (!q) {
			worker_free(m->worker);
			m->worker = NULL;
			return 0;
		}
		r = send_question(m, q);
		if (q->state == QUESTION_WAITING)
			return r; /* later: there is no worker now */
	}
	return r;
}

/* --- questions -------------------------------------------------------------------------------- */

static struct question *find_question(struct container_managers *m,
				      const struct container_path *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(m->questions); i++)
		if (m->questions[i].state != QUESTION_NONE &&
		    strcmp(m->questions[i].path.id, path->id) == 0)
			return &m->questions[i];
	return NULL;
}

/* NULL: the queue is full. */
static struct question *add_question(struct container_managers *m,
				     const struct container_path *path, uint64_t now_ns)
{
	struct question *q = find_in_state(m, QUESTION_NONE);

	for (size_t i = 0; !q && i < ARRAY_SIZE(m->questions); i++)
		if (m->questions[i].state == QUESTION_ANSWERED &&
		    now_ns > m->questions[i].since_ns + UNTAKEN_NS)
			q = &m->questions[i];
	if (q)
		*q = (struct question){.state = QUESTION_WAITING,
				       .path = *path,
				       .since_ns = now_ns};
	return q;
}

int container_managers_ask(struct container_managers *m, int root_fd,
			   const struct container_path *path, uint64_t now_ns,
			   struct container_names *ret)
{
	struct question *q = find_question(m, path) ?: add_question(m, path, now_ns);
	int r;

	if (!q)
		return CONTAINERS_E_BUSY;
	q->root_fd = root_fd;
	r = container_managers_receive(m);
	if (r)
		return CONTAINERS_E_SLOW;
	if (q->state != QUESTION_ANSWERED)
		return CONTAINERS_E_BUSY;
	if (q->result == CONTAINERS_E_ALL) {
		/* A pod's container has its manager's image, but not its name. */
		if (!path->pod[0])
			container_names_set(ret, q->answer.name, q->answer.image);
		else
			strcpy(ret->image, q->answer.image);
	}
	q->state = QUESTION_NONE;
	return q->result;
}
