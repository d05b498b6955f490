/* SPDX-License-Identifier: MIT */
/*
 * Two lists under one lock: requests, which the thread waits for on a condition variable, and
 * results, which the main thread waits for on an eventfd. Requests that are waiting, in work or
 * answered but not taken count together against one bound, so that neither list grows.
 */
#include "daemon/output/output.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"
#include "daemon/output/thread.h"
#include "daemon/output/writer.h"

#define REQUESTS_MAX    32
#define BACKGROUND_REST 3 /* background work takes one part of the time, then rests for so many */
#define BACKGROUND_NS   (10 * NS_PER_S / 1000) /* of work, unless a step takes longer */
#define REST_MAX_NS     (NS_PER_S / 10)        /* whatever a disk took */

enum job_kind { JOB_WRITE, JOB_EPOCH, JOB_LIST, JOB_COLLECT, JOB_VACUUM };

/* A request, and later its result. */
struct job {
	struct job *next;
	enum job_kind kind;
	struct snapshot *snapshot;
	char *service;
	uint64_t since_ns, until_ns;
	struct collect_options collect_options; /* service: see above */
	struct collect *collect;
	uint64_t max_age_s, max_size;
	void *request;
	struct output_result *result;
};

struct queue {
	struct job *first, **last;
};

struct output {
	struct writer *writer; /* the thread's, once it runs */
	unsigned logged;       /* conditions that have been; the thread's */
	struct queue collects; /* begun, the first in work; the thread's */
	int fd;
	pthread_t thread;
	bool has_thread;
	struct thread_lock lock; /* over all that follows */
	struct queue requests, results;
	unsigned n_jobs;
	bool stop;
	bool configure;
	uint64_t busy_since_ns; /* CLOCK_MONOTONIC, 0: idle */
	uint64_t background_ns; /* of CPU */
	pid_t tid;
	struct output_options options;
	struct output_store_status status;
	struct symbols_stats symbols;
	struct symbols_wanted wanted;
};

static void job_queue_push(struct queue *q, struct job *job)
{
	job->next = NULL;
	*q->last = job;
	q->last = &job->next;
}

static struct job *job_queue_pop(struct queue *q)
{
	struct job *job = q->first;

	if (!job)
		return NULL;
	q->first = job->next;
	if (!q->first)
		q->last = &q->first;
	return job;
}

void output_result_free(struct output_result *r)
{
	if (!r)
		return;
	for (char **path = r->paths; path && *path; path++)
		free(*path);
	free(r->paths);
	listing_free(r->listing);
	collected_free(r->collected);
	snapshot_free(r->unwritten);
	free(r);
}

static void job_free(struct job *job)
{
	if (!job)
		return;
	snapshot_free(job->snapshot);
	output_result_free(job->result);
	collect_free(job->collect);
	free(job->service);
	free(job);
}
DEFINE_CLEANUP(struct job *, job_free)

/* Each condition once, when it begins; the next time only after it was gone. */
static void log_conditions(struct output *o)
{
	unsigned conditions = writer_conditions(o->writer);

	if (o->logged & WRITER_CANNOT_WRITE && !(conditions & WRITER_CANNOT_WRITE))
		log_info("profiles are written again");
	for (unsigned i = 0; i < WRITER_N_CONDITIONS; i++)
		if (conditions & ~o->logged & 1u << i)
			log_warning("%s", writer_describe(o->writer, 1u << i));
	o->logged = conditions;
}

/* What came of a step: true if that was all, and it is answered. */
static bool output_end_collect(struct job *job, int r)
{
	if (r == COLLECT_E_OK)
		return false;
	if (r < 0)
		job->result->error = -r;
	else
		job->result->collected = collect_take_result(job->collect);
	if (r == COLLECT_E_REFUSED)
		job->result->error = E2BIG;
	collect_free(steal_ptr(&job->collect));
	return true;
}

/* Begins; it goes on when there is nothing else to do. True if it has ended already. */
static bool output_begin_collect(struct output *o, struct job *job)
{
	int r;

	job->result->request = job->request;
	r = writer_collect(o->writer, &job->collect_options, job->snapshot, &job->collect);
	/* A window is no more work than to write it. */
	while (job->collect_options.open_only && r == COLLECT_E_OK)
		r = collect_step(job->collect);
	if (job->collect_options.open_only && r != COLLECT_E_DONE)
		job->result->unwritten = steal_ptr(&job->snapshot);
	snapshot_free(steal_ptr(&job->snapshot));
	if (output_end_collect(job, r))
		return true;
	job_queue_push(&o->collects, job);
	return false;
}

