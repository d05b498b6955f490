/* SPDX-License-Identifier: MIT */
/*
 * Asking the worker. A new one inspects our own vdso first (the probe): one that cannot do that is
 * no good for any file, so that no file is blamed for it; and one that could and dies later was
 * killed by a file, so that its successor begins at once (worker.h rests only after workers that
 * never answered) and the images behind that file have their names in the same window.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/worker/text.h"
#include "daemon/output/symbols_private.h"

#define REST_MAX_NS (NS_PER_S / 2)

/* No file's fault. */
static void symbols_note_trouble(struct symbols *s)
{
	struct worker_stats worker;

	worker_get_stats(s->worker, &worker);
	memcpy(s->stats.trouble, worker.why, sizeof(s->stats.trouble));
}

/* Returns ASK_* or negative errno. */
static int symbols_call_worker(struct symbols *s, const struct worker_request *request,
			       struct worker_reply *ret)
{
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
	int r = worker_query(s->worker, request, ret);

	if (r < 0)
		return r;
	if (r == WORKER_E_DIED)
		s->lost_ns += clock_ns(CLOCK_MONOTONIC) - begin_ns;
	if (r == WORKER_E_OK)
		s->stats.trouble[0] = '\0';
	return r == WORKER_E_OK ? ASK_OK : r == WORKER_E_DIED ? ASK_DIED : ASK_NOT_NOW;
}

/* A short rest after one that could be proven is waited for. False: it is too long. */
static bool symbols_wait_for_rest(struct symbols *s)
{
	uint64_t until_ns = worker_backoff_until(s->worker), now = clock_ns(CLOCK_MONOTONIC);
	uint64_t rest_ns = until_ns > now ? until_ns - now : 0;
	struct timespec rest = {.tv_nsec = (long)rest_ns};

	if (!s->proven || !rest_ns || rest_ns > REST_MAX_NS)
		return false;
	s->lost_ns += rest_ns;
	while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
		continue;
	return true;
}

static int symbols_probe_worker(struct symbols *s)
{
	struct worker_request request = worker_request_of(WORKER_INSPECT, s->vdso_fd);
	int process = worker_pid(s->worker), r;
	struct worker_image vdso;
	struct worker_reply reply;

	if (s->vdso_fd < 0 || (process && process == s->proven))
		return ASK_OK;
	r = symbols_call_worker(s, &request, &reply);
	if (r == ASK_NOT_NOW && symbols_wait_for_rest(s))
		r = symbols_call_worker(s, &request, &reply);
	if (r < 0)
		return r;
	if (r != ASK_OK) {
		symbols_note_trouble(s);
		return ASK_NOT_NOW;
	}
	s->proven = worker_pid(s->worker);
	s->has_vdso = reply.outcome == WORKER_DONE && answer_image(reply.data, reply.length, &vdso);
	if (s->has_vdso)
		s->vdso = vdso.elf;
	return ASK_OK;
}

int symbols_request(struct symbols *s, const struct worker_request *request,
		    struct worker_reply *ret)
{
	int r;

	if (s->lost_ns >= SYMBOLS_LOST_MAX_NS)
		return ASK_NOT_NOW;
	r = symbols_probe_worker(s);
	if (!r)
		r = symbols_call_worker(s, request, ret);
	if (r == ASK_NOT_NOW)
		symbols_note_trouble(s);
	return r;
}

int symbols_request_names(struct symbols *s, struct worker_request *request,
			  const uint64_t *addresses, size_t n, enum worker_outcome *ret_outcome,
			  struct answer_names *ret)
{
	struct worker_reply reply;
	int r;

	request->payload = addresses;
	request->payload_length = n * sizeof(*addresses);
	s->stats.addresses_asked += n;
	r = symbols_request(s, request, &reply);
	if (r)
		return r;
	*ret_outcome = reply.outcome;
	if (reply.outcome != WORKER_DONE ||
	    answer_names(reply.data, reply.length, addresses, n, ret))
		return ASK_OK;
	symbols_reject_answer(s);
	return ASK_DIED;
}

