/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_SUPPORT_START_H
#define PROFD_TESTS_SUPPORT_START_H

/* What initializes a Start that says so much. As in one that was received, no text is NULL. */
#define START(target_text, event_name, ...)                                                       \
	{                                                                                         \
		.text = (char *)(target_text), .event = (char *)(event_name), .name = (char *)"", \
		__VA_ARGS__                                                                       \
	}

#endif
