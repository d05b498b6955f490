/* SPDX-License-Identifier: MIT */

/*
 * cfi_tool FILE...: compiles each file's call frame information and prints what came of it and how
 * fast that was (of CPU time); then a line for all of them.
 * cfi_tool --dump FILE [OFFSET]: the rows, or that at the file offset OFFSET (hexadecimal).
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/unwind/cfi.h"
#include "common/unwind/eh_frame.h"
#include "common/unwind/table.h"
#include "daemon/worker/go/go_frames.h"
#include "tests/support/rule_unpack.h"

static const struct cfi_limits limits = {.max_rows = SIZE_MAX, .max_rules = TABLE_RULES_MAX};

struct totals {
	uint64_t files, rows, rules, bytes, ns;
	struct cfi_counters counters;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns what ended it: 0, or the outcome of reading or compiling, said. */
static int load(const char *path, struct cfi_rows **ret, uint64_t *ret_ns)
{
	static const char *const read_outcomes[] = {"", "no call frame information", "malformed",
						    "too big", "unreadable"};
	static const char *const outcomes[] = {"", "no FDEs", "unsupported", "too big"};
	cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	cleanup(freep) struct cfi_own_rule *own = NULL;
	cleanup(elf_image_deinit) struct elf_image image = {0};
	struct eh_frame frame = {0};
	uint64_t start;
	size_t n_own = 0;
	int r = 0;

	if (fd < 0) {
		perror(path);
		return 1;
	}
	if (elf_image_open(&image, fd, 0) == WORKER_DONE)
		r = go_frames_read(&image, &own, &n_own);
	if (!r)
		r = eh_frame_read(fd, &frame);
	if (r) {
		printf("%s: %s\n", path, r < 0 ? "no memory" : read_outcomes[r]);
		return r;
	}
	frame.input.own = own;
	frame.input.n_own = n_own;
	frame.input.read_code = eh_frame_read_code;
	frame.input.read_code_userdata = &fd;
	start = now_ns();
	r = cfi_compile(ret, &frame.input, &limits);
	*ret_ns = now_ns() - start;
	if (r)
		printf("%s: %s\n", path, r < 0 ? "no memory" : outcomes[r]);
	eh_frame_deinit(&frame);
	return r;
}

static void print_counters(const struct cfi_counters *counters)
{
#define PRINT_COUNTER(n) printf(" %s %" PRIu64, #n, counters->n);
	CFI_COUNTERS(PRINT_COUNTER)
#undef PRINT_COUNTER
}

static double per_second(uint64_t n, uint64_t ns)
{
	return ns ? (double)n / (double)ns * 1e3 : 0;
}

static int measure(const char *path, struct totals *totals)
{
	cleanup(cfi_rows_freep) struct cfi_rows *rows = NULL;
	cleanup(freep) uint64_t *words = NULL;
	struct table_slot slot;
	size_t n_words = 0;
	uint64_t ns;

	if (load(path, &rows, &ns))
		return 0;
	if (table_pack(rows, SIZE_MAX, &slot, &words, &n_words)) {
		printf("%s: cannot be packed\n", path);
		return 1;
	}
	printf("%s: rows %zu rules %zu bytes %zu;", path, rows->n_rows, rows->n_rules, n_words * 8);
	print_counters(&rows->counters);
	printf("; %.1f M rows/s\n", per_second(rows->counters.rows, ns));
	totals->files++;
	totals->rows += rows->n_rows;
	totals->rules += rows->n_rules;
	totals->bytes += n_words * 8;
	totals->ns += ns;
#define ADD_COUNTER(n) totals->counters.n += rows->counters.n;
	CFI_COUNTERS(ADD_COUNTER)
#undef ADD_COUNTER
	return 0;
}

