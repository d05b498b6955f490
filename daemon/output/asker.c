/* SPDX-License-Identifier: MIT */
/*
 * Every question goes through the same steps: the window's time, the probe of a new worker, the
 * question, a look at the whole answer. An answer that is against the protocol counts as a death.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "daemon/output/symbols_private.h"
#include "daemon/resolve/vdso.h"

#define REST_MAX_NS    (NS_PER_S / 2)
#define LOST_DEADLINES 2 /* by one window */

int asker_init(struct asker *a, const struct worker_options *options)
{
	*a = (struct asker){.vdso_fd = vdso_open(), .deadline_ns = options->deadline_ns};
	return worker_new(&a->worker, options);
}

void asker_deinit(struct asker *a)
{
	worker_free(a->worker);
	closep(&a->vdso_fd);
}

bool asker_has_time(const struct asker *a)
{
	return a->lost_ns < LOST_DEADLINES * a->deadline_ns;
}

/* No file's fault. */
static void asker_note_trouble(struct asker *a)
{
	struct worker_stats worker;

	worker_get_stats(a->worker, &worker);
	memcpy(a->stats.trouble, worker.why, sizeof(a->stats.trouble));
}

/* Returns ASK_* or negative errno. */
static int asker_call_worker(struct asker *a, const struct worker_request *request,
			     struct worker_reply *ret)
{
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC), took_ns;
	int r = worker_query(a->worker, request, ret);

	if (r < 0)
		return r;
	took_ns = clock_ns(CLOCK_MONOTONIC) - begin_ns;
	/* What a busy machine adds to the deadline is not the file's doing. */
	if (r == WORKER_E_DIED)
		a->lost_ns += took_ns < a->deadline_ns ? took_ns : a->deadline_ns;
	if (r == WORKER_E_OK)
		a->stats.trouble[0] = '\0';
	return r == WORKER_E_OK ? ASK_OK : r == WORKER_E_DIED ? ASK_DIED : ASK_NOT_NOW;
}

/* A short rest after one that could be proven is waited for. False: it is too long. */
static bool asker_wait_for_rest(struct asker *a)
{
	uint64_t until_ns = worker_backoff_until(a->worker), now = clock_ns(CLOCK_MONOTONIC);
	uint64_t rest_ns = until_ns > now ? until_ns - now : 0;
	struct timespec rest = {.tv_nsec = (long)rest_ns};

	if (!a->proven || !rest_ns || rest_ns > REST_MAX_NS)
		return false;
	a->lost_ns += rest_ns;
	while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
		continue;
	return true;
}

static int asker_probe_worker(struct asker *a)
{
	struct worker_request request = worker_request_of(WORKER_INSPECT, a->vdso_fd);
	int process = worker_pid(a->worker), r;
	struct worker_image vdso;
	struct worker_reply reply;

	if (a->vdso_fd < 0 || (process && process == a->proven))
		return ASK_OK;
	r = asker_call_worker(a, &request, &reply);
	if (r == ASK_NOT_NOW && asker_wait_for_rest(a))
		r = asker_call_worker(a, &request, &reply);
	if (r < 0)
		return r;
	if (r != ASK_OK) {
		asker_note_trouble(a);
		return ASK_NOT_NOW;
	}
	a->proven = worker_pid(a->worker);
	a->has_vdso = reply.outcome == WORKER_DONE && answer_image(reply.data, reply.length, &vdso);
	if (a->has_vdso)
		a->vdso = vdso.elf;
	return ASK_OK;
}

int asker_ask(struct asker *a, const struct worker_request *request, struct worker_reply *ret)
{
	int r;

	if (!asker_has_time(a))
		return ASK_NOT_NOW;
	r = asker_probe_worker(a);
	if (!r)
		r = asker_call_worker(a, request, ret);
	if (r == ASK_NOT_NOW)
		asker_note_trouble(a);
	return r;
}

/* The worker was lost over @file, or over code that is called so. */
static void asker_mark_bad(struct asker *a, const struct asker_file *file)
{
	struct worker_stats worker;

	a->stats.bad_images += !atomic_exchange(file->is_bad, true);
	worker_get_stats(a->worker, &worker);
	text_clean(file->path, strlen(file->path), a->stats.last_bad_image,
		   sizeof(a->stats.last_bad_image) - 1);
	a->stats.last_bad_ns = clock_ns(CLOCK_MONOTONIC);
	log_warning("image worker for symbols: %s while reading %s; it is skipped from now on",
		    worker.why, a->stats.last_bad_image);
}

/* What came of a question about @file (NULL: none is to blame): @r, and whether its reply is sound.
 */
static int asker_judge(struct asker *a, int r, bool is_sound, const struct asker_file *file)
{
	if (r == ASK_OK && !is_sound) {
		worker_reject_answer(a->worker);
		r = ASK_DIED;
	}
	if (r == ASK_DIED && file)
		asker_mark_bad(a, file);
	return r;
}

int asker_ask_names(struct asker *a, struct worker_request *request, const struct asker_file *file,
		    const uint64_t *addresses, size_t n, enum worker_outcome *ret_outcome,
		    struct answer_names *ret)
{
	struct worker_reply reply = {0};
	int r;

	request->payload = addresses;
	request->payload_length = n * sizeof(*addresses);
	a->stats.addresses_asked += n;
	r = asker_ask(a, request, &reply);
	*ret_outcome = reply.outcome;
	return asker_judge(a, r,
			   r || reply.outcome != WORKER_DONE ||
				   answer_names(reply.data, reply.length, addresses, n, ret),
			   file);
}

int asker_inspect(struct asker *a, int fd, const struct asker_file *file, struct worker_image *ret,
		  enum worker_outcome *ret_outcome)
{
	struct worker_request request = worker_request_of(WORKER_INSPECT, fd);
	struct worker_reply reply = {0};
	int r = asker_ask(a, &request, &reply);

	*ret_outcome = reply.outcome;
	return asker_judge(a, r,
			   r || reply.outcome != WORKER_DONE ||
				   answer_image(reply.data, reply.length, ret),
			   file);
}

int asker_ask_functions(struct asker *a, const struct asker_objects *objects,
			const struct asker_file *file, enum worker_outcome *ret_outcome,
			struct answer_functions *ret)
{
	struct worker_request request = worker_request_of(WORKER_FUNCTIONS, -1);
	struct worker_reply reply = {0};
	int r;

	request.payload = objects->payload;
	request.payload_length = objects->length;
	r = asker_ask(a, &request, &reply);
	*ret_outcome = reply.outcome;
	return asker_judge(a, r,
			   r || reply.outcome != WORKER_DONE ||
				   answer_functions(reply.data, reply.length, objects->n,
						    objects->n_offsets, ret),
			   file);
}

int asker_ask_packages(struct asker *a, int fd, const char *names, size_t length, size_t n,
		       const char **ret)
{
	struct worker_request request = worker_request_of(WORKER_PACKAGE, -1);
	struct worker_reply reply = {0};
	int r;

	request.files[WORKER_FILE_PACKAGES] = fd;
	request.payload = names;
	request.payload_length = length;
	r = asker_ask(a, &request, &reply);
	if (r || reply.outcome != WORKER_DONE)
		return r ?: ASK_DIED;
	r = asker_judge(a, r, answer_texts(reply.data, reply.length, n), NULL);
	*ret = (const char *)reply.data;
	return r;
}

const struct elf_summary *asker_vdso(struct asker *a)
{
	if (!a->has_vdso)
		(void)asker_probe_worker(a);
	return a->has_vdso ? &a->vdso : NULL;
}
