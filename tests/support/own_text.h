/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_OWN_TEXT_H
#define PROFD_TESTS_OWN_TEXT_H

/*
 * Where the test's own program was loaded: its executable segment, dl_iterate_phdr(3); and a
 * function in it.
 */
#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

/* Which file is at @at by /proc/self/maps; stat(2) says otherwise on some file systems. */
static inline bool own_text_file(uintptr_t at, uint32_t *ret_major, uint32_t *ret_minor,
				 uint64_t *ret_inode)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	bool found = false;
	char line[4096];

	while (maps && !found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%lx-%lx %*s %*s %x:%x %" SCNu64, &start, &end, ret_major,
			       ret_minor, ret_inode) == 5 &&
			at >= start && at < end;
	if (maps)
		fclose(maps);
	return found;
}

#endif
