/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_SHIM_RING_WRITER_H
#define PROFD_COMMON_SHIM_RING_WRITER_H

/*
 * The library's end of a ring (ring_layout.h). What writes is async-signal-safe, for any number of
 * threads at once: no lock, no allocation, no waiting.
 *
 * The bell is a socket whose other end the server has: it is rung when the ring becomes half full.
 * Programs close descriptors that they do not know, and get others by the same number: so it is
 * looked at before it is used, and then only send(2) is tried on it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/shim/ring_layout.h"

struct ring_writer {
	struct ring_page *page; /* NULL: there is none */
	_Atomic uint64_t *words;
	uint64_t n_words; /* as it was when the memory was looked at */
	size_t length;    /* bytes mapped */
	int bell;         /* owned; -1: none */
	uint64_t bell_device, bell_inode;
};

struct ring_sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t tid;     /* as the process's own namespace numbers it */
	uint32_t weight;  /* ticks that it stands for; at least 1 */
	uint32_t generation;
	uint16_t frequency;     /* of the ticks, 1 .. RING_FREQUENCY_MAX */
	uint8_t quality;        /* enum stack_quality */
	uint8_t reason;         /* of the quality's list; 0 where that has none */
	char comm[RING_COMM];   /* the thread's name; anything behind the NUL */
	const uint64_t *frames; /* borrowed: lookup addresses of the process, leaf first */
	uint32_t n_frames;      /* 1 .. RING_FRAMES_MAX */
};

/*
 * Maps the memory @fd and takes @bell over (-1: none). False: it is no ring, or can be made
 * shorter under our feet; both fds stay the caller's.
 */
bool ring_writer_open(struct ring_writer *ret, int fd, int bell);
/* Unmaps, and closes the bell if it still is that. Nobody writes any more. */
void ring_writer_close(struct ring_writer *w);

/*
 * False: the server has closed its end of the bell, so nobody reads any more. True if that cannot
 * be known.
 */
bool ring_writer_has_server(const struct ring_writer *w);

/* What the server wants now: samples per second of CPU time, 0 for none. */
uint32_t ring_writer_frequency(const struct ring_writer *w);
/* False: the ring is full. */
bool ring_writer_sample(struct ring_writer *w, const struct ring_sample *sample);
/*
 * The part of the @length bytes at @text that begins at *done, and then what follows it, as far as
 * there is room; raises *done. True: all is written. @length: 1 .. RING_MAPS_MAX.
 */
bool ring_writer_maps(struct ring_writer *w, uint32_t generation, const char *text, size_t length,
		      size_t *done);

#endif
