/* SPDX-License-Identifier: MIT */

/*
 * Any bytes as an image with DWARF, and as dwz's alternate file: two bytes say how many of the last
 * bytes are the alternate.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/worker/dwarf/dwarf_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int make_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	return fd;
}

/* libdw tries to open what files name. Here as in the worker it cannot. */
static void allow_files(rlim_t n)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		abort();
	limit.rlim_cur = n < limit.rlim_max ? n : limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		abort();
}

static void look_up(struct dwarf_lines *d, uint64_t address)
{
	struct frame_name frames[4];
	uint64_t start = 0, length = 0;
	size_t n = dwarf_lines_find(d, address, frames, 4, &start, &length);

	if (n > 4 || (n > 0 && (address < start || address - start >= length)))
		abort();
	for (size_t i = 0; i < n; i++) {
		/* Read all of the texts: they must be there. */
		if (strlen(frames[i].system_name) > 1 << 20)
			abort();
		if (frames[i].file && !frames[i].file[strlen(frames[i].file) / 2] &&
		    frames[i].file[0])
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dwarf_lines *d = NULL;
	size_t n_alternate;
	int image, alternate;

	if (size < 2)
		return 0;
	n_alternate = (size_t)data[0] | (size_t)data[1] << 8;
	data += 2;
	size -= 2;
	if (n_alternate > size)
		n_alternate = size;
	image = make_file(data, size - n_alternate);
	alternate = n_alternate ? make_file(data + size - n_alternate, n_alternate) : -1;
	allow_files(0);
	if (dwarf_lines_new(&d, &(struct dwarf_lines_files){image, -1, alternate, 1u << 30}) ==
	    WORKER_DONE)
		for (uint64_t i = 0; i < 0x140; i++) {
			look_up(d, 0x400 + i); /* hostile_elf_dwarf.h */
			look_up(d, 0x1000 + 8 * i);
			look_up(d, 0x400000 + i);
		}
	dwarf_lines_free(d);
	allow_files(1024);
	close(image);
	if (alternate >= 0)
		close(alternate);
	return 0;
}
