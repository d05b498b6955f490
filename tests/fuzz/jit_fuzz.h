/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_JIT_FUZZ_H
#define PROFD_TESTS_JIT_FUZZ_H

/*
 * Any bytes as a file with the names of generated code: every answer is around the address that was
 * asked for and the same for all of its range, whatever else is asked and in whatever pieces the
 * file is read. Addresses are those at the edges of ranges that were answered before.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/order.h"
#include "daemon/worker/jit/jit_input.h"
#include "daemon/worker/jit/jit_names.h"

#define JIT_FUZZ_MAX    128
#define JIT_FUZZ_ROUNDS 3
#define JIT_FUZZ_PIECE  (16u << 10)

struct jit_fuzz_answer {
	uint64_t start, size;
	char name[64], file[64]; /* "": none */
	uint32_t line;
};

static inline void jit_fuzz_require(bool condition)
{
	if (!condition)
		abort();
}

static inline int jit_fuzz_order(const void *a, const void *b)
{
	return order_of(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* False: it is no such file. */
static inline bool jit_fuzz_ask(int fd, const struct jit_question *question,
				struct jit_fuzz_answer *ret)
{
	cleanup(jit_names_freep) struct jit_names *j = NULL;

	if (jit_names_new(&j, fd, question) != WORKER_DONE)
		return false;
	memset(ret, 0, question->n * sizeof(*ret));
	for (size_t i = 0; i < question->n; i++) {
		struct frame_name frame = {.system_name = ""};
		struct jit_fuzz_answer *answer = &ret[i];
		bool found = jit_names_get(j, i, &frame, &answer->start, &answer->size);

		jit_fuzz_require(found == (frame.system_name[0] != '\0'));
		jit_fuzz_require(!frame.file || frame.file[0]);
		jit_fuzz_require(answer->start <= question->addresses[i] &&
				 question->addresses[i] - answer->start < answer->size);
		snprintf(answer->name, sizeof(answer->name), "%s", frame.system_name);
		snprintf(answer->file, sizeof(answer->file), "%s", frame.file ? frame.file : "");
		answer->line = frame.line;
		/* Ranges are the same or do not overlap. */
		jit_fuzz_require(i == 0 || answer->start - answer[-1].start >= answer[-1].size ||
				 (answer->start == answer[-1].start &&
				  answer->size == answer[-1].size &&
				  strcmp(answer->name, answer[-1].name) == 0));
	}
	return true;
}

/* The edges of what was answered, ascending, into @ret; the @n answers are to ascending addresses.
 */
static inline size_t jit_fuzz_edges(const struct jit_fuzz_answer *answers, size_t n, uint64_t *ret)
{
	size_t n_edges = 0;

	for (size_t i = 0; i < n && n_edges + 4 <= JIT_FUZZ_MAX; i++) {
		uint64_t end = answers[i].start + answers[i].size;

		if (i > 0 && answers[i].start == answers[i - 1].start)
			continue;
		ret[n_edges++] = answers[i].start;
		ret[n_edges++] = answers[i].start + answers[i].size / 2;
		ret[n_edges++] = end - 1;
		ret[n_edges++] = end;
	}
	qsort(ret, n_edges, sizeof(*ret), jit_fuzz_order);
	return n_edges;
}

/* The smallest buffer that no line is too long for. */
static inline size_t jit_fuzz_piece(const uint8_t *data, size_t size)
{
	size_t longest = JIT_INPUT_MIN, begin = 0;

	for (size_t i = 0; i < size; i++) {
		longest = i + 1 - begin > longest ? i + 1 - begin : longest;
		begin = data[i] == '\n' ? i + 1 : begin;
	}
	return longest;
}

static inline void jit_fuzz(bool is_jitdump, const uint8_t *data, size_t size)
{
	struct jit_fuzz_answer answers[JIT_FUZZ_MAX], again[JIT_FUZZ_MAX];
	uint64_t addresses[JIT_FUZZ_MAX] = {0, 0x1000, 0x7f0000000000, UINT64_MAX};
	struct jit_question question = {is_jitdump, addresses, 4, JIT_FUZZ_PIECE};
	cleanup(closep) int fd = memfd_create("jit", MFD_CLOEXEC);
	size_t piece = is_jitdump ? JIT_INPUT_MIN : jit_fuzz_piece(data, size);

	jit_fuzz_require(write(fd, data, size) == (ssize_t)size);
	for (unsigned round = 0; round < JIT_FUZZ_ROUNDS; round++) {
		if (!jit_fuzz_ask(fd, &question, answers))
			return;
		question.piece = piece;
		jit_fuzz_require(jit_fuzz_ask(fd, &question, again));
		jit_fuzz_require(memcmp(answers, again, question.n * sizeof(*answers)) == 0);
		for (size_t i = round; i < question.n; i += 50) {
			const struct jit_question alone = {is_jitdump, &addresses[i], 1, piece};

			jit_fuzz_require(jit_fuzz_ask(fd, &alone, again));
			jit_fuzz_require(memcmp(&answers[i], again, sizeof(*again)) == 0);
		}
		question.piece = JIT_FUZZ_PIECE;
		question.n = jit_fuzz_edges(answers, question.n, addresses);
	}
}

#endif
