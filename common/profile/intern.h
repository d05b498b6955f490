/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_INTERN_H
#define PROFD_COMMON_PROFILE_INTERN_H

/*
 * Arrays of things each of which is there once, found by their first bytes, their key: those have
 * no padding.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/profile/profile_table.h"

/* What is known of an array beside its pointer, which its owner has; all zero: it is empty. */
struct intern {
	size_t n, max; /* things, and room for them */
	struct profile_table table;
	struct profile_hash_key hash_key; /* n is 0: not made yet */
};

void intern_deinit(struct intern *in);
/* Forgets all things; the owner's array stays. */
void intern_clear(struct intern *in);
/* The index in @array of the thing that begins with @key, or PROFILE_NONE; sizes as below. */
uint32_t intern_find(const struct intern *in, const void *array, const void *key, size_t size,
		     size_t key_size);
/*
 * *ret is the index in *@array (the address of the pointer to things of @size bytes) of the one
 * with the first @key_size bytes of @thing, which is added as a whole if there is none: then @in->n
 * has grown. 0 or negative errno.
 */
int intern_add(struct intern *in, void *array, const void *thing, size_t size, size_t key_size,
	       uint32_t *ret);

#endif
