/* SPDX-License-Identifier: MIT */
/*
 * One queue of requests, which the thread waits for under a lock, and one of results, which the
 * main thread waits for on an eventfd. A result is allocated with its request, so that each
 * request is answered. Requests are small, and one per image; results hold tables, so the thread
 * rests while some have not been taken.
 */
#include "daemon/resolve/table_loader.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/error.h"
#include "common/image/eh_frame.h"
#include "common/log.h"
#include "common/thread.h"
#include "common/unwind/table.h"

/*
 * Compiling holds the sections (eh_frame.h has their bound), the rows, twice that while their array
 * grows, and the packed table.
 */
#define ROWS_MAX  (8u << 20)
#define RULES_MAX (1u << 20)

/* A vdso is some pages; what claims to be larger is not looked at beyond. */
#define VDSO_BYTES_MAX (1u << 20)

/* Results that may wait to be taken. */
#define RESULTS_MAX 4

struct job {
	struct job *next;
	struct image *image; /* reference */
	struct table_result *result;
};

struct queue {
	struct job *first, **last;
};

struct table_loader {
	size_t max_words;
	int fd;
	pthread_t thread;
	bool has_thread;
	struct thread_lock lock; /* over all that follows */
	struct queue requests, results;
	unsigned n_results;
	bool stop;
};

void table_result_free(struct table_result *result)
{
	if (!result)
		return;
	image_unref(result->image);
	free(result->words);
	free(result);
}

static int judge_frame(int outcome)
{
	return outcome == EH_FRAME_E_NONE ? TABLE_NO_CFI : TABLE_REFUSED;
}

/*
 * Our own: the kernel maps the same pages into every 64-bit process (vdso(7)). Its length is not
 * told, but it is whole pages, and the loadable segment ends in the last one or close before.
 */
static int read_vdso(struct eh_frame *ret)
{
	const uint8_t *base = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end = 0;
	Elf64_Ehdr header;

	if (!base)
		return EH_FRAME_E_NONE;
	memcpy(&header, base, sizeof(header));
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr) ||
	    header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr) > page)
		return EH_FRAME_E_MALFORMED;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr segment;

		memcpy(&segment, base + header.e_phoff + i * sizeof(segment), sizeof(segment));
		if (segment.p_type == PT_LOAD && segment.p_offset + segment.p_filesz > end)
			end = segment.p_offset + segment.p_filesz;
	}
	end = (end + page - 1) / page * page;
	if (end > VDSO_BYTES_MAX)
		return EH_FRAME_E_TOO_BIG;
	return eh_frame_parse(base, end, ret);
}

/* Code that lies past what a row's offset can say. */
static bool is_over_4g(const struct cfi_input *input)
{
	for (size_t i = 0; i < input->n_segments; i++)
		if (input->segments[i].offset + input->segments[i].length > UINT32_MAX)
			return true;
	return false;
}

/* Returns enum table_state of the image, or -ENOMEM. */
static int compile(const struct cfi_input *input, size_t max_words, struct table_result *result)
{
	const struct cfi_limits limits = {
		.max_rows = max_words < ROWS_MAX / 2 ? max_words * 2 : ROWS_MAX,
		.max_rules = max_words < RULES_MAX ? max_words : RULES_MAX,
	};
	cleanup(cfi_rows_freep) struct cfi_rows *rows = NULL;
	struct table_slot slot;
	int r;

	r = cfi_compile(&rows, input, &limits);
	if (r < 0)
		return r;
	if (r) {
		result->over_4g = r == CFI_E_TOO_BIG && is_over_4g(input);
		return r == CFI_E_NONE ? TABLE_NO_CFI : TABLE_REFUSED;
	}
	result->counters = rows->counters;
	r = table_pack(rows, max_words, &slot, &result->words, &result->n_words);
	if (r)
		return r < 0 ? r : TABLE_REFUSED;
	result->slot = slot;
	return TABLE_LOADED;
}

/* Returns enum table_state, or -ENOMEM. */
static int load(struct image *image, size_t max_words, struct table_result *result)
{
	struct eh_frame frame = {0};
	int r;

	if (image->kind == IMAGE_VDSO)
		r = read_vdso(&frame);
	else if (image->kind != IMAGE_FILE)
		return TABLE_NO_CFI;
	else if (image->fd < 0)
		return TABLE_REFUSED;
	else if (!image_elf(image) || image_elf(image)->pointer_bytes != 8)
		return TABLE_NO_CFI;
	else
		r = eh_frame_read(image->fd, &frame);
	if (r)
		return r < 0 ? r : judge_frame(r);
	r = compile(&frame.input, max_words, result);
	eh_frame_deinit(&frame);
	return r;
}

static int result_new(struct table_result **ret, struct image *image)
{
	struct table_result *result = calloc(1, sizeof(*result));

	if (!result)
		return error_origin(-ENOMEM);
	result->image = image_ref(image);
	*ret = result;
	return 0;
}

