/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCES_H
#define PROFD_INGEST_SOURCES_H

/* How the sources come into being (but source_shim.h's). Each returns SOURCE_E_* with @message, or
 * negative errno. */
#include "daemon/ingest/source.h"

int source_bpf_new(struct source **ret, const struct source_options *options,
		   struct source_message *message);
int source_perf_new(struct source **ret, const struct source_options *options,
		    struct source_message *message);
/*
 * Delivers the file's records at once, as fast as they are drained. @fd is taken over, also on
 * failure.
 */
int source_replay_new(struct source **ret, const struct source_options *options, int fd,
		      struct source_message *message);
/*
 * After SOURCE_E_END: what kept a replay from delivering all that was recorded (the file was cut
 * off or damaged, there was no sampler), one line, or NULL. Lives as long as the source.
 */
const char *source_replay_warning(struct source *source);

/*
 * Records everything that passes, for source_replay: a sink that writes to a file and hands on to
 * @next. Write errors end the recording, not the profiling.
 */
struct recorder;
/* @fd is taken over, also on failure; @next is borrowed. */
int recorder_new(struct recorder **ret, int fd, const struct source_sink *next);
/* The sink to give to a source; lives as long as the recorder. */
const struct source_sink *recorder_sink(struct recorder *recorder);
/* A sampler began with this spec: the replay needs it. */
void recorder_sampler(struct recorder *recorder, unsigned sampler, const struct sampler_spec *spec);
/* Flushes and frees. Returns 0, or negative errno if anything could not be written. */
int recorder_close(struct recorder *recorder);

/*
 * Resolves the names of events ("auto", "cpu-clock", "cycles:u", "r01c2" ...). "auto" tries cycles
 * and falls back to cpu-clock; then @message says so beside SOURCE_E_OK, else it is empty. Returns
 * SOURCE_E_OK, or SOURCE_E_UNSUPPORTED with @message.
 */
int event_parse(const char *name, struct event *ret, struct source_message *message);

#endif
