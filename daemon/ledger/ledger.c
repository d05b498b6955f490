/* SPDX-License-Identifier: MIT */
/*
 * These structs are nothing but counters: they are added and subtracted as arrays of them. What is
 * in flight follows from the rest.
 */
#include "daemon/ledger/ledger.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/memory_text.h"

const char *const truncated_names[] = {TRUNCATED_REASONS(REASON_NAME)};
const char *const broken_names[] = {BROKEN_REASONS(REASON_NAME)};
const char *const lost_names[] = {LOSS_REASONS(REASON_NAME)};

static uint64_t counters_sum(const uint64_t *counts, size_t n)
{
	uint64_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += counts[i];
	return total;
}

void stack_counts_add(struct stack_counts *c, unsigned quality, unsigned reason, uint64_t n)
{
	switch (quality) {
	case STACK_COMPLETE:
		c->complete += n;
		break;
	case STACK_GUESSED:
		c->guessed += n;
		break;
	case STACK_NO_USER:
		c->no_user += n;
		break;
	case STACK_TRUNCATED:
		c->truncated[reason < N_TRUNCATED ? reason : 0] += n;
		break;
	default:
		c->broken[reason < N_BROKEN ? reason : 0] += n;
		break;
	}
}

uint64_t stack_counts_total(const struct stack_counts *c)
{
	return c->complete + c->guessed + c->no_user + counters_sum(c->truncated, N_TRUNCATED) +
	       counters_sum(c->broken, N_BROKEN);
}

#define N_COUNTERS(type) (sizeof(type) / sizeof(uint64_t))

static void counters_subtract(uint64_t *to, const uint64_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] -= from[i] < to[i] ? from[i] : to[i];
}

void stack_counts_subtract(struct stack_counts *c, const struct stack_counts *other)
{
	counters_subtract((uint64_t *)c, (const uint64_t *)other, N_COUNTERS(struct stack_counts));
}

void ledger_count(struct ledger *l, const struct sample *sample)
{
	stack_counts_add(&l->stacks, sample->quality, sample->reason, 1);
}

static uint64_t ledger_settled(const struct ledger *l)
{
	return stack_counts_total(&l->stacks) + counters_sum(l->lost, N_LOST) -
	       l->lost[LOST_SKIPPED];
}

void ledger_set_source(struct ledger *l, const struct source_stats *stats)
{
	l->expected = stats->expected;
	l->seen = stats->seen;
	for (size_t i = 0; i < N_LOST; i++)
		l->lost[i] = stats->lost[i];
	l->in_flight = l->seen > ledger_settled(l) ? l->seen - ledger_settled(l) : 0;
}

void ledger_add(struct ledger *l, const struct ledger *other)
{
	for (size_t i = 0; i < N_COUNTERS(struct ledger); i++)
		((uint64_t *)l)[i] += ((const uint64_t *)other)[i];
}

void ledger_since(const struct ledger *now, const struct ledger *then, struct ledger *ret)
{
	*ret = *now;
	counters_subtract((uint64_t *)ret, (const uint64_t *)then, N_COUNTERS(struct ledger));
	ret->in_flight = 0;
	ret->seen = ledger_settled(ret);
	ret->expected = ret->seen + ret->lost[LOST_SKIPPED];
}

/* Where the words of a ledger go, and what each begins with. */
struct ledger_words {
	FILE *out;
	const char *prefix;
};

static void ledger_print_reasons(const struct ledger_words *w, const char *group,
				 const char *const *names, const uint64_t *counts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (counts[i])
			fprintf(w->out, " %s%s.%s=%" PRIu64, w->prefix, group, names[i], counts[i]);
}

char *ledger_text(const struct ledger *l, const char *prefix)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	struct ledger_words w = {.prefix = prefix};

	if (memory_text_open(&text))
		return NULL;
	w.out = text.out;
	fprintf(w.out,
		"%sexpected=%" PRIu64 " %sseen=%" PRIu64 " %scomplete=%" PRIu64
		" %sno_user=%" PRIu64,
		prefix, l->expected, prefix, l->seen, prefix, l->stacks.complete, prefix,
		l->stacks.no_user);
	if (l->stacks.guessed)
		fprintf(w.out, " %sguessed=%" PRIu64, prefix, l->stacks.guessed);
	ledger_print_reasons(&w, "truncated", truncated_names, l->stacks.truncated, N_TRUNCATED);
	ledger_print_reasons(&w, "broken", broken_names, l->stacks.broken, N_BROKEN);
	ledger_print_reasons(&w, "lost", lost_names, l->lost, N_LOST);
	fprintf(w.out, " %sin_flight=%" PRIu64, prefix, l->in_flight);
	return memory_text_close(&text) == 0 ? steal_ptr(&text.text) : NULL;
}
