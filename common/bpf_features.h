/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_BPF_FEATURES_H
#define PROFD_COMMON_BPF_FEATURES_H

/*
 * Whether the running kernel has what profd's BPF programs use. The kernel describes its own types
 * (BTF, Documentation/bpf/btf.rst), and the enumerators of its BPF helpers and map types are among
 * them by name. Distributions backport BPF to older kernels, so a version number does not decide
 * that; but it decides whether the kernel has a fault that profd's BPF programs would trigger.
 */
#include <stdbool.h>
#include <stddef.h>

#define BPF_FEATURES_TEXT_MAX 160

/* The tracepoint of the interrupts that take the stacks of waits (bpf/waits.bpf.h). */
#ifdef __aarch64__
#define BPF_FEATURES_INTERRUPT "ipi_entry"
#else
#define BPF_FEATURES_INTERRUPT "irq_work_entry"
#endif

/* What profd needs them for: samples of CPU time and all else, and samples of waits. */
enum bpf_features { BPF_FEATURES_SAMPLES, BPF_FEATURES_WAITS };

/*
 * Lists those that @btf, a part of the kernel's BTF, does not name, with the release of Linux that
 * has them, or the option it is built with; "": none. Pure.
 */
void bpf_features_list_missing(enum bpf_features needed_for, const char *btf, size_t size,
			       char ret[BPF_FEATURES_TEXT_MAX]);
/*
 * Reads the BTF of the kernel whose sysfs is @sys_fd, and lists what is missing as above. Returns
 * 0, -ENOMEM, or a positive errno: there is no BTF.
 */
int bpf_features_read_missing(enum bpf_features needed_for, int sys_fd,
			      char ret[BPF_FEATURES_TEXT_MAX]);

/* A kernel version as a number that can be compared, and its three parts. */
#define KERNEL_VERSION_OF(major, minor, patch) ((major)*1000000u + (minor)*1000u + (patch))
#define KERNEL_VERSION_PARTS(v)                ((v) / 1000000), ((v) / 1000 % 1000), ((v) % 1000)

/*
 * The version of the stable kernel that the running one was built from. Pure. @release and @version
 * are uname(2)'s; @signature is /proc/version_signature's text, or NULL: distributions keep their
 * release constant ("6.1.0-18") and name the version in @version (Debian) or @signature (Ubuntu).
 * 0: unknown.
 */
unsigned kernel_version(const char *release, const char *version, const char *signature);
/*
 * From 5.19 until "mm: Fix copy_from_user_nofault()" (d319f344561d: 6.4, and 6.3.10 and 6.1.36) a
 * read of user memory from the sampling interrupt can take a lock that the interrupted code holds.
 */
bool kernel_can_lock_up(unsigned version);

#endif
