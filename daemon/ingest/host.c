/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/bpf_features.h"
#include "daemon/ingest/sources.h"

struct kernel_version {
	unsigned major, minor, patch;
};

static bool parse_kernel_version(const char *text, struct kernel_version *ret)
{
	*ret = (struct kernel_version){0};
	return sscanf(text, "%u.%u.%u", &ret->major, &ret->minor, &ret->patch) >= 2;
}

/* The version of the stable kernel below the distribution's own numbers. */
static bool parse_upstream_version(const char *release, const char *version, const char *signature,
				   struct kernel_version *ret)
{
	const char *debian = strstr(version, "Debian ");
	const char *last = strrchr(signature, ' ');

	if (debian && parse_kernel_version(debian + strlen("Debian "), ret))
		return true;
	if (last && parse_kernel_version(last + 1, ret))
		return true;
	return parse_kernel_version(release, ret);
}

static unsigned version_number(unsigned major, unsigned minor)
{
	return major * 1000 + minor;
}

/*
 * From 5.19 until "mm: Fix copy_from_user_nofault()" (d319f344561d: 6.4, and 6.3.10 and 6.1.36) a
 * read of user memory from the sampling interrupt can take a lock that the interrupted code holds.
 */
static bool kernel_can_lock_up(const struct kernel_version *v)
{
	unsigned n = version_number(v->major, v->minor);

	if (n < version_number(5, 19) || n >= version_number(6, 4))
		return false;
	if (n == version_number(6, 1))
		return v->patch < 36;
	if (n == version_number(6, 3))
		return v->patch < 10;
	return true;
}

int host_check_kernel_faults(const char *release, const char *version, const char *signature,
			     struct source_message *message)
{
	struct kernel_version v;

	if (!parse_upstream_version(release, version, signature, &v))
		return source_refuse(message, SOURCE_E_UNSUPPORTED,
				     "unknown kernel version \"%.60s\": use the perf source",
				     release);
	if (kernel_can_lock_up(&v))
		return source_refuse(
			message, SOURCE_E_UNSUPPORTED,
			"kernel %u.%u.%u can lock up when BPF reads user memory while sampling: "
			"update to 6.1.36, 6.3.10, 6.4 or newer, or use the perf source",
			v.major, v.minor, v.patch);
	return SOURCE_E_OK;
}

/* Whether the kernel has all that the BPF programs use, by its own account. */
static int host_check_bpf_features(struct source_message *message)
{
	cleanup(closep) int sys_fd = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char missing[BPF_FEATURES_TEXT_MAX];

	if (sys_fd < 0 || bpf_features_read_missing(sys_fd, missing) < 0)
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
