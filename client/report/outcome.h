/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_REPORT_OUTCOME_H
#define PROFD_CLIENT_REPORT_OUTCOME_H

/* What comes of a report, from its options to its picture; the message says what and why. */
enum {
	REPORT_E_OK,
	REPORT_E_BAD,        /* an input, or what another program made of it */
	REPORT_E_BAD_OPTION, /* also an expression, a sample type ... */
	REPORT_E_DENIED,     /* by permissions, or a server */
	REPORT_E_NOTHING,    /* nothing matched */
	REPORT_E_NO_PROGRAM, /* that draws or shows pictures */
	REPORT_E_HELP,       /* was asked for; there is no message */
};

#endif
