/* SPDX-License-Identifier: MIT */
/*
 * Names of the kernel's addresses: answers like the worker's, made of kallsyms, one for each
 * symbol. Only names that look mangled (Rust's in the kernel) need the worker.
 */
#include <string.h>

#include "daemon/output/symbols_private.h"

#define KERNEL_NAME_MAX 1024u /* KSYM_NAME_LEN is 512 */

static bool looks_mangled(const char *name)
{
	return (strncmp(name, "_R", 2) == 0 || strncmp(name, "_ZN", 3) == 0) &&
	       strlen(name) < KERNEL_NAME_MAX;
}

/* *ret is the worker's until the next question; untouched where it cannot say. */
static int kernel_names_demangle(struct asker *asker, const char *name, const char **ret)
{
	struct worker_request request = worker_request_of(WORKER_DEMANGLE, -1);
	struct worker_reply reply;
	int r;

	request.payload = name;
	request.payload_length = strlen(name) + 1;
	r = asker_ask(asker, &request, &reply);
	if (r || reply.outcome != WORKER_DONE)
		return r < 0 ? r : 0;
	if (answer_texts(reply.data, reply.length, 1))
		*ret = (const char *)reply.data;
	else
		worker_reject_answer(asker->worker);
	return 0;
}

static int kernel_names_add_symbol(struct asker *asker, const struct symtab_symbol *symbol,
				   uint64_t address, struct symbols_names *names)
{
	/* The empty text, the symbol's and what it is demangled; three bytes for each: U+FFFD. */
	char text[1 + 2 * (3 * KERNEL_NAME_MAX + 1)] = "";
	const char *demangled = NULL;
	struct worker_frame frame = {.name = 1, .system_name = 1};
	const struct worker_location location = {
		.start = symbol->start,
		.size = symbol->size,
		.n_frames = 1,
		.source = WORKER_SOURCE_SYMTAB,
	};
	const struct answer_names answer = {
		.locations = &location,
		.frames = &frame,
		.text = text,
		.n_locations = 1,
		.n_frames = 1,
	};
	size_t end = 1 + text_clean(symbol->name, strnlen(symbol->name, KERNEL_NAME_MAX), text + 1,
				    3 * KERNEL_NAME_MAX);
	int r = looks_mangled(symbol->name) ? kernel_names_demangle(asker, symbol->name, &demangled)
					    : 0;

	if (r)
		return r;
	if (demangled) {
		frame.name = (uint32_t)end + 1;
		text_clean(demangled, strnlen(demangled, KERNEL_NAME_MAX), text + frame.name,
			   3 * KERNEL_NAME_MAX);
	}
	return symbols_names_add(names, &address, &answer, false);
}

/* It is known that there is none in this range. */
static int kernel_names_add_gap(const struct symtab_symbol *gap, uint64_t address,
				struct symbols_names *names)
{
	const struct worker_location location = {.start = gap->start, .size = gap->size};
	const struct answer_names answer = {.locations = &location, .n_locations = 1};

	return symbols_names_add(names, &address, &answer, false);
}

int kernel_names_add(struct asker *asker, const struct symtab *symtab, const uint64_t *addresses,
		     size_t n, struct symbols_names *names)
{
	const struct symbols_frame *ignored;
	uint32_t n_ignored;
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		struct symtab_symbol symbol = {.start = addresses[i], .size = 1};

		if (symbols_names_find(names, addresses[i], &ignored, &n_ignored))
			continue; /* in the range of the one before */
		r = symtab && symtab_find(symtab, addresses[i], &symbol)
			    ? kernel_names_add_symbol(asker, &symbol, addresses[i], names)
			    : kernel_names_add_gap(&symbol, addresses[i], names);
	}
	return r;
}
