/* SPDX-License-Identifier: MIT */
/*
 * Static, inlined and far functions, and calls of the C library: by stubs, of static functions in
 * it, of functions that it chooses as it starts, and of the vdso.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N 2048

/* Short ones, so that the stub is a good part of a call; the header has no call at all. */
uint32_t ntohl(uint32_t x);

struct node {
	struct node *left, *right;
	uint32_t key;
};

static struct node nodes[N];
static uint32_t numbers[N], sorted[N];
static char text[2][16384];
static volatile uint64_t sink;

static inline uint32_t mix(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x7feb352d;
	x ^= x >> 15;
	return x;
}

static inline int is_left(const struct node *n, uint32_t key)
{
	return mix(n->key) > mix(key);
}

static __attribute__((noinline)) struct node *insert(struct node *root, struct node *n)
{
	struct node **at = &root;

	while (*at)
		at = is_left(*at, n->key) ? &(*at)->left : &(*at)->right;
	n->left = n->right = NULL;
	*at = n;
	return root;
}

static __attribute__((noinline)) uint32_t depth(const struct node *n)
{
	uint32_t l, r;

	if (!n)
		return 0;
	l = depth(n->left);
	r = depth(n->right);
	return 1 + (l > r ? l : r);
}

static __attribute__((noinline)) void grow(void)
{
	struct node *root = NULL;

	for (uint32_t i = 0; i < N; i++) {
		nodes[i].key = i;
		root = insert(root, &nodes[i]);
	}
	for (int i = 0; i < 32; i++)
		sink += depth(root);
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static __attribute__((noinline)) void sort(void)
{
	for (uint32_t i = 0; i < N; i++)
		numbers[i] = mix(i);
	memcpy(sorted, numbers, sizeof(sorted));
	qsort(sorted, N, sizeof(*sorted), compare);
	sink += sorted[N / 2];
}

static __attribute__((noinline)) void copy(void)
{
	for (int i = 0; i < 50; i++) {
		memset(text[0], 'a' + i % 26, sizeof(text[0]) - 1);
		memcpy(text[1], text[0], sizeof(text[0]));
		sink += strlen(text[1]);
	}
}

static __attribute__((noinline)) void stubs(void)
{
	for (uint32_t i = 0; i < 100000; i++)
		sink += ntohl(i);
}

static __attribute__((noinline)) void tell_time(void)
{
	struct timespec t;

	for (int i = 0; i < 2000; i++) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		sink += (uint64_t)t.tv_nsec;
	}
}

__attribute__((noinline)) void round_of_work(void)
{
	grow();
	for (int i = 0; i < 8; i++) {
		sort();
		copy();
	}
	stubs();
	tell_time();
}

int main(void)
{
	for (;;)
		round_of_work();
}
