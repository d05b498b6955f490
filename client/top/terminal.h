/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TOP_TERMINAL_H
#define PROFD_TOP_TERMINAL_H

/*
 * A terminal that shows one program's screen: on its alternate screen, key by key, without echo,
 * cursor and wrapping. It is given back as it was found, also when a fault ends the program; one
 * at a time can be taken.
 */
#include <stdbool.h>

/* @in and @out are a terminal. Returns 0 or negative errno. */
int terminal_take(int in, int out);
/*
 * Gives it back, if it was taken. In the background, where the settings are the shell's by now,
 * they stay. Async-signal-safe.
 */
void terminal_give_back(void);
bool terminal_is_taken(void);
/* We are in its foreground, or it has none: job control does not keep us from it. */
bool terminal_is_for_us(int in);
/* Lines and columns; 24 and 80 where it does not tell. */
void terminal_size(int out, unsigned *ret_rows, unsigned *ret_columns);

#endif