static void print_cfa(const struct rule *rule)
{
	static const char *const bases[N_RULE_BASES] = {"sp", "fp",  "ax",  "bx", "cx",
							"dx", "r10", "r11", "di"};
	const char *base = rule->base < N_RULE_BASES ? bases[rule->base] : "?";

	if (rule->kind == RULE_DEREF)
		printf("cfa=*(%s%+d)%+d", base, rule->cfa_offset, rule->extra);
	else if (rule->kind == RULE_PLT)
		printf("cfa=%s%+d+((pc&15)>=%d)*8", base, rule->cfa_offset, rule->extra);
	else
		printf("cfa=%s%+d", base, rule->cfa_offset);
}

static void print_go(uint64_t word)
{
	static const char *const places[N_RULE_GO_PLACES] = {"saved", "resumed", "called-c",
							     "called-back", "by-fp"};

	printf("go %s cfa%+d fp=%s g=%d m=%u curg=%u sp=%u fp=%u\n", places[RULE_GO_PLACE(word)],
	       (int)RULE_GO_CFA_OFFSET(word), RULE_GO_SAVES_FP(word) ? "cfa-16" : "same",
	       (int)RULE_GO_G(word), RULE_GO_G_M(word), RULE_GO_M_CURG(word),
	       RULE_GO_SCHED_SP(word), RULE_GO_SCHED_FP(word));
}

static void print_rule(uint64_t word)
{
	static const char *const kinds[N_RULE_KINDS] = {"unknown", "root", "",   "",     "",
							"signal",  "odd",  "go", "clone"};
	struct rule rule = rule_unpack(word);

	if (rule.kind == RULE_GO) {
		print_go(word);
		return;
	}
	if (rule.kind != RULE_CFA && rule.kind != RULE_DEREF && rule.kind != RULE_PLT) {
		printf("%s\n", rule.kind < N_RULE_KINDS ? kinds[rule.kind] : "?");
		return;
	}
	print_cfa(&rule);
	if (rule.ra_kind == RULE_RA_IN_LR)
		printf(" ra=lr");
	else if (rule.ra_kind == RULE_RA_IN_DI)
		printf(" ra=di");
	else
		printf(" ra=cfa%+d", rule.ra_offset);
	if (rule.fp_kind == RULE_FP_LOST)
		printf(" fp=lost");
	else if (rule.fp_kind != RULE_FP_SAME)
		printf(" fp=%s%+d", rule.fp_kind == RULE_FP_AT_FP ? "fp" : "cfa", rule.fp_offset);
	if (rule.kind == RULE_CFA && rule.extra == RULE_BX_SAME)
		printf(" bx=same");
	else if (rule.kind == RULE_CFA && rule.extra)
		printf(" bx=cfa%+d", -8 * (rule.extra - RULE_BX_SAME));
	printf("\n");
}

static int dump(const char *path, const char *offset)
{
	cleanup(cfi_rows_freep) struct cfi_rows *rows = NULL;
	uint64_t ns, wanted = offset ? strtoull(offset, NULL, 16) : 0;

	if (load(path, &rows, &ns))
		return 1;
	for (size_t i = 0; i < rows->n_rows; i++) {
		const struct cfi_row *row = &rows->rows[i];

		if (offset &&
		    (row->offset > wanted || (i + 1 < rows->n_rows && row[1].offset <= wanted)))
			continue;
		printf("%" PRIx32 " ", row->offset);
		print_rule(rows->rules[row->rule]);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct totals totals = {0};
	int failed = 0;

	if (argc >= 3 && !strcmp(argv[1], "--dump"))
		return dump(argv[2], argv[3]);
	if (argc < 2) {
		fprintf(stderr, "usage: cfi_tool FILE...\n       cfi_tool --dump FILE [OFFSET]\n");
		return 2;
	}
	for (int i = 1; i < argc; i++)
		failed |= measure(argv[i], &totals);
	printf("%" PRIu64 " files: rows %" PRIu64 " rules %" PRIu64 " bytes %" PRIu64 ";",
	       totals.files, totals.rows, totals.rules, totals.bytes);
	print_counters(&totals.counters);
	printf("; %.1f M rows/s, %.1f ms\n", per_second(totals.counters.rows, totals.ns),
	       (double)totals.ns / 1e6);
	return failed;
}
