/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_STACK_PRINT_H
#define PROFD_TESTS_STACK_PRINT_H

/*
 * What stack_tool prints, and the thread that does it: reading the symbols of a large image takes a
 * tenth of a second, in which the rings of the source must be drained. Names come from images'
 * open files, as profd has them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>

#include "common/error.h"
#include "common/symbols/symtab.h"
#include "daemon/ingest/source.h"
#include "daemon/output/kernel_images.h"
#include "daemon/resolve/process.h"
#include "daemon/worker/elf/elf_image.h"
#include "tests/support/files.h"
#include "tests/support/native_frames.h"
#include "tests/support/symtab_from_elf.h"

#define PRINT_TEXT_MAX 320

/* The symbols of an image, or of a part of the kernel. */
struct print_names {
	uint64_t id;
	struct symtab *symtab;  /* NULL: it has none */
	struct elf_summary elf; /* images only */
	UT_hash_handle hh;
};

/* A line to be: a sample with its frames, or the text of an event. */
struct print_line {
	struct print_line *next;
	struct mappings *mappings; /* reference, or NULL */
	uint32_t generation, n_kernel, n_frames;
	char text[PRINT_TEXT_MAX]; /* its first fields */
	uint64_t frames[];
};

struct printer {
	struct kernel_images *kernel; /* NULL: kernel frames are not printed */
	int vdso_fd;
	struct print_names *images, *kernel_parts;
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock; /* over all that follows */
	pthread_cond_t wake;
	struct print_line *first, **last;
	bool stop;
};

/* --- names ------------------------------------------------------------------------------------ */

static struct print_names *print_names_get(struct print_names **all, uint64_t id, bool *ret_is_new)
{
	struct print_names *n;

	HASH_FIND(hh, *all, &id, sizeof(id), n);
	*ret_is_new = !n;
	if (n)
		return n;
	n = calloc(1, sizeof(*n));
	if (!n)
		abort();
	n->id = id;
	HASH_ADD(hh, *all, id, sizeof(n->id), n);
	return n;
}

static struct print_names *print_names_of_image(struct printer *p, const struct image *image)
{
	int fd = image->kind == IMAGE_VDSO && image->fd < 0 ? p->vdso_fd : image->fd;
	struct print_names *n;
	bool is_new;

	n = print_names_get(&p->images, image->id, &is_new);
	if (is_new && fd >= 0 && elf_summary_read(fd, &n->elf) == WORKER_DONE &&
	    symtab_from_elf(&n->symtab, fd) != SYMTAB_E_OK)
		n->symtab = NULL;
	return n;
}

static struct print_names *print_names_of_kernel(struct printer *p,
						 const struct kernel_image *image)
{
	struct print_names *n;
	bool is_new;

	n = print_names_get(&p->kernel_parts, image->id, &is_new);
	if (is_new && kernel_images_symbols(p->kernel, image, &n->symtab) != SYMTAB_E_OK)
		n->symtab = NULL;
	return n;
}

static void print_names_free_all(struct print_names **all)
{
	struct print_names *n, *next;

	HASH_ITER (hh, *all, n, next) {
		HASH_DEL(*all, n);
		symtab_free(n->symtab);
		free(n);
	}
}

/* --- the thread ------------------------------------------------------------------------------- */

static void print_in_image(struct printer *p, const struct image *image, uint64_t offset)
{
	struct print_names *n = print_names_of_image(p, image);
	const char *slash = strrchr(image->path, '/');
	const char *module = slash && slash[1] ? slash + 1 : image->path;
	struct symtab_symbol symbol;
	uint64_t address;

	if (n->symtab && elf_summary_vaddr(&n->elf, offset, &address) &&
	    symtab_find(n->symtab, address, &symbol))
		printf("%s+0x%" PRIx64 "(%s)", symbol.name, address - symbol.start, module);
	else
		printf("%s+0x%" PRIx64, module, offset);
}

static void print_user_frame(struct printer *p, const struct print_line *line, uint64_t frame)
{
	const struct mapping *all, *m;
	size_t n = 0;

	if (frame_kind(frame) == FRAME_IMAGE) {
		all = line->mappings ? mappings_all(line->mappings, &n) : NULL;
		for (size_t i = 0; i < n; i++) {
			if (all[i].image->id != frame_image(frame))
				continue;
			print_in_image(p, all[i].image, frame_offset(frame));
			return;
		}
		printf("image#%" PRIu32 "+0x%" PRIx32, frame_image(frame), frame_offset(frame));
		return;
	}
	m = line->mappings ? mappings_find(line->mappings, line->generation, frame) : NULL;
	if (m)
		print_in_image(p, m->image, frame - m->start + m->offset);
	else
		printf("0x%" PRIx64, frame);
}

static void print_kernel_frame(struct printer *p, uint64_t frame)
{
	const struct kernel_image *image = kernel_images_find(p->kernel, frame);
	struct print_names *n = image ? print_names_of_kernel(p, image) : NULL;
	struct symtab_symbol symbol;

	if (n && n->symtab && symtab_find(n->symtab, frame, &symbol))
		printf("%s+0x%" PRIx64, symbol.name, frame - symbol.start);
	else
		printf("0x%" PRIx64, frame);
}

