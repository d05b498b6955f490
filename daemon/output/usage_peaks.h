/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_USAGE_PEAKS_H
#define PROFD_OUTPUT_USAGE_PEAKS_H

/*
 * The busiest second of each step, of one service after another, and which of them stand out: those
 * far above its others and its mean. What happens every hour stands out nowhere.
 */
#include "control.pb-c.h"
#include "daemon/output/index.h"

#define USAGE_PEAKS_MAX 8u

struct usage_peak {
	uint64_t cpu_ns, at_ns; /* 0: none is known */
};

struct usage_standout {
	const char *service; /* borrowed */
	struct usage_peak peak;
	uint64_t usual_ns;
};

struct usage_peaks {
	uint64_t since_ns;
	double step_ns;
	size_t n_steps;
	struct usage_peak *steps; /* of the row in work */
	struct usage_peak *own;   /* of the service in work */
	uint64_t *sorted;
	struct usage_standout standouts[USAGE_PEAKS_MAX]; /* those that stand out most first */
	size_t n;
};

/* 0 or negative errno. */
int usage_peaks_init(struct usage_peaks *p, uint64_t since_ns, double step_ns, size_t n_steps);
void usage_peaks_deinit(struct usage_peaks *p);
/* One of a file, or an hour of it, that begins at @start_s. */
void usage_peaks_add(struct usage_peaks *p, struct index_peak peak, uint64_t start_s);
/*
 * All of one service were added: they become part of the row. @service: as long as @p. @mean_ns:
 * what it takes in an ordinary second.
 */
void usage_peaks_end_service(struct usage_peaks *p, const char *service, uint64_t mean_ns);
/* Moves the row's into @row. 0 or negative errno. */
int usage_peaks_end_row(struct usage_peaks *p, Profd__Control__UsageRow *row);
/* 0 or negative errno. */
int usage_peaks_list(const struct usage_peaks *p, Profd__Control__UsageTable *table);

#endif