static void output_do_job(struct output *o, struct job *job)
{
	struct output_result *result = job->result;
	uint64_t begin = clock_ns(CLOCK_MONOTONIC);

	result->request = job->request;
	result->started_ns = clock_ns(CLOCK_REALTIME);
	writer_follow_clock(o->writer, result->started_ns, clock_ns(CLOCK_BOOTTIME));
	switch (job->kind) {
	case JOB_WRITE:
		writer_write(o->writer, steal_ptr(&job->snapshot), result->started_ns, result);
		break;
	case JOB_EPOCH:
		writer_epoch(o->writer, result->started_ns, result);
		break;
	case JOB_LIST:
		writer_list(o->writer, job->service, job->since_ns, job->until_ns, result);
		break;
	case JOB_VACUUM:
		writer_vacuum(o->writer, job->max_age_s, job->max_size, result->started_ns, result);
		break;
	case JOB_COLLECT: /* output_begin_collect() */
		break;
	}
	result->seconds = (double)(clock_ns(CLOCK_MONOTONIC) - begin) / 1e9;
	log_conditions(o);
}

static void output_post_result(struct output *o, struct job *job)
{
	struct output_store_status status;
	struct symbols_stats symbols;
	struct symbols_wanted wanted;
	uint64_t one = 1;

	writer_get_status(o->writer, &status);
	writer_get_symbols_stats(o->writer, &symbols);
	writer_get_wanted(o->writer, &wanted);
	pthread_mutex_lock(&o->lock.mutex);
	o->busy_since_ns = 0;
	o->status = status;
	o->symbols = symbols;
	o->wanted = wanted;
	if (job)
		job_queue_push(&o->results, job);
	pthread_mutex_unlock(&o->lock.mutex);
	if (job && write(o->fd, &one, sizeof(one)) < 0)
		log_warning("output thread: cannot wake the main thread: %s", strerror(errno));
}

/*
 * Waits for something to do; while there is background work only until @resume_ns (CLOCK_MONOTONIC;
 * 0: there is none).
 */
static void output_wait_for_work(struct output *o, uint64_t resume_ns)
{
	const struct timespec resume = {.tv_sec = (time_t)(resume_ns / NS_PER_S),
					.tv_nsec = (long)(resume_ns % NS_PER_S)};
	int r = 0;

	while (!o->requests.first && !o->stop && !o->configure && r != ETIMEDOUT) {
		if (resume_ns)
			r = pthread_cond_clockwait(&o->lock.wake, &o->lock.mutex, CLOCK_MONOTONIC,
						   &resume);
		else
			pthread_cond_wait(&o->lock.wake, &o->lock.mutex);
	}
}

static bool output_has_work(struct output *o)
{
	bool wanted;

	pthread_mutex_lock(&o->lock.mutex);
	wanted = o->requests.first || o->stop || o->configure;
	pthread_mutex_unlock(&o->lock.mutex);
	return wanted;
}

/* Some of what nobody waits for; when to go on with it, 0: there is no more. */
static uint64_t output_do_background(struct output *o)
{
	uint64_t begin = clock_ns(CLOCK_MONOTONIC), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID), end,
		 rest;
	bool more;

	do {
		more = writer_background(o->writer, clock_ns(CLOCK_REALTIME));
		log_conditions(o);
		end = clock_ns(CLOCK_MONOTONIC);
	} while (more && end - begin < BACKGROUND_NS && !output_has_work(o));
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	pthread_mutex_lock(&o->lock.mutex);
	o->background_ns += cpu;
	pthread_mutex_unlock(&o->lock.mutex);
	rest = (end - begin) * BACKGROUND_REST;
	return more ? end + (rest < REST_MAX_NS ? rest : REST_MAX_NS) : 0;
}

/* A step of the collection in work: the job if it has ended. */
static struct job *output_step_collect(struct output *o)
{
	struct job *job = o->collects.first;

	return output_end_collect(job, collect_step(job->collect)) ? job_queue_pop(&o->collects)
								   : NULL;
}

