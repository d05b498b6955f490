/* SPDX-License-Identifier: MIT */
#include "daemon/output/snapshot.h"

#include <stdlib.h>

void snapshot_process_deinit(struct snapshot_process *p)
{
#define FREE_TEXT(text) free(p->text);
	SNAPSHOT_TEXTS(FREE_TEXT)
	image_unref(p->program);
	mappings_unref(p->mappings);
	jit_file_unref(p->perf_map);
	jit_file_unref(p->jitdump);
}

void snapshot_free(struct snapshot *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_processes && s->processes; i++)
		snapshot_process_deinit(&s->processes[i]);
	free(s->processes);
	aggregate_free(s->aggregate);
	code_volumes_release(&s->codes);
	free(s->session_name);
	free(s->ledger);
	free(s->off_cpu_ledger);
	free(s);
}
