/* SPDX-License-Identifier: MIT */
/*
 * Two lists under one lock: requests, which the thread waits for on a condition variable, and
 * results, which the main thread waits for on an eventfd. Requests that are waiting, in work or
 * answered but not taken count together against one bound, which only windows may pass, and the
 * files of sessions: sessions (session_windows.c) and clients bound those.
 */
#include "daemon/output/output.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"
#include "common/work_can_wait.h"
#include "daemon/output/writer.h"

#define REQUESTS_MAX    32
#define BACKGROUND_REST 3 /* background work takes one part of the time, then rests for so many */
#define BACKGROUND_NS   (10 * NS_PER_S / 1000) /* of work, unless a step takes longer */
#define REST_MAX_NS     (NS_PER_S / 10)        /* whatever a disk took */

/* A request, and later its result. */
struct job {
	struct job *next;
	struct output_request request; /* its snapshot is owned */
	char *texts[3];                /* those of the request; owned */
	struct collect *collect;       /* begun */
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
	pthread_mutex_t lock; /* over all that follows */
	pthread_cond_t wake;
	struct queue requests, results;
	unsigned n_jobs;
	bool stop;
	bool configure;
	struct output_options options;
	struct output_state state;
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
	texts_deinit(&r->paths);
	listing_free(r->listing);
	usage_free(r->usage);
	collected_free(r->collected);
	snapshot_free(r->unwritten);
	free(r);
}

static void job_free(struct job *job)
{
	if (!job)
		return;
	snapshot_free(job->request.snapshot);
	output_result_free(job->result);
	collect_free(job->collect);
	for (unsigned i = 0; i < ARRAY_SIZE(job->texts); i++)
		free(job->texts[i]);
	free(job);
}
DEFINE_CLEANUP(struct job *, job_free)

/* --- the thread: what is done ----------------------------------------------------------------- */

/* Each condition once, when it begins; the next time only after it was gone. */
static void log_conditions(struct output *o)
{
	unsigned conditions = writer_conditions(o->writer);

	if (o->logged & WRITER_CANNOT_WRITE && !(conditions & WRITER_CANNOT_WRITE))
		log_info("writing profiles works again");
	for (unsigned i = 0; i < WRITER_N_CONDITIONS; i++)
		if (conditions & ~o->logged & 1u << i)
			log_warning("%s", writer_describe(o->writer, 1u << i));
	o->logged = conditions;
}

/* @r: what a step returned. */
static bool job_end_collect(struct job *job, int r)
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

static bool job_begin_collect(struct writer *w, struct job *job)
{
	struct output_request *request = &job->request;
	const bool at_once = request->what.at_once;
	int r = writer_collect(w, &request->what, request->snapshot, &job->collect);

	while (at_once && r == COLLECT_E_OK)
		r = collect_step(job->collect);
	if (at_once && r != COLLECT_E_DONE)
		job->result->unwritten = steal_ptr(&request->snapshot);
	snapshot_free(steal_ptr(&request->snapshot));
	return job_end_collect(job, r);
}

/* Does what @job asks for, or a step of it. Returns whether the result is complete. */
static bool job_run(struct writer *w, struct job *job, uint64_t now_ns)
{
	struct output_request *request = &job->request;

	switch (request->task) {
	case OUTPUT_WRITE:
		writer_write(w, steal_ptr(&request->snapshot), now_ns, job->result);
		return true;
	case OUTPUT_FILES:
		writer_list_sessions(w, request->ids, request->n_ids, job->result);
		return true;
	case OUTPUT_EPOCH:
		writer_epoch(w, now_ns, job->result);
		return true;
	case OUTPUT_LIST:
		writer_list(w, &request->list, job->result);
		if (request->snapshot && !job->result->error)
			job->result->error =
				-listing_add_open(job->result->listing, request->snapshot,
						  request->list.since_ns, request->list.until_ns);
		return true;
	case OUTPUT_USAGE:
		writer_usage(w, request, now_ns, job->result);
		return true;
	case OUTPUT_COLLECT:
		return job->collect ? job_end_collect(job, collect_step(job->collect))
				    : job_begin_collect(w, job);
	case OUTPUT_VACUUM:
		writer_vacuum(w, request, now_ns, job->result);
		return true;
	}
	return true;
}

