/* SPDX-License-Identifier: MIT */
/*
 * The modules are one array sorted by start. Since Linux 6.4 a module's size counts memory that
 * lies elsewhere (module_memory), so an end is never trusted past the next module's start.
 */
#include "daemon/output/kernel_images.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/fnv.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/read_end.h"
#include "common/room.h"
#include "common/store/names.h"

#define KERNEL_HALF   UINT64_C(0x8000000000000000)
#define FILE_SIZE_MAX ((size_t)256 << 20)

struct modules {
	struct kernel_image *all; /* by start */
	size_t n, capacity;
};

struct kernel_images {
	int proc_fd, sys_fd;
	struct kernel_image kernel;
	struct modules modules;
	uint64_t modules_hash;
	bool has_read; /* the kernel proper is known as well as it will be */
	char *kallsyms;
	size_t kallsyms_length;
};

static int kernel_read_build_id(struct kernel_images *k, const char *path,
				struct kernel_image *image)
{
	cleanup(freep) char *notes = NULL;
	size_t length;
	int r = read_end_text(k->sys_fd, path, FILE_SIZE_MAX, &notes, &length);

	if (r)
		return r < 0 ? r : 0;
	image->build_id_length = elf_notes_build_id((const uint8_t *)notes, length, false,
						    image->build_id);
	return 0;
}

int kernel_images_new(struct kernel_images **ret, int proc_fd, int sys_fd)
{
	cleanup(kernel_images_freep) struct kernel_images *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return error_origin(-ENOMEM);
	k->proc_fd = proc_fd;
	k->sys_fd = sys_fd;
	k->kernel = (struct kernel_image){.id = 1,
					  .name = "[kernel.kallsyms]",
					  .file = "vmlinux",
					  .start = KERNEL_HALF,
					  .end = UINT64_MAX};
	r = kernel_read_build_id(k, "kernel/notes", &k->kernel);
	if (r)
		return r;
	*ret = steal_ptr(&k);
	return 0;
}

static void kernel_modules_deinit(struct modules *m)
{
	free(m->all);
}

void kernel_images_free(struct kernel_images *k)
{
	if (!k)
		return;
	kernel_modules_deinit(&k->modules);
	free(k->kallsyms);
	free(k);
}

/* The same module keeps its id, for the sake of its cached symbols. */
static uint64_t module_id(const struct kernel_image *image)
{
	uint64_t id = fnv_hash(image->name, strlen(image->name), FNV_INIT);

	id = fnv_hash(&image->start, sizeof(image->start), id);
	return fnv_hash(image->build_id, image->build_id_length, id);
}

static int module_init(struct kernel_images *k, const struct kernel_module_line *line,
		       struct kernel_image *ret)
{
	char path[KERNEL_MODULE_MAX + 64];
	int length = (int)line->name_length, r;

	*ret = (struct kernel_image){
		.is_module = true,
		.is_known = true,
		.start = line->start,
		.end = line->start + line->size,
	};
	snprintf(ret->name, sizeof(ret->name), "[%.*s]", length, line->name);
	snprintf(ret->file, sizeof(ret->file), "%.*s.ko", length, line->name);
	snprintf(path, sizeof(path), "module/%.*s/notes/.note.gnu.build-id", length, line->name);
	r = kernel_read_build_id(k, path, ret);
	ret->id = module_id(ret);
	return r;
}

DEFINE_ORDER(kernel_image_compare, struct kernel_image, order_of(x->start, y->start))

static bool module_line_is_usable(const struct kernel_module_line *line)
{
	return line->name_length && line->name_length < KERNEL_MODULE_MAX &&
	       !memchr(line->name, '/', line->name_length) && line->start >= KERNEL_HALF &&
	       line->size && line->start + line->size > line->start;
}

static int load_modules(struct kernel_images *k, const char *text, size_t length)
{
	const char *at = text, *end = length ? text + length : text;
	cleanup(kernel_modules_deinit) struct modules new = {0};
	const struct modules old = k->modules;
	struct kernel_module_line line;

	while (kernel_module_next(&at, end, &line)) {
		int r;

		if (!module_line_is_usable(&line))
			continue;
		r = room_make(&new.all, &new.capacity, new.n + 1, sizeof(*new.all))
			    ?: module_init(k, &line, &new.all[new.n++]);
		if (r)
			return r;
	}
	if (new.n)
		qsort(new.all, new.n, sizeof(*new.all), kernel_image_compare);
	for (size_t i = 0; i + 1 < new.n; i++)
		if (new.all[i].end > new.all[i + 1].start)
			new.all[i].end = new.all[i + 1].start;
	k->modules = new;
	new = old;
	return 0;
}

static int load_kallsyms(struct kernel_images *k)
{
	if (k->kallsyms)
		return 0;
	return read_end_text(k->proc_fd, "kallsyms", FILE_SIZE_MAX, &k->kallsyms,
			     &k->kallsyms_length);
}

/* Takes _stext and _etext; where they cannot be had, the kernel stays the whole upper half. */
static int load_kernel(struct kernel_images *k)
{
	cleanup(symtab_freep) struct symtab *symtab = NULL;
	uint64_t start, end;
	int r;

	r = kernel_images_symbols(k, &k->kernel, &symtab);
	k->has_read = r >= 0;
	if (r)
		return r < 0 ? r : 0;
	if (!symtab_kernel_text(symtab, &start, &end) || start >= end)
		return 0;
	k->kernel.start = start;
	k->kernel.end = end;
	k->kernel.is_known = true;
	return 0;
}

int kernel_images_refresh(struct kernel_images *k)
{
	cleanup(freep) char *text = NULL;
	size_t length = 0;
	uint64_t hash;
	int r;

	if (!k->has_read) {
		r = load_kernel(k);
		if (r)
			return r;
	}
	r = read_end_text(k->proc_fd, "modules", FILE_SIZE_MAX, &text, &length);
	if (r < 0)
		return r;
	if (r) /* a kernel without modules */
		length = 0;
	hash = fnv_hash(text, length, FNV_INIT);
	if (hash == k->modules_hash)
		return 0;
	r = load_modules(k, text, length);
	if (!r)
		k->modules_hash = hash;
	return r;
}

const struct kernel_image *kernel_images_find(const struct kernel_images *k, uint64_t address)
{
	size_t n = partition_point(k->modules.n, i, k->modules.all[i].start <= address);

	if (n && address < k->modules.all[n - 1].end)
		return &k->modules.all[n - 1];
	if (address >= k->kernel.start && address < k->kernel.end)
		return &k->kernel;
	return NULL;
}

const struct kernel_image *kernel_images_main(const struct kernel_images *k)
{
	return &k->kernel;
}

int kernel_images_symbols(struct kernel_images *k, const struct kernel_image *image,
			  struct symtab **ret)
{
	char module[KERNEL_MODULE_MAX + 2] = "";
	int r = load_kallsyms(k);

	if (r)
		return r < 0 ? r : SYMTAB_E_NONE;
	if (image->is_module)
		snprintf(module, sizeof(module), "%.*s", (int)strlen(image->name) - 2,
			 image->name + 1);
	return symtab_from_kallsyms(ret, k->kallsyms, k->kallsyms_length,
				    image->is_module ? module : NULL);
}

void kernel_images_release(struct kernel_images *k)
{
	free(k->kallsyms);
	k->kallsyms = NULL;
	k->kallsyms_length = 0;
}
