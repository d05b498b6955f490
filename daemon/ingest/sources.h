/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCES_H
#define PROFD_INGEST_SOURCES_H

/*
 * How the sources come into being (but source_shim.h's), and what they ask of events and kernels.
 * Each returns SOURCE_E_* with @message, or negative errno.
 */
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
/* Samples nothing. Returns SOURCE_E_OK or negative errno. */
int source_none_new(struct source **ret, const struct source_options *options);
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
struct perf_event_attr;
/* The attributes of @spec's event and rate, disabled, without any sample type. */
void event_attr(const struct sampler_spec *spec, struct perf_event_attr *ret);
/*
 * Whether :u and :k are the source's to apply. The clocks count on while the other half runs
 * and drop only the ticks, so that the kernel's own exclusion would look like skipped ticks.
 */
bool event_excludes_by_source(const struct event *event);
/* Ticks a second on one CPU that @spec can be expected to cause at most. */
uint64_t event_ticks_per_second(const struct sampler_spec *spec);
/* kernel.perf_event_paranoid; 0 if it cannot be read. */
int event_paranoid_level(void);
/*
 * Puts what a failed perf_event_open(2) (negative errno) means into @message. Returns SOURCE_E_* or
 * @err, where it is nothing that the user can do something about.
 */
int event_explain(int err, const struct sampler_spec *spec, struct source_message *message);

/*
 * Which kernels the BPF source must not, or cannot, run on: those that lack what it uses
 * (common/bpf_features.h), and those with a fault that only their version reveals.
 *
 * Pure. @release and @version are uname(2)'s; @signature is /proc/version_signature's text, or "".
 * Returns SOURCE_E_OK, or SOURCE_E_UNSUPPORTED with @message: its version has a fault, or cannot
 * be determined.
 */
int host_check_kernel_faults(const char *release, const char *version, const char *signature,
			     struct source_message *message);
/* Whether the running kernel is without these faults, and has what is used. Returns the same. */
int host_check_bpf(struct source_message *message);

#endif
