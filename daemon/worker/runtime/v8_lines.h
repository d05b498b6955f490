/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_RUNTIME_V8_LINES_H
#define PROFD_DAEMON_WORKER_RUNTIME_V8_LINES_H

/*
 * Line numbers of JavaScript that V8 interprets: from its table of the source positions of
 * bytecodes (src/codegen/source-position-table.cc), and a map of the source's lines, as the BPF
 * programs put the two together (struct runtime_v8_lines). Pure: the tables are untrusted.
 */
#include <stddef.h>
#include <stdint.h>

/* As python_line(), of a bytecode; @first where there is no table, or where it does not say. */
uint32_t v8_line(uint32_t version, const uint8_t *table, size_t length, uint32_t first,
		 uint32_t offset);

#endif
