/* SPDX-License-Identifier: MIT */
#include "daemon/output/symbols.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>
#include <uthash.h>

#include "common/error.h"
#include "common/image/elf.h"
#include "common/symbols/symtab.h"

#define VDSO_SIZE_MAX 65536u

enum domain { DOMAIN_IMAGE, DOMAIN_KERNEL, DOMAIN_VDSO };

struct key {
	uint64_t id;
	uint64_t domain; /* enum domain; as wide as id, so that there is no padding */
};

struct table {
	struct key key;
	struct symtab *symtab; /* NULL: the image has no symbols */
	size_t bytes;
	UT_hash_handle hh; /* in order of use: the first is the oldest */
};

struct symbols {
	struct kernel_images *kernel;
	struct table *tables;
	size_t bytes, max_bytes;
	int vdso_fd; /* a copy of profd's own, or -1 */
	bool has_vdso;
	struct elf_summary vdso;
};

/*
 * vdso(7): AT_SYSINFO_EHDR is its ELF header. The section headers come last, so their end is the
 * end of the image. 32-bit profd has the 32-bit one, which serves nobody else.
 */
static void copy_vdso(struct symbols *s)
{
	const Elf64_Ehdr *header = (const void *)getauxval(AT_SYSINFO_EHDR);
	size_t length;

	if (!header || sizeof(void *) != 8)
		return;
	length = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	if (length < sizeof(*header) || length > VDSO_SIZE_MAX)
		return;
	s->vdso_fd = memfd_create("vdso", MFD_CLOEXEC);
	if (s->vdso_fd < 0 || write(s->vdso_fd, header, length) != (ssize_t)length)
		return;
	s->has_vdso = elf_summary_read(s->vdso_fd, &s->vdso) == ELF_SUMMARY_E_OK;
}

int symbols_new(struct symbols **ret, size_t max_bytes, struct kernel_images *kernel)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (!s)
		return error_origin(-ENOMEM);
	s->kernel = kernel;
	s->max_bytes = max_bytes;
	s->vdso_fd = -1;
	copy_vdso(s);
	*ret = s;
	return 0;
}

static void drop(struct symbols *s, struct table *t)
{
	HASH_DEL(s->tables, t);
	s->bytes -= t->bytes;
	symtab_free(t->symtab);
	free(t);
}

/* Drops the oldest until the bound is kept, @keep excepted. */
static void shrink(struct symbols *s, const struct table *keep)
{
	struct table *t, *next;

	HASH_ITER (hh, s->tables, t, next) {
		if (s->bytes <= s->max_bytes)
			return;
		if (t != keep)
			drop(s, t);
	}
}

void symbols_free(struct symbols *s)
{
	struct table *t, *next;

	if (!s)
		return;
	HASH_ITER (hh, s->tables, t, next)
		drop(s, t);
	closep(&s->vdso_fd);
	free(s);
}

void symbols_set_max(struct symbols *s, size_t max_bytes)
{
	s->max_bytes = max_bytes;
	shrink(s, NULL);
}

size_t symbols_bytes(const struct symbols *s)
{
	return s->bytes;
}

/* The table under @key as the newest, or NULL. */
static struct table *touch(struct symbols *s, const struct key *key)
{
	struct table *t;

	HASH_FIND(hh, s->tables, key, sizeof(*key), t);
	if (t && t->hh.next) {
		HASH_DEL(s->tables, t);
		HASH_ADD(hh, s->tables, key, sizeof(t->key), t);
	}
	return t;
}

/* Keeps what loading gave (@r: SYMTAB_E_* or errno); @symtab is taken over. */
static int keep(struct symbols *s, const struct key *key, int r, struct symtab *symtab,
		struct table **ret)
{
	struct table *t;

	if (r == -ENOMEM)
		return r;
	t = calloc(1, sizeof(*t));
	if (!t) {
		symtab_free(symtab);
		return error_origin(-ENOMEM);
	}
	t->key = *key;
	t->symtab = symtab;
	t->bytes = sizeof(*t) + (symtab ? symtab_bytes(symtab) : 0);
	HASH_ADD(hh, s->tables, key, sizeof(t->key), t);
	s->bytes += t->bytes;
	shrink(s, t);
	*ret = t;
	return 0;
}

static const char *find(const struct table *t, uint64_t address)
{
	struct symtab_symbol symbol;

	if (!t->symtab || !symtab_find(t->symtab, address, &symbol))
		return NULL;
	return symbol.name;
}

int symbols_of_image(struct symbols *s, const struct image *image, uint64_t address,
		     const char **ret)
{
	bool is_vdso = image->kind == IMAGE_VDSO && image->fd < 0;
	struct key key = {.id = is_vdso ? 0 : image->id,
			  .domain = is_vdso ? DOMAIN_VDSO : DOMAIN_IMAGE};
	int fd = is_vdso ? s->vdso_fd : image->fd;
	struct table *t = touch(s, &key);

	if (!t) {
		struct symtab *symtab = NULL;
		int r = fd < 0 ? SYMTAB_E_NONE : symtab_from_elf(&symtab, fd);

		r = keep(s, &key, r, symtab, &t);
		if (r)
			return r;
	}
	*ret = find(t, address);
	return 0;
}

int symbols_of_kernel(struct symbols *s, const struct kernel_image *image, uint64_t address,
		      const char **ret)
{
	struct key key = {.id = image->id, .domain = DOMAIN_KERNEL};
	struct table *t = touch(s, &key);

	if (!t) {
		struct symtab *symtab = NULL;
		int r = kernel_images_symbols(s->kernel, image, &symtab);

		r = keep(s, &key, r, symtab, &t);
		if (r)
			return r;
	}
	*ret = find(t, address);
	return 0;
}

const struct elf_summary *symbols_vdso(const struct symbols *s)
{
	return s->has_vdso ? &s->vdso : NULL;
}
