/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCE_H
#define PROFD_INGEST_SOURCE_H

/*
 * A source delivers samples and process events. Implementations: source_bpf.c (the ordinary one),
 * source_perf.c (plain perf rings, where BPF cannot be had), source_shim.c (programs that sample
 * themselves), source_replay.c (a recorded file), source_none.c (none),
 * tests/support/source_scripted.h.
 *
 * Order: before a sample is delivered, every process event with an earlier time stamp has been.
 *
 * A source runs up to SAMPLERS_MAX samplers: one per (event, frequency or period) in use.
 * Each CPU ticks for each sampler; the filter of a sampler says whose ticks become samples.
 *
 * All functions belong to one thread. None blocks for longer than the kernel needs to open and
 * close perf events (tens of milliseconds), drain excepted, which is bounded by its budget.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/ingest/code_book.h"
#include "daemon/ingest/cpu_causes.h"
#include "daemon/ingest/sample.h"

/* The other way to have memory, where others have it. */
#define SOURCE_STOP_ANOTHER "stop a session of another event or rate, or "

enum {
	SOURCE_E_OK,
	SOURCE_E_MORE,        /* the budget was used up, there may be more */
	SOURCE_E_UNSUPPORTED, /* this host or source cannot do that; see the message */
	SOURCE_E_DENIED,      /* not enough privilege; see the message */
	SOURCE_E_FULL,        /* no sampler or filter entry is free */
	SOURCE_E_END,         /* a replay or script has come to its end */
	SOURCE_E_GONE,        /* no such process */
};

/* One line for the user: what could not be done, why, and the remedy. */
struct source_message {
	char text[256];
};

/* Puts a text into @message, as by printf(3). Returns @outcome. */
__attribute__((format(printf, 3, 4))) int source_refuse(struct source_message *message, int outcome,
							const char *format, ...);

/*
 * What calls for a sample: the name in enum sample_cause, and the BPF source's (source_bpf.c),
 * which alone has any but the first.
 */
#define SAMPLE_CAUSES(X)               \
	X(CAUSE_PERF_EVENT, bpf_ticks) \
	X(CAUSE_SCHEDULER, bpf_waits)

#define SAMPLE_CAUSE(name, of_bpf) name,
enum sample_cause { SAMPLE_CAUSES(SAMPLE_CAUSE) N_CAUSES };

/* What to sample; event.c knows their names. */
struct event {
	char name[32]; /* canonical: "cpu-clock", "cycles", "r01c2" ... */
	enum sample_cause cause;
	uint32_t type; /* perf_event_attr.type, of a perf event */
	uint64_t config;
	bool is_clock;                     /* a sample's weight is nanoseconds */
	bool exclude_user, exclude_kernel; /* :k and :u */
};

struct sampler_spec {
	struct event event;
	bool is_period; /* rate is a period (events between samples), else samples per second */
	uint64_t rate;
	bool kernel_stacks;
	uint32_t max_depth; /* user frames */
	bool all;           /* filter: every process, else those added */
	bool has_wakers;    /* of waits: their wakers are delivered, too */
};

/* X(name): see status --json, unwinding. Of all samplers. */
#define SOURCE_ROOT_COUNTERS(X)                                                                    \
	X(fork_misses)   /* children that could not have their parent's mappings for walks in the  \
			    kernel, and bring copies at first */                                   \
	X(stale_roots)   /* processes that ended and whose mappings the kernel could not forget */ \
	X(chains_broken) /* of an interpreter's frames: ended at what cannot be, or too long */    \
	X(codes_lost)    /* times that an interpreter's function could not be reported */          \
	X(waits_unkept)  /* times that ticks on a CPU count as waiting, as they could not be kept  \
			  */                                                                       \
	X(unattached)   /* threads that a user's own profd could not sample: no more events may be \
			   open, or the kernel refused */                                          \
	X(excess_ticks) /* ticks that processes with libprofd told, and had no CPU time for */

/* The same, of one sampler: the clocks of threads whose waits it samples, for what it samples. */
#define SOURCE_CLOCK_COUNTERS(X)           \
	X(wait_ticks) /* ticks in waits */ \
	X(cpu_ticks)  /* ticks of these threads on a CPU */

#define SOURCE_COUNTER_FIELD(n) uint64_t n;
struct source_stats {
	uint64_t expected;  /* ticks due by the events' own counts, less idle and excluded */
	uint64_t seen;      /* ticks the source turned into a sample or a loss other than skipped */
	uint64_t idle;      /* ticks that met an idle CPU: no sample */
	uint64_t excluded;  /* ticks outside the filter, profd's own included */
	uint64_t self;      /* of these, profd's own */
	uint64_t outside;   /* and those of processes without a pid in profd's namespace */
	uint64_t throttled; /* times the kernel throttled the event */
	uint64_t lost[N_LOST];
	uint64_t bpf_run_ns; /* that BPF programs took for the ticks seen, by their own clock */
	uint64_t watch_ns;   /* and for threads' switches and wake-ups: an estimate */
	uint64_t unfollowed; /* of all samplers: children that could not join the filter */
	SOURCE_CLOCK_COUNTERS(SOURCE_COUNTER_FIELD)
	SOURCE_ROOT_COUNTERS(SOURCE_COUNTER_FIELD)
};

struct source_sink {
	void (*sample)(void *userdata, const struct sample *sample);
	void (*process_event)(void *userdata, const struct process_event *event);
	void *userdata;
};

