/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_SOURCE_BPF_RECORD_H
#define PROFD_INGEST_SOURCE_BPF_RECORD_H

/* The records of the BPF programs (bpf/abi.h). Pure. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/ingest/sample.h"

/*
 * Decodes one record. The sample's frames go to @frames, room for SAMPLE_FRAMES_MAX; its rest, if
 * it has one, to @rest, whose stack points into @data. False: it is not a record; nothing is
 * written but @frames.
 */
bool source_bpf_decode(const uint8_t *data, size_t length, uint64_t *frames,
		       struct sample_rest *rest, struct sample *ret);

#endif
