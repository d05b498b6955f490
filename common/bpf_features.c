/* SPDX-License-Identifier: MIT */
#include "common/bpf_features.h"

#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/read_end.h"

#define BTF_MAX ((size_t)256 << 20) /* some megabytes */

static const struct {
	enum bpf_features needed_for;
	const char *name, *shown;
} features[] = {
	{BPF_FEATURES_SAMPLES, "BPF_MAP_TYPE_RINGBUF", "ring buffers (5.8)"},
	{BPF_FEATURES_SAMPLES, "BPF_FUNC_get_current_task_btf", "bpf_get_current_task_btf (5.11)"},
	{BPF_FEATURES_SAMPLES, "BPF_FUNC_get_attach_cookie", "attach cookies (5.15)"},
	{BPF_FEATURES_SAMPLES, "BPF_FUNC_task_pt_regs", "bpf_task_pt_regs (5.15)"},
	{BPF_FEATURES_SAMPLES, "BPF_FUNC_loop", "bpf_loop (5.17)"},
	{BPF_FEATURES_WAITS, "btf_trace_sched_switch", "the tracepoint sched_switch"},
	{BPF_FEATURES_WAITS, "btf_trace_" BPF_FEATURES_INTERRUPT,
	 "the tracepoint " BPF_FEATURES_INTERRUPT},
	{BPF_FEATURES_WAITS, "last_queued", "CONFIG_SCHED_INFO"},
	{BPF_FEATURES_WAITS, "runnable_weight", "CONFIG_FAIR_GROUP_SCHED"},
};

/* All names in BTF are in one section, and end, as the one before them does, in a NUL. */
static bool bpf_features_has(const char *btf, size_t size, const char *name)
{
	char wanted[64] = "";

	memcpy(wanted + 1, name, strlen(name) + 1);
	return memmem(btf, size, wanted, strlen(name) + 2);
}

void bpf_features_list_missing(enum bpf_features needed_for, const char *btf, size_t size,
			       char ret[BPF_FEATURES_TEXT_MAX])
{
	size_t length = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(features) && length < BPF_FEATURES_TEXT_MAX; i++) {
		if (features[i].needed_for != needed_for ||
		    bpf_features_has(btf, size, features[i].name))
			continue;
		length += (size_t)snprintf(ret + length, BPF_FEATURES_TEXT_MAX - length, "%s%s",
					   length ? ", " : "", features[i].shown);
	}
}

int bpf_features_read_missing(enum bpf_features needed_for, int sys_fd,
			      char ret[BPF_FEATURES_TEXT_MAX])
{
	cleanup(freep) char *btf = NULL;
	size_t size;
	int r = read_end_text(sys_fd, "kernel/btf/vmlinux", BTF_MAX, &btf, &size);

	if (!r)
		bpf_features_list_missing(needed_for, btf, size, ret);
	return r;
}

static bool kernel_parse_version(const char *text, unsigned *ret)
{
	unsigned major, minor, patch = 0;

	if (sscanf(text, "%3u.%3u.%3u", &major, &minor, &patch) < 2)
		return false;
	*ret = KERNEL_VERSION_OF(major, minor, patch);
	return true;
}

unsigned kernel_version(const char *release, const char *version, const char *signature)
{
	/* "Ubuntu 5.15.0-91.101-generic 5.15.131" */
	const char *last = signature ? strrchr(signature, ' ') : NULL;
	const char *debian = strstr(version, "Debian ");
	unsigned number;

	if (last && kernel_parse_version(last + 1, &number))
		return number;
	if (debian && kernel_parse_version(debian + strlen("Debian "), &number))
		return number;
	return kernel_parse_version(release, &number) ? number : 0;
}

bool kernel_can_lock_up(unsigned version)
{
	return version >= KERNEL_VERSION_OF(5, 19, 0) && version < KERNEL_VERSION_OF(6, 3, 10) &&
	       (version < KERNEL_VERSION_OF(6, 1, 36) || version >= KERNEL_VERSION_OF(6, 2, 0));
}