/* Adds what the thread used since @begin_ns (CLOCK_THREAD_CPUTIME_ID) to @sum, in the state. */
static void output_count_cpu(struct output *o, uint64_t *sum, uint64_t begin_ns)
{
	uint64_t used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;

	pthread_mutex_lock(&o->lock);
	*sum += used_ns;
	pthread_mutex_unlock(&o->lock);
}

/* Runs @job or a step of it. Returns whether it is answered. */
static bool output_run_job(struct output *o, struct job *job)
{
	struct output_result *result = job->result;
	uint64_t begin = clock_ns(CLOCK_MONOTONIC), now_ns = clock_ns(CLOCK_REALTIME);
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	bool is_window = job->request.task == OUTPUT_WRITE, is_done;

	if (!result->started_ns)
		result->started_ns = now_ns;
	writer_follow_clock(o->writer, now_ns, clock_ns(CLOCK_BOOTTIME));
	is_done = job_run(o->writer, job, now_ns);
	result->seconds += (double)(clock_ns(CLOCK_MONOTONIC) - begin) / 1e9;
	result->used_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	log_conditions(o);
	if (is_window)
		output_count_cpu(o, &o->state.windows_ns, cpu);
	return is_done;
}

/* --- the thread: when ------------------------------------------------------------------------- */

/* The thread is idle; @job, which may be NULL, is answered. */
static void output_post_result(struct output *o, struct job *job)
{
	struct output_state state;
	uint64_t one = 1;

	writer_get_state(o->writer, &state);
	state.tid = gettid();
	state.busy_since_ns = 0;
	pthread_mutex_lock(&o->lock);
	state.windows_ns = o->state.windows_ns;
	state.background_ns = o->state.background_ns;
	o->state = state;
	if (job)
		job_queue_push(&o->results, job);
	pthread_mutex_unlock(&o->lock);
	if (job && write(o->fd, &one, sizeof(one)) < 0)
		log_warning("output thread: cannot wake the main thread: %s", strerror(errno));
}

/*
 * Waits for something to do; while there is background work only until @resume_ns (CLOCK_MONOTONIC;
 * 0: there is none).
 */
static void output_wait_for_work(struct output *o, uint64_t resume_ns)
{
	const struct timespec resume = clock_timespec(resume_ns);
	int r = 0;

	while (!o->requests.first && !o->stop && !o->configure && r != ETIMEDOUT) {
		if (resume_ns)
			r = pthread_cond_clockwait(&o->wake, &o->lock, CLOCK_MONOTONIC, &resume);
		else
			pthread_cond_wait(&o->wake, &o->lock);
	}
}

static bool output_has_work(struct output *o)
{
	bool wanted;

	pthread_mutex_lock(&o->lock);
	wanted = o->requests.first || o->stop || o->configure;
	pthread_mutex_unlock(&o->lock);
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
	output_count_cpu(o, &o->state.background_ns, cpu);
	rest = (end - begin) * BACKGROUND_REST;
	return more ? end + (rest < REST_MAX_NS ? rest : REST_MAX_NS) : 0;
}

static void *output_thread_main(void *userdata)
{
	struct output *o = userdata;
	uint64_t resume_ns = clock_ns(CLOCK_MONOTONIC);

	/* By itself: in the unit its file in /proc is root's. */
	prctl(PR_SET_NAME, "profd-output");
	work_can_wait();
	(void)writer_read_store(o->writer, clock_ns(CLOCK_REALTIME)); /* a write tries it again */
	output_post_result(o, NULL);
	for (;;) {
		struct output_options options;
		bool configure, stop;
		struct job *job;

		pthread_mutex_lock(&o->lock);
		output_wait_for_work(o, resume_ns);
		configure = o->configure;
		options = o->options;
		o->configure = false;
		job = job_queue_pop(&o->requests);
		stop = o->stop;
		o->state.busy_since_ns = clock_ns(CLOCK_MONOTONIC);
		pthread_mutex_unlock(&o->lock);

		if (configure)
			writer_configure(o->writer, &options, clock_ns(CLOCK_REALTIME));
		/* Whatever was done may have left something to do. */
		resume_ns = clock_ns(CLOCK_MONOTONIC);
		if (job) {
			if (!output_run_job(o, job))
				job_queue_push(&o->collects, steal_ptr(&job));
		} else if (stop && !configure) {
			return NULL;
		} else if (o->collects.first) {
			if (output_run_job(o, o->collects.first))
				job = job_queue_pop(&o->collects);
		} else if (!configure) {
			resume_ns = output_do_background(o);
		}
		output_post_result(o, job);
	}
}