static void print_line(struct printer *p, const struct print_line *line)
{
	fputs(line->text, stdout);
	for (uint32_t i = line->n_kernel; i < line->n_frames; i++) {
		if (i > line->n_kernel)
			putchar(';');
		print_user_frame(p, line, line->frames[i]);
	}
	if (p->kernel && line->n_kernel)
		putchar('\t');
	for (uint32_t i = 0; p->kernel && i < line->n_kernel; i++) {
		if (i)
			putchar(';');
		print_kernel_frame(p, line->frames[i]);
	}
	putchar('\n');
}

static void *print_run(void *userdata)
{
	struct printer *p = userdata;
	struct print_line *line, *next;
	bool stop;

	do {
		pthread_mutex_lock(&p->lock);
		while (!p->first && !p->stop)
			pthread_cond_wait(&p->wake, &p->lock);
		line = p->first;
		p->first = NULL;
		p->last = &p->first;
		stop = p->stop;
		pthread_mutex_unlock(&p->lock);
		for (; line; line = next) {
			next = line->next;
			print_line(p, line);
			mappings_unref(line->mappings);
			free(line);
		}
		fflush(stdout);
	} while (!stop);
	return NULL;
}

/* --- the other side --------------------------------------------------------------------------- */

/* @with_kernel: kernel frames are printed, too. Returns 0 or negative errno. */
static int printer_start(struct printer *p, bool with_kernel, int proc_fd, int sys_fd)
{
	int r = 0;

	*p = (struct printer){.last = &p->first,
			      .vdso_fd = copy_vdso(),
			      .lock = PTHREAD_MUTEX_INITIALIZER,
			      .wake = PTHREAD_COND_INITIALIZER};
	if (with_kernel)
		r = kernel_images_new(&p->kernel, proc_fd, sys_fd);
	if (!r && with_kernel)
		r = kernel_images_refresh(p->kernel);
	if (!r)
		r = -pthread_create(&p->thread, NULL, print_run, p);
	p->has_thread = !r;
	return r;
}

/* Prints all that was added, and ends the thread. Does nothing to a zeroed one. */
static void printer_stop(struct printer *p)
{
	if (p->has_thread) {
		pthread_mutex_lock(&p->lock);
		p->stop = true;
		pthread_cond_signal(&p->wake);
		pthread_mutex_unlock(&p->lock);
		pthread_join(p->thread, NULL);
		p->has_thread = false;
	}
	print_names_free_all(&p->images);
	print_names_free_all(&p->kernel_parts);
	kernel_images_free(p->kernel);
	p->kernel = NULL;
}

static struct print_line *print_line_new(uint32_t n_frames)
{
	struct print_line *line = malloc(sizeof(*line) + n_frames * sizeof(line->frames[0]));

	if (!line)
		abort();
	*line = (struct print_line){.n_frames = n_frames};
	return line;
}

static void printer_add(struct printer *p, struct print_line *line)
{
	pthread_mutex_lock(&p->lock);
	*p->last = line;
	p->last = &line->next;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
}

/* A thread or a file may be called anything; a field holds no tab and no newline. */
static void print_copy_name(char *ret, size_t size, const char *name)
{
	snprintf(ret, size, "%s", name);
	for (; *ret; ret++) {
		if ((unsigned char)*ret < ' ')
			*ret = '?';
	}
}

/* @quality and @reason are their names. */
static void printer_add_sample(struct printer *p, const struct sample *s,
			       const struct process *process, const char *quality,
			       const char *reason)
{
	struct print_line *line = print_line_new(s->n_frames);
	char comm[SAMPLE_COMM_SIZE];

	/* Plain perf events tell a thread's name only when it changes. */
	print_copy_name(comm, sizeof(comm), s->comm[0] ? s->comm : process->comm);
	if (process->mappings) {
		line->mappings = mappings_ref(process->mappings);
		line->generation = mappings_generation(process->mappings, s->time_ns);
	}
	line->n_kernel = s->n_kernel;
	memcpy(line->frames, s->frames, s->n_kernel * sizeof(s->frames[0]));
	line->n_frames = s->n_kernel + native_frames(s, line->frames + s->n_kernel);
	snprintf(line->text, sizeof(line->text), "%" PRIu64 "\t%d\t%d\t%s\t%s\t%s\t%" PRIu32 "\t",
		 s->time_ns, (int)s->pid, (int)s->tid, comm, quality, reason, s->n_kernel);
	printer_add(p, line);
}

static const char *print_event_name(const struct process_event *e)
{
	switch (e->kind) {
	case PROCESS_EVENT_FORK:
		return e->pid == e->parent ? "thread" : "fork";
	case PROCESS_EVENT_EXEC:
		return "exec";
	case PROCESS_EVENT_COMM:
		return "comm";
	case PROCESS_EVENT_MMAP:
		return "mmap";
	case PROCESS_EVENT_EXIT:
		return "exit";
	case PROCESS_EVENT_MOVED:
		return "moved";
	default:
		return "lost";
	}
}

static void printer_add_event(struct printer *p, const struct process_event *e)
{
	struct print_line *line = print_line_new(0);
	char name[128] = "";

	if (e->kind == PROCESS_EVENT_EXEC || e->kind == PROCESS_EVENT_COMM)
		print_copy_name(name, sizeof(name), e->comm);
	else if (e->kind == PROCESS_EVENT_MMAP && e->map.path)
		print_copy_name(name, sizeof(name), e->map.path);
	snprintf(line->text, sizeof(line->text), "event\t%" PRIu64 "\t%s\t%d\t%d\t%d\t%s",
		 e->time_ns, print_event_name(e), (int)e->pid, (int)e->tid, (int)e->parent, name);
	printer_add(p, line);
}

#endif
