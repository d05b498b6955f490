/* SPDX-License-Identifier: MIT */
/*
 * What profd itself takes of the machine, and the pace at which it may sample. Its own threads, all
 * that descend from it and its BPF programs count. The share is measured every MEASURE_NS, or from
 * window to window if windows are shorter; what writing a window costs is spread over the window's
 * length, as it comes in one piece. What it was used for is measured with it (ingest/cpu_causes.h):
 * only sampling can be slowed. Rolling up does not count: it comes in bursts, once an hour, and
 * sampling more slowly would not make it any shorter.
 */
#include "daemon/pace.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/helper/descendants.h"
#include "common/log.h"
#include "daemon/daemon_private.h"

#define MEASURE_NS (20 * NS_PER_S)
/* Of the samples: users' sessions that have less than this part are not what is dear. */
#define USERS_PART 8

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

/* The clocks are not read at one moment. */
static double seconds_less(double from, double less)
{
	return from > less ? from - less : 0;
}

/*
 * The CPU time of child processes that come and go. The kernel adds up what those had used that
 * ended and were waited for (of our own, getrusage(2), RUSAGE_CHILDREN); of one that lives, its
 * clock tells (clock_getcpuclockid(3)), which takes no privileges over it. First those that ended:
 * one that is waited for meanwhile is not counted twice.
 */
static double pace_living_seconds(const pid_t *living, size_t n)
{
	uint64_t sum_ns = 0, used_ns;

	for (size_t i = 0; i < n; i++)
		sum_ns += descendants_ended_ns(living[i]);
	for (size_t i = 0; i < n; i++)
		sum_ns += clock_process_ns(living[i], &used_ns) ? used_ns : 0;
	return (double)sum_ns / 1e9;
}

double pace_children_seconds(void)
{
	struct descendants found;
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	descendants_find(&found, getpid());
	return seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime) +
	       pace_living_seconds(found.pids + 1, found.n - 1);
}

/* 0: there is no such child. */
static double pace_child_seconds(pid_t child)
{
	struct descendants found;

	if (!child)
		return 0;
	descendants_find(&found, child);
	return pace_living_seconds(found.pids, found.n);
}

void daemon_used_cpu(const struct daemon *d, const struct source_stats *source,
		     const struct unwinder_stats *unwinder, Profd__Control__Cpu *ret)
{
	double children = pace_children_seconds();
	double unwinding = (double)unwinder->loader.used_ns / 1e9 +
			   pace_child_seconds(unwinder->memory_keeper);
	double own = (double)clock_ns(CLOCK_THREAD_CPUTIME_ID) / 1e9;
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	profd__control__cpu__init(ret);
	ret->user_seconds = seconds_of(&usage.ru_utime);
	ret->system_seconds = seconds_of(&usage.ru_stime);
	ret->switches_seconds = (double)source->watch_ns / 1e9;
	ret->bpf_seconds = (double)source->bpf_run_ns / 1e9 + ret->switches_seconds;
	ret->workers_seconds = children;
	ret->events_seconds = (double)d->cpu_causes.ns[CPU_EVENTS] / 1e9;
	ret->sampling_seconds =
		(double)(source->bpf_run_ns + d->cpu_causes.ns[CPU_SAMPLING]) / 1e9 + unwinding;
	ret->names_seconds = seconds_less(children, unwinding);
	ret->output_seconds = seconds_less(ret->user_seconds + ret->system_seconds, own);
	ret->control_seconds =
		own - (double)(d->cpu_causes.ns[CPU_EVENTS] + d->cpu_causes.ns[CPU_SAMPLING]) / 1e9;
}

/* Rolling up counts as nothing. */
static int pace_used_seconds(struct daemon *d, double ret[N_COSTS], double *ret_windows)
{
	struct unwinder_stats unwinder;
	struct output_state output;
	struct source_stats source;
	Profd__Control__Cpu cpu;
	struct ledger ledger;
	int r = session_set_total(d->sessions, &ledger, &source);

	if (r)
		return r;
	unwinder_get_stats(d->unwinder, &unwinder);
	output_get_state(d->output, &output);
	daemon_used_cpu(d, &source, &unwinder, &cpu);
	*ret_windows = (double)output.windows_ns / 1e9;
	ret[COST_SAMPLING] = cpu.sampling_seconds;
	ret[COST_SWITCHES] = cpu.switches_seconds;
	ret[COST_EVENTS] = cpu.events_seconds;
	ret[COST_NAMES] = cpu.names_seconds;
	ret[COST_OUTPUT] = cpu.output_seconds - *ret_windows - (double)output.background_ns / 1e9;
	ret[COST_CONTROL] = cpu.control_seconds;
	return 0;
}

/* The share of the whole machine that @seconds of CPU time are from @since_ns on; 0: not yet. */
static double pace_share(double seconds, uint64_t since_ns, uint64_t now_ns)
{
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!since_ns || now_ns <= since_ns)
		return 0;
	return seconds / ((double)(now_ns - since_ns) / 1e9) / (n_cpus > 0 ? (double)n_cpus : 1);
}

/* The shares since the last call; 0 the first time. */
static int pace_measure(struct daemon *d, uint64_t now_ns, double ret[N_COSTS])
{
	struct daemon_pace *p = &d->pace;
	double used[N_COSTS], windows;
	int r = pace_used_seconds(d, used, &windows);

	if (r)
		return r;
	for (unsigned i = 0; i < N_COSTS; i++) {
		ret[i] = pace_share(seconds_less(used[i], p->used_seconds[i]), p->measured_ns,
				    now_ns);
		p->used_seconds[i] = used[i];
	}
	ret[COST_SAMPLING] += p->windows_share;
	p->measured_ns = now_ns;
	return 0;
}