static void *output_thread_main(void *userdata)
{
	struct output *o = userdata;
	uint64_t resume_ns = clock_ns(CLOCK_MONOTONIC);

	(void)writer_read_store(o->writer, clock_ns(CLOCK_REALTIME)); /* a write tries it again */
	output_post_result(o, NULL);
	for (;;) {
		struct output_options options;
		bool configure, stop;
		struct job *job;

		pthread_mutex_lock(&o->lock.mutex);
		o->tid = gettid();
		output_wait_for_work(o, resume_ns);
		configure = o->configure;
		options = o->options;
		o->configure = false;
		job = job_queue_pop(&o->requests);
		stop = o->stop;
		o->busy_since_ns = clock_ns(CLOCK_MONOTONIC);
		pthread_mutex_unlock(&o->lock.mutex);

		if (configure)
			writer_configure(o->writer, &options, clock_ns(CLOCK_REALTIME));
		/* Whatever was done may have left something to do. */
		resume_ns = clock_ns(CLOCK_MONOTONIC);
		if (job && job->kind == JOB_COLLECT)
			job = output_begin_collect(o, job) ? job : NULL;
		else if (job)
			output_do_job(o, job);
		else if (stop && !configure)
			return NULL;
		else if (o->collects.first)
			job = output_step_collect(o);
		else if (!configure)
			resume_ns = output_do_background(o);
		output_post_result(o, job);
	}
}

int output_new(struct output **ret, const struct output_options *options)
{
	const struct writer_world world = {
		.proc_fd = -1,
		.sys_fd = -1,
		.boot_ns = clock_ns(CLOCK_BOOTTIME),
		.read_later = true,
	};
	cleanup(output_freep) struct output *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return error_origin(-ENOMEM);
	o->requests.last = &o->requests.first;
	o->collects.last = &o->collects.first;
	o->results.last = &o->results.first;
	o->options = *options;
	o->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (o->fd < 0)
		return error_origin(-errno);
	r = thread_lock_init(&o->lock);
	if (!r)
		r = writer_new(&o->writer, options, &world, clock_ns(CLOCK_REALTIME));
	if (r)
		return r;
	writer_get_status(o->writer, &o->status);
	r = thread_start(&o->thread, "profd-output", output_thread_main, o);
	if (r)
		return r;
	o->has_thread = true;
	*ret = steal_ptr(&o);
	return 0;
}

void output_free(struct output *o)
{
	struct job *job;

	if (!o)
		return;
	if (o->has_thread) {
		pthread_mutex_lock(&o->lock.mutex);
		o->stop = true;
		pthread_cond_signal(&o->lock.wake);
		pthread_mutex_unlock(&o->lock.mutex);
		pthread_join(o->thread, NULL);
	}
	while ((job = job_queue_pop(&o->requests)))
		job_free(job);
	while ((job = job_queue_pop(&o->collects)))
		job_free(job);
	while ((job = job_queue_pop(&o->results)))
		job_free(job);
	writer_free(o->writer);
	thread_lock_deinit(&o->lock);
	closep(&o->fd);
	free(o);
}

/* The result is allocated with the request, so that a request is always answered. */
static int job_new(struct job **ret, enum job_kind kind, void *request)
{
	cleanup(job_freep) struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return error_origin(-ENOMEM);
	job->kind = kind;
	job->request = request;
	job->result = calloc(1, sizeof(*job->result));
	if (!job->result)
		return error_origin(-ENOMEM);
	*ret = steal_ptr(&job);
	return 0;
}

/* Queues @job, which is the thread's on OUTPUT_E_OK. */
static int output_submit_job(struct output *o, struct job *job)
{
	int r = OUTPUT_E_BUSY;

	pthread_mutex_lock(&o->lock.mutex);
	if (o->n_jobs < REQUESTS_MAX) {
		job_queue_push(&o->requests, job);
		o->n_jobs++;
		pthread_cond_signal(&o->lock.wake);
		r = OUTPUT_E_OK;
	}
	pthread_mutex_unlock(&o->lock.mutex);
	return r;
}

/* Takes @job over; @snapshot only where it succeeds. */
static int output_submit_snapshot(struct output *o, struct job *job, struct snapshot *snapshot)
{
	int r;

	job->snapshot = snapshot;
	r = output_submit_job(o, job);
	if (r) {
		job->snapshot = NULL;
		job_free(job);
	}
	return r;
}

