/* SPDX-License-Identifier: MIT */
#include "common/bpf_features.h"

#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/read_end.h"

/* All names in BTF are in one section, and end, as the one before them does, in a NUL. */
#define NAME_PREFIX "\0BPF_"
#define BTF_MAX     ((size_t)256 << 20) /* some megabytes */

static const struct {
	const char *name, *shown;
} features[] = {
	{"BPF_MAP_TYPE_RINGBUF", "ring buffers (5.8)"},
	{"BPF_FUNC_get_current_task_btf", "bpf_get_current_task_btf (5.11)"},
	{"BPF_FUNC_get_attach_cookie", "attach cookies (5.15)"},
	{"BPF_FUNC_task_pt_regs", "bpf_task_pt_regs (5.15)"},
	{"BPF_FUNC_loop", "bpf_loop (5.17)"},
};

static unsigned feature_named(const char *name, size_t room)
{
	for (unsigned i = 0; i < ARRAY_SIZE(features); i++) {
		size_t size = strlen(features[i].name) + 1;

		if (size <= room && memcmp(name, features[i].name, size) == 0)
			return 1u << i;
	}
	return 0;
}

unsigned bpf_features_find(const uint8_t *btf, size_t size)
{
	const uint8_t *at = btf, *end = btf + size;
	unsigned found = 0;

	while (at && at < end) {
		at = memmem(at, (size_t)(end - at), NAME_PREFIX, sizeof(NAME_PREFIX) - 1);
		if (!at)
			break;
		at++;
		found |= feature_named((const char *)at, (size_t)(end - at));
	}
	return found;
}

void bpf_features_list_missing(unsigned found, char ret[BPF_FEATURES_TEXT_MAX])
{
	size_t length = 0;

	ret[0] = '\0';
	for (unsigned i = 0; i < ARRAY_SIZE(features) && length < BPF_FEATURES_TEXT_MAX; i++) {
		if (found >> i & 1)
			continue;
		length += (size_t)snprintf(ret + length, BPF_FEATURES_TEXT_MAX - length, "%s%s",
					   length ? ", " : "", features[i].shown);
	}
}

int bpf_features_read_missing(int sys_fd, char ret[BPF_FEATURES_TEXT_MAX])
{
	cleanup(freep) char *btf = NULL;
	size_t size;
	int r = read_end_text(sys_fd, "kernel/btf/vmlinux", BTF_MAX, &btf, &size);

	if (!r)
		bpf_features_list_missing(bpf_features_find((const uint8_t *)btf, size), ret);
	return r;
}
