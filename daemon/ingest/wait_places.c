/* SPDX-License-Identifier: MIT */
/*
 * A function ends where the next symbol begins, wherever in the text that is: kallsyms is in order
 * for the kernel proper, but not with its modules.
 */
#include "daemon/ingest/wait_places.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/waits.h"

/* Without what a compiler appends (".isra.0"). Where one was inlined, its caller is the place. */
static const struct {
	const char *name;
	uint8_t wait;
} wait_functions[] = {
	{"exit_to_user_mode_loop", WAIT_RUNNABLE},
	{"exit_to_user_mode_prepare", WAIT_RUNNABLE},
	{"syscall_exit_to_user_mode", WAIT_RUNNABLE},
	{"irqentry_exit_to_user_mode", WAIT_RUNNABLE},
	{"irqentry_exit", WAIT_RUNNABLE},
	{"raw_irqentry_exit_cond_resched", WAIT_RUNNABLE},
	{"do_notify_resume", WAIT_RUNNABLE}, /* arm64 */
	{"ret_from_fork", WAIT_RUNNABLE},
	{"ret_from_fork_asm", WAIT_RUNNABLE},
	{"do_signal_stop", WAIT_STOPPED},
	{"get_signal", WAIT_STOPPED},
	{"ptrace_stop", WAIT_STOPPED},
	{"do_freezer_trap", WAIT_STOPPED},
	{"__refrigerator", WAIT_STOPPED},
};

/* Without a device's or a vector's name; of x86, by IDT and by FRED, and of arm64. */
static const char *const interrupts[] = {"asm_sysvec_", "asm_common_interrupt", "fred_sysvec_",
					 "fred_extint", "el1_interrupt",        "el0_interrupt",
					 "el1h_64_irq", "el0t_64_irq"};

static const char *const beginnings[] = {"ret_from_fork_asm", "ret_from_fork"};

_Static_assert(ARRAY_SIZE(wait_functions) < WAIT_PLACES_MAX, "wait places");
_Static_assert(ARRAY_SIZE(beginnings) == ARRAY_SIZE(((struct wait_places *)0)->beginnings),
	       "beginnings");

struct kernel_symbol {
	uint64_t address;
	const char *name;
	size_t length; /* without what is appended */
};

/* "ffffffff81000000 T name.part.0\t[module]"; *text moves behind the line. False: it is none. */
static bool kernel_symbol_parse(const char **text, const char *end, struct kernel_symbol *ret)
{
	const char *line = *text, *newline = memchr(line, '\n', (size_t)(end - line));
	const char *stop = newline ? newline : end;
	char *behind;

	*text = newline ? newline + 1 : end;
	/* The text ends in a NUL, as strtoull() wants it. */
	ret->address = strtoull(line, &behind, 16);
	if (behind == line || behind + 3 >= stop || behind[0] != ' ' || behind[2] != ' ')
		return false;
	ret->name = behind + 3;
	ret->length = 0;
	while (ret->name + ret->length < stop && !strchr(". \t", ret->name[ret->length]))
		ret->length++;
	/* More digits than an address has come out as the last one. */
	return ret->address && ret->address != UINT64_MAX && strchr("tTwW", behind[1]);
}

static bool kernel_symbol_is(const struct kernel_symbol *s, const char *name)
{
	return strlen(name) == s->length && !memcmp(s->name, name, s->length);
}

static void wait_places_put(struct wait_places *places, uint64_t address, uint8_t wait)
{
	if (places->n < WAIT_PLACES_MAX)
		places->all[places->n++] =
			(struct wait_place){.start = address, .end = UINT64_MAX, .wait = wait};
}

static void wait_places_add(struct wait_places *places, const struct kernel_symbol *s)
{
	for (unsigned i = 0; i < ARRAY_SIZE(wait_functions); i++)
		if (kernel_symbol_is(s, wait_functions[i].name))
			wait_places_put(places, s->address, wait_functions[i].wait);
	for (unsigned i = 0; i < ARRAY_SIZE(interrupts); i++)
		if (strlen(interrupts[i]) <= s->length &&
		    !memcmp(s->name, interrupts[i], strlen(interrupts[i])))
			wait_places_put(places, s->address, WAIT_PLACE_INTERRUPT);
	for (unsigned i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (kernel_symbol_is(s, beginnings[i]))
			places->beginnings[i] = s->address;
}

/* @address begins another function: it is no place any more from there on. */
static void wait_places_bound(struct wait_places *places, uint64_t address)
{
	for (unsigned i = 0; i < places->n; i++)
		if (places->all[i].start < address && address < places->all[i].end)
			places->all[i].end = address;
}

void wait_places_parse(const char *text, size_t length, struct wait_places *ret)
{
	const char *end = text + length;
	struct kernel_symbol symbol;

	*ret = (struct wait_places){0};
	for (const char *at = text; at < end;)
		if (kernel_symbol_parse(&at, end, &symbol))
			wait_places_add(ret, &symbol);
	for (const char *at = text; ret->n && at < end;)
		if (kernel_symbol_parse(&at, end, &symbol))
			wait_places_bound(ret, symbol.address);
}

static uint8_t wait_places_at(const struct wait_places *places, uint64_t address)
{
	for (unsigned i = 0; i < places->n; i++)
		if (places->all[i].start <= address && address < places->all[i].end)
			return places->all[i].wait;
	return WAIT_NONE;
}

uint8_t wait_places_find(const struct wait_places *places, uint64_t leaf)
{
	/* The call is before the address that it returns to, but where nothing was called. */
	uint64_t at = wait_places_is_beginning(places, leaf) ? leaf : leaf - 1;
	uint8_t found = wait_places_at(places, at);

	return found == WAIT_PLACE_INTERRUPT ? WAIT_NONE : found;
}

bool wait_places_is_interrupt(const struct wait_places *places, uint64_t address)
{
	return wait_places_at(places, address - 1) == WAIT_PLACE_INTERRUPT;
}

bool wait_places_have_interrupts(const struct wait_places *places)
{
	for (unsigned i = 0; i < places->n; i++)
		if (places->all[i].wait == WAIT_PLACE_INTERRUPT)
			return true;
	return false;
}

bool wait_places_is_beginning(const struct wait_places *places, uint64_t leaf)
{
	for (unsigned i = 0; i < ARRAY_SIZE(places->beginnings); i++)
		if (leaf && leaf == places->beginnings[i])
			return true;
	return false;
}