int output_submit(struct output *o, struct snapshot *snapshot)
{
	cleanup(job_freep) struct job *job = NULL;
	int r = job_new(&job, JOB_WRITE, snapshot->request);

	return r ? r : output_submit_snapshot(o, steal_ptr(&job), snapshot);
}

int output_submit_epoch(struct output *o, void *request)
{
	cleanup(job_freep) struct job *job = NULL;
	int r = job_new(&job, JOB_EPOCH, request);

	if (!r)
		r = output_submit_job(o, job);
	if (!r)
		job = NULL;
	return r;
}

int output_submit_list(struct output *o, const char *service, uint64_t since_ns, uint64_t until_ns,
		       void *request)
{
	cleanup(job_freep) struct job *job = NULL;
	int r = job_new(&job, JOB_LIST, request);

	if (r)
		return r;
	job->since_ns = since_ns;
	job->until_ns = until_ns;
	if (service && !(job->service = strdup(service)))
		return error_origin(-ENOMEM);
	r = output_submit_job(o, job);
	if (!r)
		job = NULL;
	return r;
}

void output_get_busy(struct output *o, uint64_t *ret_since_ns, pid_t *ret_tid)
{
	pthread_mutex_lock(&o->lock.mutex);
	*ret_since_ns = o->busy_since_ns;
	*ret_tid = o->tid;
	pthread_mutex_unlock(&o->lock.mutex);
}

uint64_t output_get_background_ns(struct output *o)
{
	uint64_t ns;

	pthread_mutex_lock(&o->lock.mutex);
	ns = o->background_ns;
	pthread_mutex_unlock(&o->lock.mutex);
	return ns;
}

int output_submit_collect(struct output *o, const struct collect_options *options,
			  struct snapshot *open, void *request)
{
	cleanup(job_freep) struct job *job = NULL;
	int r = job_new(&job, JOB_COLLECT, request);

	if (r)
		return r;
	job->collect_options = *options;
	if (options->service) {
		job->service = strdup(options->service);
		if (!job->service)
			return error_origin(-ENOMEM);
		job->collect_options.service = job->service;
	}
	return output_submit_snapshot(o, steal_ptr(&job), open);
}

int output_submit_vacuum(struct output *o, uint64_t max_age_s, uint64_t max_size, void *request)
{
	cleanup(job_freep) struct job *job = NULL;
	int r = job_new(&job, JOB_VACUUM, request);

	if (r)
		return r;
	job->max_age_s = max_age_s;
	job->max_size = max_size;
	r = output_submit_job(o, job);
	if (!r)
		job = NULL;
	return r;
}

int output_fd(struct output *o)
{
	return o->fd;
}

struct output_result *output_take_result(struct output *o)
{
	cleanup(job_freep) struct job *job = NULL;
	uint64_t ignored;

	pthread_mutex_lock(&o->lock.mutex);
	job = job_queue_pop(&o->results);
	if (job)
		o->n_jobs--;
	if (!o->results.first) /* EAGAIN: nothing was signalled since */
		(void)!read(o->fd, &ignored, sizeof(ignored));
	pthread_mutex_unlock(&o->lock.mutex);
	return job ? steal_ptr(&job->result) : NULL;
}

int output_configure(struct output *o, const struct output_options *options)
{
	pthread_mutex_lock(&o->lock.mutex);
	o->options = *options;
	o->configure = true;
	pthread_cond_signal(&o->lock.wake);
	pthread_mutex_unlock(&o->lock.mutex);
	return 0;
}

void output_get_store_status(struct output *o, struct output_store_status *ret)
{
	pthread_mutex_lock(&o->lock.mutex);
	*ret = o->status;
	pthread_mutex_unlock(&o->lock.mutex);
}

void output_get_symbols_stats(struct output *o, struct symbols_stats *ret)
{
	pthread_mutex_lock(&o->lock.mutex);
	*ret = o->symbols;
	pthread_mutex_unlock(&o->lock.mutex);
}

void output_get_wanted(struct output *o, struct symbols_wanted *ret)
{
	pthread_mutex_lock(&o->lock.mutex);
	*ret = o->wanted;
	pthread_mutex_unlock(&o->lock.mutex);
}
