/* SPDX-License-Identifier: MIT */
/*
 * An extension of CPython 3.11 that makes the thread's frames something else for a while, and then
 * what they were: for tests/live/hostile_python. Offsets are common/runtime/python_row.c's.
 *
 * hostile(state, mode, seconds): the thread's state; the CPU time that is spent meanwhile.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_FRAMES    100000
#define FRAME_BYTES 80
#define CODE_BYTES  208
#define TEXT_BYTES  256
#define KEY_AT      596 /* in _PyRuntime */

enum { FRAME_CODE = 32, FRAME_PREVIOUS = 48, FRAME_INSTRUCTION = 56, FRAME_IS_ENTRY = 68 };
enum { CODE_LINE = 72, CODE_FILE = 112, CODE_NAME = 128, CODE_TABLE = 136, CODE_TRACEABLE = 168 };
enum { TEXT_LENGTH = 16, TEXT_STATE = 32, TEXT_BEGIN = 48 };

static char frames[N_FRAMES][FRAME_BYTES], codes[N_FRAMES][CODE_BYTES], texts[N_FRAMES][TEXT_BYTES];
static uint64_t noise = 88172645463325252u;
static atomic_bool done;
static char **newest; /* where the thread's newest frame is named */

static uint64_t next_noise(void)
{
	noise ^= noise << 13;
	noise ^= noise >> 7;
	noise ^= noise << 17;
	return noise;
}

static void put_word(char *at, unsigned offset, uint64_t value)
{
	memcpy(at + offset, &value, sizeof(value));
}

/* Nothing that may be read; or something that is anything but a frame. */
static uint64_t wild(void)
{
	const uint64_t all[] = {1,
				8,
				0xdead000,
				0x7ffffffff000,
				0x800000000000,
				0xffff888000000000,
				0xffffffffff600000,
				UINT64_MAX,
				(uint64_t)frames,
				(uint64_t)texts + next_noise() % sizeof(texts),
				(uint64_t)newest,
				(uint64_t)all,
				(uint64_t)wild};

	return all[next_noise() % (sizeof(all) / sizeof(all[0]))];
}

/* All of them in one chain, the first one the newest, each with a function of its own. */
static void make_chain(void)
{
	for (size_t i = 0; i < N_FRAMES; i++) {
		put_word(frames[i], FRAME_CODE, (uint64_t)codes[i]);
		put_word(frames[i], FRAME_PREVIOUS, i + 1 < N_FRAMES ? (uint64_t)frames[i + 1] : 0);
		put_word(frames[i], FRAME_INSTRUCTION, (uint64_t)codes[i] + 184);
		frames[i][FRAME_IS_ENTRY] = i == 0;
		put_word(codes[i], CODE_LINE, i);
		put_word(codes[i], CODE_FILE, (uint64_t)texts[i]);
		put_word(codes[i], CODE_NAME, (uint64_t)texts[i]);
		put_word(codes[i], CODE_TABLE, (uint64_t)texts[i]);
		put_word(codes[i], CODE_TRACEABLE, 0);
		put_word(texts[i], TEXT_LENGTH, TEXT_BYTES - TEXT_BEGIN);
		put_word(texts[i], TEXT_STATE, 0x60 | 1 << 2); /* compact, ASCII, one byte each */
		memcpy(texts[i] + TEXT_BEGIN, "\x1b[2J\"<b>&\n", 10);
		put_word(texts[i], TEXT_BEGIN + 16, i);
	}
}

static void spoil_texts(void)
{
	for (size_t i = 0; i < N_FRAMES; i++) {
		put_word(texts[i], TEXT_LENGTH, next_noise() >> next_noise() % 64);
		put_word(texts[i], TEXT_STATE, next_noise());
		for (unsigned at = TEXT_BEGIN; at < TEXT_BYTES; at += 8)
			put_word(texts[i], at, next_noise());
	}
}

static void spoil_codes(void)
{
	for (size_t i = 0; i < N_FRAMES; i++)
		for (unsigned at = 0; at < CODE_BYTES; at += 8)
			put_word(codes[i], at, next_noise() % 4 ? wild() : next_noise());
}

static void make_loop(void)
{
	put_word(frames[0], FRAME_PREVIOUS, (uint64_t)frames[0]);
}

static void make_wide_loop(void)
{
	put_word(frames[200], FRAME_PREVIOUS, (uint64_t)frames[0]);
}

static void make_wild_previous(void)
{
	for (size_t i = 0; i < N_FRAMES; i++)
		if (next_noise() % 16 == 0)
			put_word(frames[i], FRAME_PREVIOUS, wild());
}

/* A function that is a new one each time: all that is told of functions is told of these. */
static void make_new_functions(void)
{
	for (size_t i = 0; i < 4096; i++)
		put_word(texts[i], TEXT_BEGIN + 24, next_noise());
}

static void change_anything(void)
{
	for (size_t i = 0; i < 256; i++) {
		char *const things[] = {frames[i], codes[i], texts[i]};
		const unsigned sizes[] = {FRAME_BYTES, CODE_BYTES, TEXT_BYTES};
		unsigned which = next_noise() % 3;

		put_word(things[which], next_noise() % (sizes[which] / 8) * 8,
			 next_noise() % 2 ? wild() : 0);
	}
	if (next_noise() % 8 == 0)
		make_chain();
}

static const struct mode {
	const char *name;
	void (*make)(void);
	void (*change)(void); /* over and over, in another thread; or NULL */
} modes[] = {
	{"chain", NULL, NULL},
	{"loop", make_loop, NULL},
	{"wide-loop", make_wide_loop, NULL},
	{"wild-previous", make_wild_previous, make_wild_previous},
	{"texts", spoil_texts, NULL},
	{"codes", spoil_codes, NULL},
	{"functions", NULL, make_new_functions},
	{"anything", NULL, change_anything},
	{"state", NULL, NULL},
};

static void *change(void *userdata)
{
	const struct mode *mode = userdata;

	while (!done)
		mode->change();
	return NULL;
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) void hostile_spin(double seconds)
{
	volatile uint64_t n = 0;
	double end = cpu_seconds() + seconds;

	while (cpu_seconds() < end)
		for (unsigned i = 0; i < 100000; i++)
			n += i;
}

/* The thread's own state is something else. */
static void spin_without_state(double seconds)
{
	const char *runtime = dlsym(NULL, "_PyRuntime");
	pthread_key_t key;
	void *before;

	if (!runtime)
		abort();
	memcpy(&key, runtime + KEY_AT, sizeof(key));
	before = pthread_getspecific(key);
	for (unsigned i = 0; i < 20; i++) {
		pthread_setspecific(key, (void *)wild());
		hostile_spin(seconds / 20);
	}
	pthread_setspecific(key, before);
}

int hostile(char *state, const char *name, double seconds)
{
	const struct mode *mode = modes;
	char *cframe, *before;
	pthread_t thread;

	while (strcmp(mode->name, name))
		if (++mode == modes + sizeof(modes) / sizeof(modes[0]))
			return 1;
	memcpy(&cframe, state + 56, sizeof(cframe));
	newest = (char **)(cframe + 8);
	before = *newest;
	make_chain();
	if (mode->make)
		mode->make();
	*newest = frames[0];
	if (mode->change && pthread_create(&thread, NULL, change, (void *)mode))
		return 1;
	if (strcmp(name, "state"))
		hostile_spin(seconds);
	else
		spin_without_state(seconds);
	done = true;
	if (mode->change)
		pthread_join(thread, NULL);
	*newest = before;
	return 0;
}