struct source_options {
	const struct source_sink *sink;
	struct cpu_causes *cpu_causes; /* of the thread; or NULL */
	bool exclude_self;             /* the caller's own ticks */
	bool exclude_children;         /* and those of what it forks, and that forks */
	unsigned drain_ms;             /* how long samples may wait in a ring; 0: 100 */
	uint64_t memory_bytes;         /* upper bound for all rings together; 0: 32 MiB */
	uint64_t code_bytes;           /* for code objects of interpreters; 0: 8 MiB */
	uint64_t unwind_bytes; /* of tables and mappings for walks in the kernel; 0: a default */
	bool pids_translated;  /* our pid namespace is another one than the initial */
	bool own_only; /* perf: the caller's own processes alone, which takes no privileges */
	/* BPF, for tests: every so many complete walks carry what repeats them; 0: none. */
	uint32_t witness_one_in;
};

struct unwind_host;

struct source;

/* What an implementation does; what it leaves out is nothing to do, or nothing there. */
struct source_ops {
	const char *name;
	bool has_all_causes; /* else it has perf events only */
	/* Frees the source, whose fd is closed already; takes half-built ones. */
	void (*free)(struct source *source);
	int (*drain)(struct source *source, unsigned budget);
	/* samplers[sampler] has its spec, and is used if this returns SOURCE_E_OK. */
	int (*add_sampler)(struct source *source, unsigned sampler, struct source_message *message);
	/* As source_account(). */
	int (*account)(struct source *source, unsigned sampler);
	/* It is used, and not any more when this returns. */
	int (*remove_sampler)(struct source *source, unsigned sampler);
	/* Its spec says so already. */
	void (*set_all)(struct source *source, unsigned sampler);
	/* Adds @pid to the filter, or removes it. */
	int (*filter_pid)(struct source *source, unsigned sampler, pid_t pid, bool adds,
			  bool children);
	int (*follow_cpus)(struct source *source);
	/* Brings samplers[sampler].stats up to date but for expected; it may be one that was
	 * removed. */
	int (*update_stats)(struct source *source, unsigned sampler);
	uint64_t (*memory_bytes)(struct source *source);
	const struct unwind_host *(*unwind_host)(struct source *source);
};

/* What every source has; each implementation's own struct begins with this. */
struct source {
	const struct source_ops *ops;
	struct source_options options;
	/* Readable when something is to be drained; the implementation opens it. Replay: always. */
	int fd;
	bool tells_lives;
	struct code_book *codes; /* of frames of interpreters, owned; NULL: it has none */
	unsigned next_index;     /* where the search for a free sampler begins */
	struct source_sampler {
		bool used;
		struct sampler_spec spec;
		struct source_stats stats;
	} samplers[SAMPLERS_MAX];
};

/*
 * For implementations: what their own struct, of @size bytes, begins with; malloc'ed, zeroes but
 * for ops and options, without an fd yet. NULL: no memory.
 */
struct source *source_new(size_t size, const struct source_ops *ops,
			  const struct source_options *options);

/* Stops everything and frees; takes NULL. */
void source_free(struct source *source);
DEFINE_CLEANUP(struct source *, source_free)

/* Of what comes during a drain, it delivers what comes within so long. */
#define SOURCE_DRAIN_NS 10000000u

/*
 * Delivers what is there to the sink, at most about @budget samples. What comes meanwhile may wait
 * for the next call. Returns SOURCE_E_OK when drained, SOURCE_E_MORE, SOURCE_E_END, or negative
 * errno. Call it also every drain_ms: wakeups are batched.
 */
int source_drain(struct source *source, unsigned budget);
/*
 * Begins to tick. *ret is the sampler's index, which its samples carry. Returns SOURCE_E_OK,
 * _UNSUPPORTED, _DENIED, _FULL (with @message) or negative errno.
 */
int source_add_sampler(struct source *source, const struct sampler_spec *spec, unsigned *ret,
		       struct source_message *message);
/*
 * Delivers samples of waits that have not ended, up to now, which their ends will not count again.
 * Returns 0 or negative errno.
 */
int source_account(struct source *source, unsigned sampler);
/* Accounts, and stops ticking. Samples still in a ring are delivered before this returns. */
int source_remove_sampler(struct source *source, unsigned sampler);
/*
 * The filter: everything, or the added processes (with what they fork from now on, if children).
 * Removing takes out one process. Children that joined meanwhile stay until they end or the sampler
 * is removed: a filter may let through too much, as sessions choose their samples anyway. Returns
 * SOURCE_E_OK, _FULL (no room for another process), _GONE, or negative errno.
 */
int source_set_all(struct source *source, unsigned sampler, bool all);
int source_add_pid(struct source *source, unsigned sampler, pid_t pid, bool children);
int source_remove_pid(struct source *source, unsigned sampler, pid_t pid);
/* Looks for CPUs that came or went and follows them. Cheap; call it about once a second. */
int source_follow_cpus(struct source *source);
/*
 * Totals since the sampler began, which never fall. At rest (nothing ticking, rings drained) seen
 * equals what was delivered plus the losses other than skipped, exactly. Of a removed sampler: the
 * last totals, until its index is used again, which is as late as can be.
 */
int source_get_stats(struct source *source, unsigned sampler, struct source_stats *ret);
/* The memory of its walks, borrowed for the source's life; NULL: it has none. */
const struct unwind_host *source_unwind_host(struct source *source);
/*
 * Whether EXIT comes just when a process ends, for its first thread, and MOVED and BEGUN come at
 * all. Else EXIT comes for each thread, and /proc must be asked what it meant.
 */
bool source_tells_lives(const struct source *source);
/* Ring and map memory that does not count in RSS, bytes. */
uint64_t source_memory_bytes(struct source *source);

#endif
