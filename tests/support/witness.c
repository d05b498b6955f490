/* SPDX-License-Identifier: MIT */
/*
 * witness [-F HZ] [-d SECONDS] [-n ONE_IN] [-p PID] [-v]: samples the whole machine, or what PID
 * forks from now on, as profd does and has one in so many complete walks of user stacks repeated by
 * libdw, on the registers and the copy of the stack that came with the sample. Frame for frame they
 * must be the same, up to the root or to the end of the copy.
 *
 * The walks are repeated after the sampling, so that they do not disturb it. A process is to libdw
 * a list of ELF files at their addresses, as the process had them mapped at the moment of the
 * sample. Left out, and counted, are stacks with frames in what is no file that is open here (code
 * made at run time) or that libdw refuses to have at its address.
 *
 * Prints the stacks that differ and a last line of JSON with the numbers. The exit status says only
 * whether this could be done at all.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>

#include "tests/support/native_frames.h"
#include "tests/support/witness_judge.h"
#include "tests/support/witness_pipeline.h"

#define WITNESSES_MAX 20000
#define COPIES_MAX    ((size_t)512 << 20) /* bytes of stack held at most */
#define DETAILS       20                  /* stacks that differ, printed */

struct collection {
	struct pipeline pipeline;
	struct witness *witnesses;
	size_t n, n_dropped, bytes;
	uint64_t n_samples, n_quality[N_STACK_QUALITY];
	uint64_t outcomes[N_OUTCOMES];
	uint64_t n_frames_equal;
	unsigned n_printed;
	bool verbose;
};

/* --- sampling --------------------------------------------------------------------------------- */

static void witness_deinit(struct witness *w)
{
	mappings_unref(w->mappings);
	free(w->stack);
	free(w->frames);
}

static int keep(struct collection *s, const struct sample *sample, struct process *process)
{
	const struct sample_rest *rest = sample->rest;
	struct witness *w = &s->witnesses[s->n];
	uint32_t n = sample->n_frames - sample->n_kernel;

	*w = (struct witness){
		.pid = sample->pid,
		.mappings = mappings_ref(process->mappings),
		.generation = mappings_generation(process->mappings, sample->time_ns),
		.registers = rest->registers,
		.stack_address = rest->stack_address,
		.stack_length = rest->stack_length,
		.stack = malloc(rest->stack_length + 1),
		.frames = malloc((n + 1) * sizeof(*w->frames)),
	};
	if (!w->stack || !w->frames) {
		witness_deinit(w);
		return error_origin(-ENOMEM);
	}
	memcpy(w->comm, sample->comm, sizeof(w->comm));
	if (rest->stack_length)
		memcpy(w->stack, rest->stack, rest->stack_length);
	w->n_frames = native_frames(sample, w->frames);
	s->bytes += rest->stack_length;
	s->n++;
	return 0;
}

static void on_raw(void *userdata, const struct sample *sample)
{
	struct collection *s = userdata;
	struct process *process;
	int r;

	if (!sample->rest || !sample->rest->is_witness)
		return;
	if (s->n == WITNESSES_MAX || s->bytes > COPIES_MAX) {
		s->n_dropped++;
		return;
	}
	r = process_table_find(s->pipeline.processes, sample, &process);
	if (!r)
		r = keep(s, sample, process);
	pipeline_note(&s->pipeline, r);
}

static void on_finished(void *userdata, const struct sample *sample)
{
	struct collection *s = userdata;

	s->n_samples++;
	if (sample->quality < N_STACK_QUALITY)
		s->n_quality[sample->quality]++;
}

/* --- judging ------------------------------------------------------------------------------------
 */

static void print_place(const struct witness *w, uint64_t frame)
{
	const struct image *image = image_of(w, frame);
	const struct mapping *m;

	if (frame_kind(frame) == FRAME_IMAGE) {
		printf("%s+0x%x", image ? image->path : "?", frame_offset(frame));
		return;
	}
	m = mappings_find(w->mappings, w->generation, frame);
	printf("%s+0x%" PRIx64, m ? m->image->path : "?", m ? frame - m->start + m->offset : frame);
}

