/* SPDX-License-Identifier: MIT */
/* What a container manager's file has of one container. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/worker/answer.h"
#include "daemon/worker/container/container_config.h"
#include "daemon/worker/serve.h"

/* Of thousands of containers; less than a worker may use. */
#define CONFIG_MAX (4u << 20)

bool request_has_container_id(const struct request *request)
{
	const char *id = (const char *)request->payload;

	if (request->header.payload_length != WORKER_CONTAINER_ID)
		return false;
	for (size_t i = 0; i < WORKER_CONTAINER_ID; i++)
		if (!memchr("0123456789abcdef", id[i], 16))
			return false;
	return true;
}

/* Returns enum worker_outcome or -ENOMEM. */
static int read_config(int fd, char **ret, size_t *ret_length)
{
	cleanup(freep) char *text = NULL;
	struct stat st;
	size_t n = 0;

	if (fstat(fd, &st) < 0)
		return WORKER_UNREADABLE;
	if (st.st_size <= 0 || st.st_size > CONFIG_MAX)
		return WORKER_MALFORMED;
	text = malloc((size_t)st.st_size);
	if (!text)
		return error_origin(-ENOMEM);
	while (n < (size_t)st.st_size) {
		ssize_t got = pread(fd, text + n, (size_t)st.st_size - n, (off_t)n);

		if (got < 0)
			return WORKER_UNREADABLE;
		if (!got)
			break;
		n += (size_t)got;
	}
	*ret = steal_ptr(&text);
	*ret_length = n;
	return WORKER_DONE;
}

static void clean_field(char *field, size_t size)
{
	char clean[WORKER_CONTAINER_IMAGE] = "";

	clean[text_clean(field, strlen(field), clean, size - 1)] = '\0';
	memset(field, 0, size);
	strcpy(field, clean);
}

int serve_container(struct cache *cache, const struct request *request, struct answer *ret)
{
	cleanup(freep) struct worker_container *container = calloc(1, sizeof(*container));
	char id[WORKER_CONTAINER_ID + 1] = "";
	cleanup(freep) char *text = NULL;
	size_t length = 0;
	int r = read_config(request->files[WORKER_FILE_CONTAINERS], &text, &length);

	(void)cache;
	if (!container)
		return error_origin(-ENOMEM);
	if (r)
		return r;
	memcpy(id, request->payload, WORKER_CONTAINER_ID);
	r = container_config_read(text, length, id, container);
	if (r)
		return r < 0 ? r : r == CONTAINER_CONFIG_E_NONE ? WORKER_NOT_ELF : WORKER_MALFORMED;
	clean_field(container->name, sizeof(container->name));
	clean_field(container->image, sizeof(container->image));
	ret->data = (uint8_t *)steal_ptr(&container);
	ret->length = sizeof(*container);
	return WORKER_DONE;
}
