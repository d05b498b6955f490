/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_OWNER_BPF_H
#define PROFD_BPF_OWNER_BPF_H

#include "bpf/abi.h"

/* The two bits of mm->flags that say who may look into it. False: this kernel has them elsewhere.
 */
static __always_inline bool owner_read_dumpable(const struct mm_struct *mm, __u64 *ret)
{
	const struct mm_struct___bitmap *bitmap = (const void *)mm;

	if (bpf_core_field_exists(bitmap->flags.__mm_flags))
		*ret = bitmap->flags.__mm_flags[0] & DUMPABLE_MASK;
	else if (bpf_core_field_exists(mm->flags))
		*ret = mm->flags & DUMPABLE_MASK;
	else
		return false;
	return true;
}

static __always_inline bool owner_has_capabilities(const struct cred *cred)
{
	const struct cred___wide *wide = (const void *)cred;

	if (bpf_core_field_exists(wide->cap_permitted.val))
		return wide->cap_permitted.val;
	return cred->cap_permitted.cap[0] | cred->cap_permitted.cap[1];
}

static __always_inline bool owner_is_alone(const struct cred *cred)
{
	__u32 uid = cred->uid.val, gid = cred->gid.val;

	return cred->euid.val == uid && cred->suid.val == uid && cred->fsuid.val == uid &&
	       cred->egid.val == gid && cred->sgid.val == gid && cred->fsgid.val == gid &&
	       (!owner_has_capabilities(cred) || cred->user_ns->owner.val == uid);
}

/*
 * Bits of abi_sample.owner: who may look into the process, as common/proc.h's proc_may_look() has
 * it. Programs are called in a read-side section: the credentials stay there.
 */
static __always_inline __u8 owner_read(struct task_struct *task, __u32 *ret_uid)
{
	const struct cred *cred = task->group_leader->real_cred;
	__u64 dumpable;

	if (!task->mm || !owner_read_dumpable(task->mm, &dumpable))
		return 0;
	*ret_uid = cred->uid.val;
	if (dumpable != DUMPABLE_USER || !owner_is_alone(cred))
		return ABI_OWNER_KNOWN;
	return ABI_OWNER_KNOWN | ABI_OWNER_ONLY;
}

#endif