const struct elf_summary *symbols_vdso(struct symbols *s)
{
	if (!s->has_vdso)
		(void)symbols_probe_worker(s);
	return s->has_vdso ? &s->vdso : NULL;
}

void symbols_reject_answer(struct symbols *s)
{
	worker_reject_answer(s->worker);
}

static void symbols_log_bad_file(struct symbols *s, const char *path)
{
	struct worker_stats worker;

	worker_get_stats(s->worker, &worker);
	text_clean(path, strlen(path), s->stats.last_bad_image,
		   sizeof(s->stats.last_bad_image) - 1);
	s->stats.last_bad_ns = clock_ns(CLOCK_MONOTONIC);
	log_warning("image worker for symbols: %s over %s, which is not read again", worker.why,
		    s->stats.last_bad_image);
}

void symbols_mark_bad_image(struct symbols *s, struct image *image)
{
	if (!atomic_exchange(&image->is_bad, true))
		s->stats.bad_images++;
	symbols_log_bad_file(s, image->path);
}

void symbols_mark_bad_jit(struct symbols *s, struct jit_file *file)
{
	if (!atomic_exchange(&file->is_bad, true))
		s->stats.bad_images++;
	symbols_log_bad_file(s, file->path);
}

int symbols_inspect(struct symbols *s, struct image *image, int fd, struct worker_image *ret,
		    enum worker_outcome *ret_outcome)
{
	struct worker_request request = worker_request_of(WORKER_INSPECT, fd);
	struct worker_image facts;
	struct worker_reply reply;
	int r = symbols_request(s, &request, &reply);

	if (r == ASK_OK && reply.outcome == WORKER_DONE &&
	    !answer_image(reply.data, reply.length, &facts)) {
		symbols_reject_answer(s);
		r = ASK_DIED;
	}
	if (r == ASK_DIED)
		symbols_mark_bad_image(s, image);
	if (r)
		return r;
	*ret_outcome = reply.outcome;
	if (reply.outcome == WORKER_DONE)
		*ret = facts;
	return ASK_OK;
}

/* Returns false if there is no answer to keep. */
static bool symbols_inspect_file(struct symbols *s, int fd, const char *path,
				 struct symbols_build_id *ret)
{
	struct worker_request request = worker_request_of(WORKER_INSPECT, fd);
	struct worker_image facts;
	struct worker_reply reply;
	int r = symbols_request(s, &request, &reply);

	*ret = (struct symbols_build_id){0};
	if (r == ASK_OK && reply.outcome == WORKER_DONE) {
		if (answer_image(reply.data, reply.length, &facts)) {
			ret->length = facts.elf.build_id_length;
			memcpy(ret->bytes, facts.elf.build_id, sizeof(ret->bytes));
			return true;
		}
		symbols_reject_answer(s);
		r = ASK_DIED;
	}
	if (r == ASK_DIED)
		symbols_log_bad_file(s, path);
	return r == ASK_OK || r == ASK_DIED;
}

bool symbols_build_id(struct symbols *s, int fd, const char *path, struct symbols_build_id *ret)
{
	struct symbols_file file = {0};
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	for (unsigned i = 0; i < SYMBOLS_FILES_MAX; i++) {
		const struct symbols_file *f = &s->files[i];

		if (f->inode != st.st_ino || f->device != st.st_dev ||
		    f->ctime.tv_sec != st.st_ctim.tv_sec || f->ctime.tv_nsec != st.st_ctim.tv_nsec)
			continue;
		*ret = f->build_id;
		return ret->length;
	}
	file.device = st.st_dev;
	file.inode = st.st_ino;
	file.ctime = st.st_ctim;
	if (!symbols_inspect_file(s, fd, path, &file.build_id))
		return false;
	s->files[s->next_file++ % SYMBOLS_FILES_MAX] = file;
	*ret = file.build_id;
	return ret->length;
}
