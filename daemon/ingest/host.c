/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/bpf_features.h"
#include "daemon/ingest/sources.h"

int host_check_kernel_faults(const char *release, const char *version, const char *signature,
			     struct source_message *message)
{
	unsigned v = kernel_version(release, version, signature);

	if (!v)
		return source_refuse(message, SOURCE_E_UNSUPPORTED,
				     "unknown kernel version \"%.60s\": use the perf source",
				     release);
	if (kernel_can_lock_up(v))
		return source_refuse(
			message, SOURCE_E_UNSUPPORTED,
			"kernel %u.%u.%u can lock up when BPF reads user memory while sampling: "
			"update to 6.1.36, 6.3.10, 6.4 or newer, or use the perf source",
			KERNEL_VERSION_PARTS(v));
	return SOURCE_E_OK;
}

/* Whether the kernel has all that the BPF programs use, by its own account. */
static int host_check_bpf_features(struct source_message *message)
{
	cleanup(closep) int sys_fd = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char missing[BPF_FEATURES_TEXT_MAX];

	if (sys_fd < 0 || bpf_features_read_missing(BPF_FEATURES_SAMPLES, sys_fd, missing))
		return source_refuse(
			message, SOURCE_E_UNSUPPORTED,
			"this kernel has no BTF (/sys/kernel/btf/vmlinux): use the perf source");
	if (!*missing)
		return SOURCE_E_OK;
	return source_refuse(message, SOURCE_E_UNSUPPORTED,
			     "BPF of this kernel lacks %s: use the perf source", missing);
}

int host_check_bpf(struct source_message *message)
{
	cleanup(fclosep) FILE *f = fopen("/proc/version_signature", "re");
	char signature[256] = "";
	struct utsname uts;
	int r = host_check_bpf_features(message);

	if (r != SOURCE_E_OK)
		return r;
	if (f && fgets(signature, sizeof(signature), f))
		signature[strcspn(signature, "\n")] = '\0';
	uname(&uts); /* fails only on a bad pointer */
	return host_check_kernel_faults(uts.release, uts.version, signature, message);
}
