/* SPDX-License-Identifier: MIT */
#include "client/symbolize/kernel.h"

#include <errno.h>
#include <string.h>

#include "client/symbolize/object.h"
#include "common/error.h"

struct kernel {
	const struct files *files;
	bool has_read;
	struct elf_summary elf; /* its build id alone */
	struct symtab *symtab;  /* NULL: hidden */
	uint64_t start, end;    /* _stext, _etext */
};

int kernel_new(struct kernel **ret, const struct files *files)
{
	struct kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return error_origin(-ENOMEM);
	k->files = files;
	*ret = k;
	return 0;
}

void kernel_free(struct kernel *k)
{
	if (!k)
		return;
	symtab_free(k->symtab);
	free(k);
}

static int read_build_id(struct kernel *k)
{
	cleanup(freep) char *notes = NULL;
	size_t length;
	int r = files_read_kernel(k->files, "/sys/kernel/notes", &notes, &length);

	if (r)
		return r == -ENOMEM ? r : 0;
	k->elf.build_id_length = elf_notes_build_id((const uint8_t *)notes, length, false,
						    k->elf.build_id);
	return 0;
}

static int read_symbols(struct kernel *k)
{
	cleanup(symtab_freep) struct symtab *symtab = NULL;
	cleanup(freep) char *text = NULL;
	size_t length;
	int r = files_read_kernel(k->files, "/proc/kallsyms", &text, &length);

	if (r)
		return r == -ENOMEM ? r : 0;
	r = symtab_from_kallsyms(&symtab, text, length, NULL);
	if (r)
		return r < 0 ? r : 0;
	if (symtab_address(symtab, "_stext", &k->start) &&
	    symtab_address(symtab, "_etext", &k->end))
		k->symtab = steal_ptr(&symtab);
	return 0;
}

int kernel_place(struct kernel *k, const struct profile_mapping *m, const char *build_id,
		 uint64_t *ret_shift)
{
	int r = 0;

	if (!k->has_read) {
		r = read_build_id(k);
		if (!r)
			r = read_symbols(k);
		if (r)
			return r;
		k->has_read = true;
	}
	if (!object_is_id(build_id, &k->elf))
		return KERNEL_E_OTHER;
	if (!k->symtab)
		return KERNEL_E_HIDDEN;
	if (m->start != k->start && m->limit - m->start != k->end - k->start)
		return KERNEL_E_PLACE;
	*ret_shift = k->start - m->start;
	return KERNEL_E_OK;
}

bool kernel_find(const struct kernel *k, uint64_t address, struct symtab_symbol *ret)
{
	return address >= k->start && address < k->end && symtab_find(k->symtab, address, ret);
}
