/* SPDX-License-Identifier: MIT */
/*
 * /proc/kallsyms and /proc/modules are read once, when the first part of the kernel is asked for
 * that has its id; parts that were found stay.
 */
#include "client/symbolize/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>

#include "client/symbolize/object.h"
#include "common/clamped.h"
#include "common/error.h"
#include "common/profile/image_profile.h"
#include "common/symbols/symtab.h"

#define KERNEL_HALF     UINT64_C(0x8000000000000000)
#define MODULE_NAME_MAX 63 /* MODULE_NAME_LEN */
#define NAME_BYTES      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

struct kernel_entry {
	struct kernel_entry *next;
	char name[MODULE_NAME_MAX + 1]; /* "": the kernel proper */
	struct elf_summary elf;         /* its build id alone */
	bool has_symbols;               /* they were looked for; the symtab NULL: hidden */
	struct kernel_part part;
};

/* A file of the kernel's; what cannot be read is empty. */
struct kernel_text {
	char *data;
	size_t length;
	bool has_read;
};

struct kernel {
	const struct files *files;
	struct kernel_text kallsyms, modules;
	struct kernel_entry *entries;
};

const char *kernel_error_text(int outcome)
{
	static const char *const whys[] = {
		[KERNEL_E_OK] = "",
		[KERNEL_E_OTHER] = "not known to be the kernel that runs here",
		[KERNEL_E_HIDDEN] = "the kernel hides its addresses from you; try as root",
		[KERNEL_E_PLACE] = "where it lay in memory is not known",
		[KERNEL_E_GONE] = "no such module is loaded",
	};

	return whys[outcome];
}

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
	for (struct kernel_entry *e = k->entries, *next; e; e = next) {
		next = e->next;
		symtab_free(e->part.symtab);
		free(e);
	}
	free(k->kallsyms.data);
	free(k->modules.data);
	free(k);
}

/* --- whose path it is ------------------------------------------------------------------------- */