static void print_difference(struct collection *s, const struct judge *j, const struct witness *w,
			     uint32_t at)
{
	if (!s->verbose && s->n_printed++ >= DETAILS)
		return;
	printf("  %s %d: frame %u of %u (libdw %u%s)", w->comm, (int)w->pid, at, w->n_frames,
	       j->n_pcs, j->past_copy ? ", left the copy" : "");
	if (at) {
		printf(" above ");
		print_place(w, w->frames[at - 1]);
	}
	printf(": ours ");
	if (at < w->n_frames)
		print_place(w, w->frames[at]);
	else
		printf("ends");
	printf(", libdw's ");
	if (at < j->n_pcs)
		print_place(w, j->pcs[at]);
	else
		printf("ends");
	printf("\n");
}

static int by_process(const void *a, const void *b)
{
	const struct witness *x = a, *y = b;

	if (x->mappings != y->mappings)
		return (uintptr_t)x->mappings < (uintptr_t)y->mappings ? -1 : 1;
	return (x->generation > y->generation) - (x->generation < y->generation);
}

static int judge_all(struct collection *s)
{
	cleanup(freep) struct judge *j = calloc(1, sizeof(*j));
	int r = 0;

	if (!j)
		return error_origin(-ENOMEM);
	j->vdso_fd = copy_vdso();
	qsort(s->witnesses, s->n, sizeof(*s->witnesses), by_process);
	for (size_t i = 0; i < s->n && !r; i++) {
		const struct witness *w = &s->witnesses[i];
		enum outcome outcome;
		uint32_t at = 0;

		r = judge_enter(j, w);
		if (r)
			break;
		outcome = left_out(j, w);
		if (outcome == OUTCOME_differ)
			outcome = compare(j, w, &at);
		s->outcomes[outcome]++;
		if (outcome == OUTCOME_differ)
			print_difference(s, j, w, at);
		else
			s->n_frames_equal += at;
	}
	dwfl_end(j->dwfl);
	closep(&j->vdso_fd);
	return r;
}

/* --- the program ------------------------------------------------------------------------------ */

static void print_result(const struct collection *s)
{
	printf("{\"samples\": %" PRIu64 ", \"complete\": %" PRIu64 ", \"no_user\": %" PRIu64
	       ", \"witnesses\": %zu, \"not_kept\": %zu, \"frames_equal\": %" PRIu64,
	       s->n_samples, s->n_quality[STACK_COMPLETE], s->n_quality[STACK_NO_USER], s->n,
	       s->n_dropped, s->n_frames_equal);
	for (unsigned i = 0; i < N_OUTCOMES; i++)
		printf(", \"%s\": %" PRIu64, outcome_names[i], s->outcomes[i]);
	printf("}\n");
}

static void state_deinit(struct collection *s)
{
	for (size_t i = 0; i < s->n; i++)
		witness_deinit(&s->witnesses[i]);
	free(s->witnesses);
	pipeline_close(&s->pipeline);
}

static int run(struct collection *s, double seconds)
{
	int r;

	s->witnesses = calloc(WITNESSES_MAX, sizeof(*s->witnesses));
	if (!s->witnesses)
		return error_origin(-ENOMEM);
	r = pipeline_open(&s->pipeline);
	if (r)
		return r;
	fprintf(stderr, "ready\n");
	r = pipeline_run(&s->pipeline, seconds);
	if (!r)
		r = pipeline_stop(&s->pipeline);
	fprintf(stderr, "sampled\n");
	if (!r)
		r = judge_all(s);
	if (!r)
		print_result(s);
	return r;
}

int main(int argc, char **argv)
{
	cleanup(state_deinit) struct collection s = {
		.pipeline = {.hz = 999,
			     .source_options = {.exclude_self = true,
						.drain_ms = PIPELINE_DRAIN_MS,
						.memory_bytes = (uint64_t)16 << 20,
						.witness_one_in = 100},
			     .raw = on_raw,
			     .finished = on_finished,
			     .userdata = &s,
			     .proc_fd = -1},
	};
	double seconds = 10;
	int option, r;

	while ((option = getopt(argc, argv, "F:d:n:p:v")) >= 0) {
		if (option == 'F')
			s.pipeline.hz = strtoull(optarg, NULL, 10);
		else if (option == 'd')
			seconds = strtod(optarg, NULL);
		else if (option == 'n')
			s.pipeline.source_options.witness_one_in = (uint32_t)strtoul(optarg, NULL,
										     10);
		else if (option == 'p')
			s.pipeline.parent = (pid_t)strtol(optarg, NULL, 10);
		else if (option == 'v')
			s.verbose = true;
		else
			return 2;
	}
	r = run(&s, seconds);
	if (r < 0)
		fprintf(stderr, "witness: %s\n", error_describe(r));
	return r != 0;
}
