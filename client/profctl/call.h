/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_CALL_H
#define PROFD_PROFCTL_CALL_H

/*
 * One request to the daemon and its response, with all that can go wrong told to the user; sessions
 * that are held by a request; and windows of a live one.
 */
#include "client/profctl/profctl.h"
#include "common/profile/profile.h"
#include "control.pb-c.h"

/*
 * Sends @message, that of @verb (NULL: an empty one). Returns STATUS_DONE with a response of the
 * case that belongs to it, which the caller frees with response_freep(); or another exit status
 * after a line to the user. All texts of the response may go to a terminal (utf8_make_harmless()).
 */
int call_daemon(const struct context *context, Profd__Control__Request__VerbCase verb,
		const void *message, Profd__Control__Response **ret);
/* The same with its texts as they were sent, for JSON, which escapes them. */
int call_daemon_exact(const struct context *context, Profd__Control__Request__VerbCase verb,
		      const void *message, Profd__Control__Response **ret);
/* Makes all texts of @message, and of messages in it, fit for a terminal. */
void message_make_harmless(const ProtobufCMessage *message);
/* Where the values of a field of @message are: an array of *ret_n, or the one; none if it is unset.
 */
void *const *message_field(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
			   size_t *ret_n);

/*
 * The same for `collect`, or for what is answered with paths; *ret_data is the file behind the
 * response, of as many bytes as it says.
 */
int call_collect(const struct context *context, const Profd__Control__Collect *collect,
		 Profd__Control__Response **ret, uint8_t **ret_data);
int call_paths(const struct context *context, Profd__Control__Request__VerbCase verb,
	       const void *message, Profd__Control__Response **ret, uint8_t **ret_data);

static inline void response_freep(Profd__Control__Response **response)
{
	if (*response)
		profd__control__response__free_unpacked(*response, NULL);
}

/* A session that ends with us, however we end: profd notices within a second. */
struct held {
	uint64_t id;
	int fd; /* readable when the session has ended, or profd has gone */
};

#define HELD_NONE ((struct held){.fd = -1})

/* Opens what @start asks for, as a held session. STATUS_DONE, or as call_daemon(). */
int held_start(const struct context *context, Profd__Control__Start *start, struct held *ret);
/* Ends it, and what it has is there to be taken. Says nothing. */
void held_stop(const struct context *context, const struct held *held);
/* Its fd is readable: whether it has ended by itself, as its process has; else profd has gone. */
bool held_has_ended(const struct held *held);
/* Lets it go, if there is one. */
void held_deinit(struct held *held);

struct taken {
	struct profile *profile; /* the caller's; NULL: there was no sample */
	uint64_t lost;           /* samples of the session, since it began, that nobody is given */
	bool more;               /* samples wait already, to be taken next */
	bool over;               /* it has ended, and there is nothing left to take */
	char trouble[COMPLAINT_SIZE]; /* why nothing was taken */
};

enum {
	TAKE_E_OK,
	TAKE_E_LATER, /* profd refuses for now */
	TAKE_E_GONE,  /* profd does not answer */
	TAKE_E_BAD,   /* what it gave is of no use */
};

/* The oldest window of @session, each of which is given out once. Blocks; says nothing. TAKE_E_*.
 */
int take_window(const struct context *context, uint64_t session, struct taken *ret);

#endif
