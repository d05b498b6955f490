/* SPDX-License-Identifier: MIT */
#include "daemon/resolve/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "daemon/resolve/lent_fd.h"
#include "daemon/resolve/mount_root.h"

struct image_headers {
	bool has_elf;
	struct elf_summary elf;
	struct elf_release release;
	bool has_go;
	struct go_build go[]; /* one, if there is any */
};

DEFINE_REF(image)

void image_unref(struct image *image)
{
	if (!image || atomic_fetch_sub(&image->n_references, 1) != 1)
		return;
	if (image->fd >= 0)
		close(image->fd);
	mount_root_unref(image->root);
	free(atomic_load(&image->headers));
	free(atomic_load(&image->version));
	free((char *)image->path);
	free(image);
}

/* To note that the file is used is no change of the image. */
int image_borrow_file(const struct image *image)
{
	atomic_store(&((struct image *)(uintptr_t)image)->is_used, true);
	return lent_fd_borrow(&image->fd);
}

int image_set_headers(struct image *image, const struct elf_summary *elf, const struct go_build *go,
		      const struct elf_release *release)
{
	bool has_go = elf && go && go->go[0];
	struct image_headers *headers, *none = NULL;

	if (image_has_headers(image))
		return 0;
	headers = calloc(1, sizeof(*headers) + has_go * sizeof(*go));
	if (!headers)
		return error_origin(-ENOMEM);
	headers->has_elf = elf;
	if (elf)
		headers->elf = *elf;
	if (elf && release)
		headers->release = *release;
	headers->has_go = has_go;
	if (has_go)
		headers->go[0] = *go;
	if (!atomic_compare_exchange_strong(&image->headers, &none, headers))
		free(headers);
	return 0;
}

bool image_has_headers(const struct image *image)
{
	return atomic_load(&image->headers);
}

const struct elf_summary *image_elf(const struct image *image)
{
	const struct image_headers *headers = atomic_load(&image->headers);

	return headers && headers->has_elf ? &headers->elf : NULL;
}

const struct go_build *image_go(const struct image *image)
{
	const struct image_headers *headers = atomic_load(&image->headers);

	return headers && headers->has_go ? &headers->go[0] : NULL;
}

const struct elf_release *image_release(const struct image *image)
{
	const struct image_headers *headers = atomic_load(&image->headers);

	return headers && headers->has_elf ? &headers->release : NULL;
}

int image_set_version(struct image *image, const char *version)
{
	char *copy = strdup(version), *none = NULL;

	if (!copy)
		return error_origin(-ENOMEM);
	if (!atomic_compare_exchange_strong(&image->version, &none, copy))
		free(copy);
	return 0;
}

const char *image_version(const struct image *image)
{
	return atomic_load(&image->version);
}
