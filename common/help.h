/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_HELP_H
#define PROFD_COMMON_HELP_H

/*
 * Prints the text of --help for a terminal of 80 columns. Lines that begin with a blank are rows,
 * "  NAME  description" with two blanks or more between the two; a long description continues below
 * its first word. Other lines are paragraphs, up to the next row or empty line, and are filled.
 */
#include <stdio.h>

#define HELP_COLUMNS 80

void help_print(FILE *out, const char *text);

#endif
