/* SPDX-License-Identifier: MIT */
#ifndef PROFD_OUTPUT_EPOCHS_H
#define PROFD_OUTPUT_EPOCHS_H

/*
 * The image epoch in use. An epoch has one event, one period and one boot, and ends at midnight
 * UTC; its directory comes into being with the first file. Names have minutes: one that must begin
 * within the minute of the last takes the next minute's name.
 *
 * Nothing is kept beside the files: on opening, the newest directory is the epoch in use, and its
 * newest file tells event, period and ledger.
 *
 * A wall clock may jump. An epoch that begins more than a day after the window that is to be
 * written, or after the moment of opening, is one of a clock that was wrong: it is left as it is.
 * No name is used twice.
 */
#include <stdbool.h>
#include <stdint.h>

#include "daemon/output/store.h"

struct epochs {
	const struct index *index;   /* the store's */
	char name[NAMES_EPOCH_SIZE]; /* "": none yet */
	uint64_t begin_s;
	char *event; /* NULL: nothing was written in it yet */
	uint64_t period;
	char *ledger;    /* of all its windows, or NULL */
	bool other_boot; /* from before the host started: not to be continued */
};

/*
 * @store must outlive it. @boot_s: Unix time of the host's start: an older epoch is not continued.
 * @now_s: Unix time.
 */
int epochs_init(struct epochs *epochs, struct store *store, const char *host, uint64_t boot_s,
		uint64_t now_s);
void epochs_deinit(struct epochs *epochs);
/* Makes sure that the epoch suits a window of @event and @period that began at @start_s. */
void epochs_select(struct epochs *epochs, uint64_t start_s, const char *event, uint64_t period);
/* A window has been written: its ledger line (or NULL) counts in the epoch's. */
int epochs_add_window(struct epochs *epochs, const char *event, uint64_t period,
		      const char *ledger);
/* `profctl epoch`: the same one within one minute. */
void epochs_begin(struct epochs *epochs, uint64_t now_s);
/* The epoch's files cannot take this window (overflow, damage): always another name. */
void epochs_abandon(struct epochs *epochs, uint64_t start_s);

#endif
