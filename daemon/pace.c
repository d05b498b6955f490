/* SPDX-License-Identifier: MIT */
/*
 * What profd itself takes of the machine, and the pace at which it may sample. Its own threads, its
 * image workers and its BPF programs count; as the writing of a window is a part of it, the share
 * is measured from window to window, or minute by minute if windows are longer. Rolling up does not
 * count: it comes in bursts, once an hour, and sampling more slowly would not make it any shorter.
 */
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "daemon/daemon_private.h"

#define MEASURE_NS UINT64_C(60000000000)

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
 * ended and were waited for (getrusage(2), RUSAGE_CHILDREN); of one that lives, its clock tells
 * (clock_getcpuclockid(3)), which takes no privileges over it and no /proc.
 */
double status_cpu_children(const pid_t *living, size_t n)
{
	struct rusage usage;
	uint64_t used_ns;
	double sum;

	/* First those that ended: one that is waited for meanwhile is not counted twice. */
	getrusage(RUSAGE_CHILDREN, &usage);
	sum = seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime);
	for (size_t i = 0; i < n; i++)
		sum += clock_process_ns(living[i], &used_ns) ? (double)used_ns / 1e9 : 0;
	return sum;
}

void daemon_used_cpu(const struct daemon *d, const struct source_stats *source,
		     const struct unwinder_stats *unwinder, const struct output_state *output,
		     Profd__Control__Cpu *ret)
{
	const pid_t workers[] = {unwinder->loader.worker, output->symbols.worker};
	double tables = (double)unwinder->loader.used_ns / 1e9;
	double own = (double)clock_ns(CLOCK_THREAD_CPUTIME_ID) / 1e9;
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	profd__control__cpu__init(ret);
	ret->user_seconds = seconds_of(&usage.ru_utime);
	ret->system_seconds = seconds_of(&usage.ru_stime);
	ret->bpf_seconds = (double)source->bpf_run_ns / 1e9;
	ret->workers_seconds = status_cpu_children(workers, 2);
	ret->events_seconds = (double)d->cpu_causes.ns[CPU_EVENTS] / 1e9;
	ret->sampling_seconds = ret->bpf_seconds + (double)d->cpu_causes.ns[CPU_SAMPLING] / 1e9 +
				tables;
	ret->names_seconds = seconds_less(ret->workers_seconds, tables);
	ret->output_seconds = seconds_less(ret->user_seconds + ret->system_seconds, own);
	ret->control_seconds =
		own - (double)(d->cpu_causes.ns[CPU_EVENTS] + d->cpu_causes.ns[CPU_SAMPLING]) / 1e9;
}

static int pace_used_seconds(struct daemon *d, double *ret)
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
	daemon_used_cpu(d, &source, &unwinder, &output, &cpu);
	*ret = cpu.user_seconds + cpu.system_seconds + cpu.bpf_seconds + cpu.workers_seconds -
	       (double)output.background_ns / 1e9;
	return 0;
}

/* The share of the whole machine since the last call; 0 the first time. */
static int pace_measure(struct daemon *d, uint64_t now_ns, double *ret)
{
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	double used, seconds;
	int r;

	r = pace_used_seconds(d, &used);
	if (r)
		return r;
	seconds = (double)(now_ns - d->pace.measured_ns) / 1e9 * (n_cpus > 0 ? (double)n_cpus : 1);
	*ret = d->pace.measured_ns && seconds > 0 ? (used - d->pace.used_seconds) / seconds : 0;
	d->pace.measured_ns = now_ns;
	d->pace.used_seconds = used;
	return 0;
}

bool limiter_judge(struct limiter *l, double share, double max_share, bool can_slow)
{
	bool over = share > max_share;
	bool under = l->halvings && 2 * share <= LIMITER_ROOM * max_share;

	l->n_over = over ? l->n_over + 1 : 0;
	l->n_under = under ? l->n_under + 1 : 0;
	if (l->n_over >= LIMITER_OVER && can_slow && l->halvings < LIMITER_HALVINGS_MAX)
		l->halvings++;
	else if (l->n_under >= LIMITER_UNDER)
		l->halvings--;
	else
		return false;
	l->n_over = l->n_under = 0;
	return true;
}

uint64_t daemon_rate(const struct daemon *d)
{
	return session_rate(d->config->frequency, false, d->pace.limiter.halvings);
}

static void pace_log_change(const struct daemon *d, unsigned before, double share)
{
	if (d->pace.limiter.halvings > before)
		log_warning(
			"profd used %.2f %% of the machine, more than max_cpu=%g%%: now sampling "
			"at %lu Hz instead of %lu",
			100 * share, 100 * d->config->max_cpu, (unsigned long)daemon_rate(d),
			(unsigned long)d->config->frequency);
	else
		log_info("profd used %.2f %% of the machine, max_cpu is %g%%: sampling at %lu Hz "
			 "again",
			 100 * share, 100 * d->config->max_cpu, (unsigned long)daemon_rate(d));
}

static int pace_adjust(struct daemon *d, uint64_t now_ns)
{
	unsigned before = d->pace.limiter.halvings;
	double share;
	int r;

	r = pace_measure(d, now_ns, &share);
	if (r)
		return r;
	/* A window that waits for the disk could not be taken back at another rate. */
	if (d->last_flush.error)
		return 0;
	if (!limiter_judge(&d->pace.limiter, share, d->config->max_cpu,
			   session_set_can_slow_down(d->sessions)))
		return 0;
	pace_log_change(d, before, share);
	return session_set_slow_down(d->sessions, d->pace.limiter.halvings);
}

int daemon_pace(struct daemon *d, bool is_window_end)
{
	bool by_windows = d->config->interval_ns <= MEASURE_NS;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	/* A recording has the rate it was made with. */
	if (d->replay || d->stopping || by_windows != is_window_end)
		return 0;
	if (!by_windows && now_ns < d->pace.measured_ns + MEASURE_NS)
		return 0;
	return pace_adjust(d, now_ns);
}