int table_load(struct image *image, size_t max_words, struct table_result **ret)
{
	cleanup(table_result_freep) struct table_result *result = NULL;
	int r;

	r = result_new(&result, image);
	if (!r)
		r = load(image, max_words, result);
	if (r < 0)
		return r;
	result->slot.state = (uint32_t)r;
	*ret = steal_ptr(&result);
	return 0;
}

static void queue_push(struct queue *q, struct job *job)
{
	job->next = NULL;
	*q->last = job;
	q->last = &job->next;
}

static struct job *queue_pop(struct queue *q)
{
	struct job *job = q->first;

	if (!job)
		return NULL;
	q->first = job->next;
	if (!q->first)
		q->last = &q->first;
	return job;
}

/* The smallest image first, so that a compiler's does not keep all others waiting. */
static struct job *queue_pop_smallest(struct queue *q)
{
	struct job **link, **found = &q->first, *job;

	if (!q->first)
		return NULL;
	for (link = &q->first; *link; link = &(*link)->next)
		if ((*link)->image->size < (*found)->image->size)
			found = link;
	job = *found;
	*found = job->next;
	if (q->last == &job->next)
		q->last = found;
	return job;
}

static void job_free(struct job *job)
{
	if (!job)
		return;
	image_unref(job->image);
	table_result_free(job->result);
	free(job);
}
DEFINE_CLEANUP(struct job *, job_free)

static void *run(void *userdata)
{
	struct table_loader *l = userdata;
	uint64_t one = 1;

	for (;;) {
		struct job *job;
		int r;

		pthread_mutex_lock(&l->lock.mutex);
		while ((!l->requests.first || l->n_results >= RESULTS_MAX) && !l->stop)
			pthread_cond_wait(&l->lock.wake, &l->lock.mutex);
		job = l->stop ? NULL : queue_pop_smallest(&l->requests);
		pthread_mutex_unlock(&l->lock.mutex);
		if (!job)
			return NULL;

		/* Without memory it stays absent, for now. */
		r = load(job->image, l->max_words, job->result);
		job->result->slot.state = r < 0 ? TABLE_ABSENT : (uint32_t)r;
		pthread_mutex_lock(&l->lock.mutex);
		queue_push(&l->results, job);
		l->n_results++;
		pthread_mutex_unlock(&l->lock.mutex);
		if (write(l->fd, &one, sizeof(one)) < 0)
			log_warning("table loader: cannot wake the main thread: %s",
				    strerror(errno));
	}
}

int table_loader_new(struct table_loader **ret, size_t max_words)
{
	cleanup(table_loader_freep) struct table_loader *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return error_origin(-ENOMEM);
	l->max_words = max_words;
	l->requests.last = &l->requests.first;
	l->results.last = &l->results.first;
	l->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->fd < 0)
		return error_origin(-errno);
	r = thread_lock_init(&l->lock);
	if (!r)
		r = thread_start(&l->thread, "profd-tables", run, l);
	if (r)
		return r;
	l->has_thread = true;
	*ret = steal_ptr(&l);
	return 0;
}

void table_loader_free(struct table_loader *l)
{
	struct job *job;

	if (!l)
		return;
	if (l->has_thread) {
		pthread_mutex_lock(&l->lock.mutex);
		l->stop = true;
		pthread_cond_signal(&l->lock.wake);
		pthread_mutex_unlock(&l->lock.mutex);
		pthread_join(l->thread, NULL);
	}
	while ((job = queue_pop(&l->requests)))
		job_free(job);
	while ((job = queue_pop(&l->results)))
		job_free(job);
	thread_lock_deinit(&l->lock);
	closep(&l->fd);
	free(l);
}

int table_loader_request(struct table_loader *l, struct image *image)
{
	cleanup(job_freep) struct job *job = calloc(1, sizeof(*job));
	int r;

	if (!job)
		return error_origin(-ENOMEM);
	job->image = image_ref(image);
	r = result_new(&job->result, image);
	if (r)
		return r;
	pthread_mutex_lock(&l->lock.mutex);
	queue_push(&l->requests, steal_ptr(&job));
	pthread_cond_signal(&l->lock.wake);
	pthread_mutex_unlock(&l->lock.mutex);
	return 0;
}

int table_loader_fd(const struct table_loader *l)
{
	return l->fd;
}

struct table_result *table_loader_take(struct table_loader *l)
{
	cleanup(job_freep) struct job *job = NULL;
	uint64_t ignored;

	pthread_mutex_lock(&l->lock.mutex);
	job = queue_pop(&l->results);
	if (job && l->n_results-- == RESULTS_MAX)
		pthread_cond_signal(&l->lock.wake);
	if (!l->results.first) /* EAGAIN: nothing was signalled since */
		(void)!read(l->fd, &ignored, sizeof(ignored));
	pthread_mutex_unlock(&l->lock.mutex);
	return job ? steal_ptr(&job->result) : NULL;
}
