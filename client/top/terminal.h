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
/* Gives it back, if it was taken. */
void terminal_give_back(void);
/* Lines and columns; 24 and 80 where it does not tell. */
void terminal_size(int out, unsigned *ret_rows, unsigned *ret_columns);

#endif