/* Other memory that is no file's (proc_pid_maps(5), perf-script(1)). */
static bool is_special(const char *name)
{
	static const char *const names[] = {
		"anon",    "heap", "sigpage", "stack",       "unknown",  "uprobes",
		"vectors", "vdso", "vvar",    "vvar_vclock", "vsyscall",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* "" for the kernel proper; false: neither that nor a module. */
static bool kernel_parse_path(const char *path, char ret[MODULE_NAME_MAX + 1])
{
	size_t n;

	*ret = '\0';
	if (strncmp(path, KERNEL_PATH, strlen(KERNEL_PATH)) == 0)
		return true;
	if (path[0] != '[')
		return false;
	n = strspn(path + 1, NAME_BYTES);
	if (!n || n > MODULE_NAME_MAX || strcmp(path + 1 + n, "]") != 0)
		return false;
	memcpy(ret, path + 1, n);
	ret[n] = '\0';
	return !is_special(ret);
}

bool kernel_is_path(const char *path)
{
	char name[MODULE_NAME_MAX + 1];

	return kernel_parse_path(path, name);
}

bool kernel_is_mapping(const struct profile_mapping *m, const char *path)
{
	char name[MODULE_NAME_MAX + 1];

	return kernel_parse_path(path, name) && (!*name || !m->start || m->start >= KERNEL_HALF);
}

/* --- what is here ----------------------------------------------------------------------------- */

/* Returns 0 or -ENOMEM. */
static int kernel_read_text(const struct kernel *k, const char *path, struct kernel_text *text)
{
	int r = text->has_read ? 0 : files_read_kernel(k->files, path, &text->data, &text->length);

	if (r < 0)
		return r;
	text->has_read = true;
	return 0;
}

static int kernel_entry_read_id(const struct kernel *k, struct kernel_entry *e)
{
	char path[MODULE_NAME_MAX + 64] = "/sys/kernel/notes";
	cleanup(freep) char *notes = NULL;
	size_t length;
	int r;

	if (e->part.is_module)
		snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id", e->name);
	r = files_read_kernel(k->files, path, &notes, &length);
	if (r)
		return r < 0 ? r : 0;
	e->elf.build_id_length = elf_notes_build_id((const uint8_t *)notes, length, false,
						    e->elf.build_id);
	return 0;
}

/* Where the module lies: KERNEL_E_OK or _GONE. */
static int find_module(const struct kernel *k, struct kernel_entry *e)
{
	const char *at = k->modules.data, *end = at ? at + k->modules.length : at;
	struct kernel_module_line line;

	while (at && kernel_module_next(&at, end, &line)) {
		if (line.name_length != strlen(e->name) ||
		    memcmp(line.name, e->name, line.name_length) != 0)
			continue;
		e->part.start = line.start;
		e->part.end = clamped_add_unsigned(line.start, line.size);
		return KERNEL_E_OK;
	}
	return KERNEL_E_GONE;
}

/* Returns KERNEL_E_OK, _GONE or negative errno. */
static int kernel_add_entry(struct kernel *k, const char *name, struct kernel_entry **ret)
{
	cleanup(freep) struct kernel_entry *e = calloc(1, sizeof(*e));
	int r = 0;

	if (!e)
		return error_origin(-ENOMEM);
	snprintf(e->name, sizeof(e->name), "%s", name);
	e->part.is_module = *name;
	if (e->part.is_module)
		r = kernel_read_text(k, "/proc/modules", &k->modules) ?: find_module(k, e);
	if (!r)
		r = kernel_entry_read_id(k, e);
	if (r)
		return r;
	e->next = k->entries;
	k->entries = *ret = steal_ptr(&e);
	return KERNEL_E_OK;
}

static bool kernel_entry_has_id(const struct kernel_entry *e, const char *id)
{
	char file[MODULE_NAME_MAX + 4] = "vmlinux", own[IMAGE_ID_SIZE];
	struct utsname name;

	if (e->elf.build_id_length)
		return object_is_id(id, &e->elf);
	if (uname(&name) < 0)
		return false;
	if (e->part.is_module)
		snprintf(file, sizeof(file), "%s.ko", e->name);
	image_id_of_kernel(file, name.release, own);
	return strcasecmp(own, id) == 0;
}

/* Returns 0 or negative errno. */
static int read_symbols(struct kernel *k, struct kernel_entry *e)
{
	cleanup(symtab_freep) struct symtab *symtab = NULL;
	int r = kernel_read_text(k, "/proc/kallsyms", &k->kallsyms);

	if (r)
		return r;
	e->has_symbols = true;
	r = symtab_from_kallsyms(&symtab, k->kallsyms.data ? k->kallsyms.data : "",
				 k->kallsyms.length, e->part.is_module ? e->name : NULL);
	if (r)
		return r < 0 ? r : 0;
	if (e->part.is_module ? e->part.start != 0
			      : symtab_kernel_text(symtab, &e->part.start, &e->part.end))
		e->part.symtab = steal_ptr(&symtab);
	return 0;
}

int kernel_get(struct kernel *k, const char *path, const char *id, const struct kernel_part **ret)
{
	char name[MODULE_NAME_MAX + 1];
	struct kernel_entry *e = k->entries;
	int r = 0;

	if (!kernel_parse_path(path, name))
		return KERNEL_E_GONE;
	while (e && strcmp(e->name, name) != 0)
		e = e->next;
	if (!e)
		r = kernel_add_entry(k, name, &e);
	if (r)
		return r;
	if (!kernel_entry_has_id(e, id))
		return KERNEL_E_OTHER;
	if (!e->has_symbols)
		r = read_symbols(k, e);
	if (r)
		return r;
	*ret = &e->part;
	return e->part.symtab ? KERNEL_E_OK : KERNEL_E_HIDDEN;
}

/* --- a part ----------------------------------------------------------------------------------- */

/*
 * A module's mapping begins where the module does. What begins at _stext, or is as long as from
 * there to _etext, is the kernel proper; else there is no telling where it lay.
 */
int kernel_part_place(const struct kernel_part *part, const struct profile_mapping *m,
		      uint64_t *ret_shift)
{
	if (!part->is_module && m->start != part->start &&
	    m->limit - m->start != part->end - part->start)
		return KERNEL_E_PLACE;
	*ret_shift = part->start - m->start;
	return KERNEL_E_OK;
}

bool kernel_part_find(const struct kernel_part *part, uint64_t address, struct symtab_symbol *ret)
{
	return address >= part->start && address < part->end &&
	       symtab_find(part->symtab, address, ret);
}
