/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_BPF_FEATURES_H
#define PROFD_COMMON_BPF_FEATURES_H

/*
 * Whether the running kernel has what profd's BPF programs use. The kernel describes its own types
 * (BTF, Documentation/bpf/btf.rst), and the enumerators of its BPF helpers and map types are among
 * them by name. Distributions backport BPF to older kernels, so a version number decides nothing.
 */
#include <stddef.h>

#define BPF_FEATURES_TEXT_MAX 160

/*
 * Lists those that @btf, a part of the kernel's BTF, does not name, with the release of Linux that
 * has them; "": none. Pure.
 */
void bpf_features_list_missing(const char *btf, size_t size, char ret[BPF_FEATURES_TEXT_MAX]);
/*
 * Reads the BTF of the kernel whose sysfs is @sys_fd, and lists what is missing as above. Returns
 * 0, or, unmarked because to some callers it is no error, negative errno: there is no BTF.
 */
int bpf_features_read_missing(int sys_fd, char ret[BPF_FEATURES_TEXT_MAX]);

#endif
