/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_FUNCTION_FEED_H
#define PROFD_CLIENT_GATEWAY_FUNCTION_FEED_H

/*
 * Feeds a function_cpu.h with the windows that profd stores, each once, while somebody scrapes: at
 * each scrape, profd is asked for what it has stored since the last one, and the next scrape has
 * it; a viewer looks into them (api/viewer.h). Windows shorter than three seconds may be left out,
 * since ranges have whole seconds; and, so that the work is bounded, those of a range whose profile
 * exceeds FEED_FILE_MAX, and those from more than FEED_BACK_NS before.
 */
#include <systemd/sd-event.h>

#include "client/gateway/function_cpu.h"

#define FEED_FILE_MAX ((size_t)64 << 20) /* compressed */
#define FEED_BACK_NS  (UINT64_C(600) * 1000000000)

struct function_feed;

/* @socket: profd's; borrowed. At most @max functions. 0 or negative errno. */
int function_feed_new(struct function_feed **ret, sd_event *loop, const char *socket, uint32_t max);
/* Takes NULL. */
void function_feed_free(struct function_feed *f);
DEFINE_CLEANUP(struct function_feed *, function_feed_free)

/* Asks, unless an answer is awaited. */
void function_feed_ask(struct function_feed *f);
/* Times that what is stored could not be read. */
uint64_t function_feed_failed(const struct function_feed *f);
/* Borrowed. */
const struct function_cpu *function_feed_functions(const struct function_feed *f);

#endif