/* --- the main thread -------------------------------------------------------------------------- */

/* With all signals blocked: they are the main thread's. */
static int output_start_thread(struct output *o)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&o->thread, NULL, output_thread_main, o);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		return error_origin(-r);
	o->has_thread = true;
	return 0;
}

int output_new(struct output **ret, const struct output_options *options)
{
	const struct writer_world world = {
		.host = options->host_name,
		.proc_fd = -1,
		.sys_fd = -1,
		.boot_ns = clock_ns(CLOCK_BOOTTIME),
		.read_later = true,
	};
	cleanup(output_freep) struct output *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return error_origin(-ENOMEM);
	o->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	o->wake = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	o->requests.last = &o->requests.first;
	o->collects.last = &o->collects.first;
	o->results.last = &o->results.first;
	o->options = *options;
	o->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (o->fd < 0)
		return error_origin(-errno);
	r = writer_new(&o->writer, options, &world, clock_ns(CLOCK_REALTIME));
	if (r)
		return r;
	writer_get_state(o->writer, &o->state);
	r = output_start_thread(o);
	if (r)
		return r;
	*ret = steal_ptr(&o);
	return 0;
}

void output_free(struct output *o)
{
	struct job *job;

	if (!o)
		return;
	if (o->has_thread) {
		pthread_mutex_lock(&o->lock);
		o->stop = true;
		pthread_cond_signal(&o->wake);
		pthread_mutex_unlock(&o->lock);
		pthread_join(o->thread, NULL);
	}
	while ((job = job_queue_pop(&o->requests)))
		job_free(job);
	while ((job = job_queue_pop(&o->collects)))
		job_free(job);
	while ((job = job_queue_pop(&o->results)))
		job_free(job);
	writer_free(o->writer);
	closep(&o->fd);
	free(o);
}

/* The texts of the request become the job's own. */
static int job_copy_texts(struct job *job)
{
	const char **const texts[] = {
		&job->request.what.service,
		&job->request.what.file,
		&job->request.list.service,
	};

	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!*texts[i])
			continue;
		job->texts[i] = strdup(*texts[i]);
		if (!job->texts[i])
			return error_origin(-ENOMEM);
		*texts[i] = job->texts[i];
	}
	return 0;
}

/* The result is allocated with the request, so that a request is always answered. */
int output_submit(struct output *o, const struct output_request *request)
{
	cleanup(job_freep) struct job *job = calloc(1, sizeof(*job));
	int r = OUTPUT_E_BUSY;

	if (!job)
		return error_origin(-ENOMEM);
	job->request = *request;
	job->request.snapshot = NULL; /* the caller's, until it is queued */
	job->result = calloc(1, sizeof(*job->result));
	if (!job->result || job_copy_texts(job))
		return error_origin(-ENOMEM);
	job->result->request = request->cookie;
	pthread_mutex_lock(&o->lock);
	if (o->n_jobs < REQUESTS_MAX || request->task <= OUTPUT_FILES) {
		job->request.snapshot = request->snapshot;
		job_queue_push(&o->requests, steal_ptr(&job));
		o->n_jobs++;
		pthread_cond_signal(&o->wake);
		r = OUTPUT_E_OK;
	}
	pthread_mutex_unlock(&o->lock);
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

	pthread_mutex_lock(&o->lock);
	job = job_queue_pop(&o->results);
	if (job)
		o->n_jobs--;
	if (!o->results.first) /* EAGAIN: nothing was signalled since */
		(void)!read(o->fd, &ignored, sizeof(ignored));
	pthread_mutex_unlock(&o->lock);
	return job ? steal_ptr(&job->result) : NULL;
}

void output_configure(struct output *o, const struct output_options *options)
{
	pthread_mutex_lock(&o->lock);
	o->options = *options;
	o->configure = true;
	pthread_cond_signal(&o->wake);
	pthread_mutex_unlock(&o->lock);
}

void output_get_state(struct output *o, struct output_state *ret)
{
	pthread_mutex_lock(&o->lock);
	*ret = o->state;
	pthread_mutex_unlock(&o->lock);
}