/* At the end of a window: what was written since the last one's is another window. */
static void pace_measure_windows(struct daemon *d, uint64_t now_ns)
{
	struct daemon_pace *p = &d->pace;
	struct output_state output;
	double seconds;

	output_get_state(d->output, &output);
	seconds = (double)output.windows_ns / 1e9;
	p->windows_share = pace_share(seconds_less(seconds, p->windows_seconds), p->window_ns,
				      now_ns);
	p->windows_seconds = seconds;
	p->window_ns = now_ns;
}

uint64_t daemon_rate(const struct daemon *d)
{
	return session_rate(d->config->frequency, false, d->pace.limiter.halvings[TIER_SYSTEM]);
}

/* Whether it would be felt if users' sessions were slowed. */
static bool pace_users_matter(struct daemon *d)
{
	uint64_t *before = d->pace.n_samples, n[N_TIERS];

	for (unsigned i = 0; i < N_TIERS; i++) {
		n[i] = d->sessions->n_samples[i] - before[i];
		before[i] += n[i];
	}
	session_set_measure_users(d->sessions);
	return n[TIER_USERS] >= n[TIER_SYSTEM] / USERS_PART;
}

static void pace_log_change(const struct daemon *d, const struct limiter *before, double share)
{
	const unsigned *halvings = d->pace.limiter.halvings;
	const struct slow_down_user *most = slow_down_most(&d->sessions->slow_down);
	bool is_users = halvings[TIER_USERS] != before->halvings[TIER_USERS];
	bool is_slower = halvings[TIER_USERS] > before->halvings[TIER_USERS] ||
			 halvings[TIER_SYSTEM] > before->halvings[TIER_SYSTEM];
	char text[96];

	if (is_users && most)
		snprintf(text, sizeof(text),
			 "users' sessions are slowed, those of uid %u most: 1/%u of their rates",
			 most->uid, 1u << most->halvings);
	else if (is_users)
		snprintf(text, sizeof(text), "users' sessions are not slowed any more");
	else if (!halvings[TIER_SYSTEM])
		snprintf(text, sizeof(text), "back at %lu Hz", (unsigned long)d->config->frequency);
	else
		snprintf(text, sizeof(text), "now at %lu Hz instead of %lu",
			 (unsigned long)daemon_rate(d), (unsigned long)d->config->frequency);
	log_line(is_slower ? LOG_WARNING : LOG_INFO,
		 "sampling used %.2f %% of the machine, max_cpu is %g%%: %s", 100 * share,
		 100 * d->config->max_cpu, text);
}

/*
 * What slowing down would not help against, or cannot be slowed down, is said, when it begins and
 * as long as it lasts.
 */
static void pace_report_dear(struct daemon *d, const double shares[N_COSTS], bool can_slow)
{
	static const char *const words[] = {[COST_SAMPLING] = "sampling",
					    [COST_SWITCHES] =
						    "watching threads' switches, for waits",
					    [COST_EVENTS] = "process events",
					    [COST_NAMES] = "names",
					    [COST_OUTPUT] = "reading and deleting files",
					    [COST_CONTROL] = "requests and sessions"};
	enum cost dear = limiter_blame(shares, d->config->max_cpu);
	bool was_said = *d->pace.dear;

	if (dear == COST_SAMPLING && can_slow)
		dear = N_COSTS;
	d->pace.n_dear = dear != N_COSTS ? d->pace.n_dear + 1 : 0;
	*d->pace.dear = '\0';
	if (d->pace.n_dear < LIMITER_OVER)
		return;
	snprintf(d->pace.dear, sizeof(d->pace.dear),
		 "profd used %.2f %% of the machine, more than max_cpu=%g%%: %.2f %% for %s; %s",
		 100 * limiter_sum(shares), 100 * d->config->max_cpu, 100 * shares[dear],
		 words[dear],
		 dear == COST_SAMPLING ? "no rate is left to lower"
				       : "sampling is not slowed, as that would not help");
	if (!was_said)
		log_warning("%s", d->pace.dear);
}

static int pace_adjust(struct daemon *d, uint64_t now_ns)
{
	struct limiter before = d->pace.limiter;
	double shares[N_COSTS];
	bool can_slow[N_TIERS];
	int r;

	r = pace_measure(d, now_ns, shares);
	if (r)
		return r;
	d->pace.share = limiter_sum(shares);
	can_slow[TIER_USERS] = pace_users_matter(d) &&
			       session_set_can_slow_down(d->sessions, TIER_USERS);
	can_slow[TIER_SYSTEM] = session_set_can_slow_down(d->sessions, TIER_SYSTEM);
	pace_report_dear(d, shares, can_slow[TIER_USERS] || can_slow[TIER_SYSTEM]);
	/* A window that waits for the disk could not be taken back at another rate. */
	if (d->last_flush.error ||
	    !limiter_judge(&d->pace.limiter, shares[COST_SAMPLING], d->config->max_cpu, can_slow))
		return 0;
	r = session_set_slow_down(d->sessions, d->pace.limiter.halvings);
	pace_log_change(d, &before, shares[COST_SAMPLING]);
	return r;
}

int daemon_pace(struct daemon *d, bool is_window_end)
{
	bool by_windows = d->config->interval_ns <= MEASURE_NS;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	/* A recording has the rate it was made with. */
	if (d->replay || d->stopping)
		return 0;
	if (is_window_end)
		pace_measure_windows(d, now_ns);
	if (by_windows != is_window_end)
		return 0;
	if (!by_windows && now_ns < d->pace.measured_ns + MEASURE_NS)
		return 0;
	return pace_adjust(d, now_ns);
}

int daemon_pace_restart(struct daemon *d)
{
	d->pace.limiter = (struct limiter){0};
	return session_set_slow_down(d->sessions, d->pace.limiter.halvings);
}
