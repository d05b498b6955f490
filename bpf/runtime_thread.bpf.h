/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_RUNTIME_THREAD_BPF_H
#define PROFD_BPF_RUNTIME_THREAD_BPF_H

/*
 * The name of a thread as Python has it (threading.Thread.name), for versions that do not pass it
 * to the system: those before 3.14. The outermost frame of such a thread is that of
 * Thread._bootstrap(self), and its first local variable is the Thread, whose attribute `_name` is
 * the name. An object's attributes are a table of keys, which objects of a class can share, and one
 * of values in the same order. Where the two are differs by version. Which key it is differs by
 * class: a subclass may set attributes before Thread sets its own.
 *
 * A thread whose name in the system is not that of its process was given one there, and keeps it.
 */
#include "bpf/runtime_code.bpf.h"

/* "_bootstr" and "ap"; "_name" with its NUL. */
#define PYTHON_BOOTSTR 0x727473746f6f625fULL
#define PYTHON_AP      0x7061
#define PYTHON_NAME    (0x656d616e5fULL << 16)

#define PYTHON_KEYS_MAX     16           /* that are looked at */
#define PYTHON_DICT_KEYS    32           /* of a dict; where its values are is the next word */
#define PYTHON_VALUES_TAG   1            /* of the address of values, which is then one less */
#define PYTHON_VALUES_VALID (1ull << 24) /* of the word before values that are in an object */

/* The head of a table of keys; its index follows, and then its entries. */
#define PYTHON_KEYS_HEAD_3_10     40
#define PYTHON_KEYS_HEAD          32
#define PYTHON_KEYS_UNICODE(head) ((head) >> 16 & 0xff) /* entries have no hash */
#define PYTHON_KEYS_BITS(head)    ((head) >> 8 & 0xff)  /* of the index's length, bytes */
#define PYTHON_KEYS_INDEX_MAX     128                   /* of it: places have a byte each */

/* Is the str @name that of Thread._bootstrap(), qualified or not? */
static __always_inline bool runtime_is_bootstrap(const struct runtime *r, __u64 name)
{
	__u64 length = runtime_read_word(name + 16), at = name + r->row.text_ascii;

	if (length == sizeof("Thread._bootstrap") - 1)
		at += sizeof("Thread.") - 1;
	else if (length != sizeof("_bootstrap") - 1)
		return false;
	return runtime_read_word(at) == PYTHON_BOOTSTR &&
	       (__u16)runtime_read_word(at + 8) == PYTHON_AP;
}

/* Where the keys of @object's attributes are, and their values: *ret 0: they are with the keys. */
static __always_inline __u64 runtime_find_keys(const struct runtime *r, __u64 object, __u64 *ret)
{
	__u64 values = 0, dict, found[2];

	dict = runtime_read_word(r->row.attributes == RUNTIME_ATTRIBUTES_DICT ? object + 16
									      : object - 24);
	if (r->row.attributes == RUNTIME_ATTRIBUTES_BEFORE)
		values = runtime_read_word(object - 32);
	if (r->row.attributes == RUNTIME_ATTRIBUTES_TAGGED && dict & PYTHON_VALUES_TAG)
		values = dict + PYTHON_VALUES_TAG;
	if (r->row.attributes == RUNTIME_ATTRIBUTES_INLINE &&
	    runtime_read_word(object + 16) & PYTHON_VALUES_VALID)
		values = object + 24;
	*ret = values;
	if (values)
		return runtime_read_word(runtime_read_word(object + 8) + r->row.type_keys);
	if (!dict ||
	    bpf_probe_read_user(found, sizeof(found), (const void *)(dict + PYTHON_DICT_KEYS)))
		return 0;
	*ret = found[1];
	return found[0];
}

/*
 * Is it `_name` that the key at @at of a table is? Keys are interned: another place is another one.
 * A global function, as it is called in a loop.
 */
__attribute__((noinline)) int runtime_is_name(struct runtime *r, __u64 at)
{
	__u64 key = runtime_read_word(at);

	if (!r || !key)
		return 0;
	if (r->name_key)
		return key == r->name_key;
	if (runtime_read_word(key + r->row.text_ascii) << 16 != PYTHON_NAME)
		return 0;
	r->name_key = key;
	return 1;
}

/* The attribute `_name` of @object; 0: it has none. */
static __always_inline __u64 runtime_find_name(struct runtime *r, __u64 object)
{
	bool is_3_10 = r->row.attributes == RUNTIME_ATTRIBUTES_DICT;
	__u64 values, keys = runtime_find_keys(r, object, &values);
	__u64 head = runtime_read_word(keys + 8), size = 16;

	if (is_3_10) {
		/* The hash comes before the key. */
		keys += PYTHON_KEYS_HEAD_3_10 + head + 8;
		size = 24;
	} else {
		if (!PYTHON_KEYS_UNICODE(head))
			return 0;
		head = 1ull << (PYTHON_KEYS_BITS(head) & 63);
		keys += PYTHON_KEYS_HEAD + head;
	}
	if (head > PYTHON_KEYS_INDEX_MAX)
		return 0;
	for (__u32 i = 0; i < PYTHON_KEYS_MAX; i++) {
		if (runtime_is_name(r, keys + i * size))
			return runtime_read_word(values ? values + 8 * i : keys + i * size + 8);
	}
	return 0;
}

/*
 * After a walk of the whole chain: the name of its thread in r->thread_name, as far as one that the
 * system has would fit. Returns whether there is one; only one of ASCII characters counts.
 */
__attribute__((noinline)) int runtime_name_thread(struct runtime *r)
{
	__u64 name;
	__u8 width;

	if (!r || r->frame || !r->row.attributes)
		return 0;
	if (r->thread_seed != r->seed)
		r->bootstrap = r->name_key = 0;
	r->thread_seed = r->seed;
	if (r->outer_name != r->bootstrap && !runtime_is_bootstrap(r, r->outer_name))
		return 0;
	r->bootstrap = r->outer_name;
	name = runtime_find_name(r, runtime_read_word(r->outer_frame + r->row.frame_locals));
	r->thread_name[0] = r->thread_name[1] = 0;
	return name &&
	       runtime_read_text(r, name, (__u8 *)r->thread_name, ABI_COMM_SIZE - 1, &width) &&
	       !((r->thread_name[0] | r->thread_name[1]) & 0x8080808080808080ull) && width == 1;
}

/* Has @task, which is not its process's first thread, a name of its own in the system? */
static __always_inline bool runtime_is_named(const struct task_struct *task)
{
	__u64 own[2], first[2];

	return bpf_probe_read_kernel(own, sizeof(own), task->comm) ||
	       bpf_probe_read_kernel(first, sizeof(first), task->group_leader->comm) ||
	       own[0] != first[0] || own[1] != first[1];
}

#endif
