/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_RUNTIME_PYTHON_LINES_H
#define PROFD_DAEMON_WORKER_RUNTIME_PYTHON_LINES_H

/*
 * Line numbers of Python code, from the tables in its code objects. There were three formats:
 * co_lnotab up to 3.9 (Objects/lnotab_notes.txt of those), co_linetable of 3.10 (the same file),
 * the location table since 3.11 (InternalDocs/code_objects.md). Pure: the tables are untrusted.
 */
#include <stddef.h>
#include <stdint.h>

/*
 * The line of the instruction at @offset (bytes from the first one) of code of Python @version,
 * which begins at line @first; @table may be cut short. 0: it has none, or that is not known. What
 * has not begun (RUNTIME_AT_UNKNOWN) is at @first, as in tracebacks.
 */
uint32_t python_line(uint32_t version, const uint8_t *table, size_t length, uint32_t first,
		     uint32_t offset);

#endif
