/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_OWN_TEXT_H
#define PROFD_TESTS_OWN_TEXT_H

/*
 * Where the test's own program was loaded: its executable segment, dl_iterate_phdr(3); and a
 * function in it.
 */
#include <link.h>
#include <stddef.h>
#include <stdint.h>

static __attribute__((noinline, used)) int the_target(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

struct own_text {
	ElfW(Phdr) segment;
	uint64_t bias;
};

static inline int own_text_note(struct dl_phdr_info *info, size_t size, void *userdata)
{
	struct own_text *text = userdata;

	(void)size;
	text->bias = info->dlpi_addr;
	for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X)
			text->segment = info->dlpi_phdr[i];
	return 1; /* the program comes first */
}

static inline struct own_text own_text_find(void)
{
	struct own_text text = {.bias = 0};

	dl_iterate_phdr(own_text_note, &text);
	return text;
}

#endif
