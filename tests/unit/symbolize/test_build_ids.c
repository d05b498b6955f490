/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/symbolize/build_ids.h"

/* This program's build id, as it lies in memory. */
static int read_own(struct dl_phdr_info *info, size_t size, void *userdata)
{
	char *ret = userdata;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const uint8_t *at = (const uint8_t *)(info->dlpi_addr + segment->p_vaddr);
		const uint8_t *end = at + segment->p_memsz;

		while (segment->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) < end) {
			ElfW(Nhdr) note;
			const uint8_t *name = at + sizeof(note);
			const uint8_t *id;

			memcpy(&note, at, sizeof(note));
			id = name + ((note.n_namesz + 3) & ~3u);
			at = id + ((note.n_descsz + 3) & ~3u);
			if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
			    memcmp(name, "GNU", 4) != 0)
				continue;
			for (unsigned j = 0; j < note.n_descsz; j++)
				snprintf(ret + 2 * (size_t)j, 3, "%02x", id[j]);
		}
	}
	return 1;
}

struct world {
	int root_fd;
	struct build_ids *ids;
	char path[4096];
	struct stat st;
	char found[ELF_BUILD_ID_TEXT];
};

static void begin(struct world *w, const char *worker_path)
{
	ssize_t n = readlink("/proc/self/exe", w->path, sizeof(w->path) - 1);

	assert_true(n > 0);
	w->path[n] = '\0';
	assert_int_equal(stat(w->path, &w->st), 0);
	w->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(build_ids_new(&w->ids, w->root_fd, worker_path), 0);
	memset(w->found, 'x', sizeof(w->found));
}

static void end(struct world *w)
{
	build_ids_free(w->ids);
	close(w->root_fd);
}

static const char *find(struct world *w, const char *path, uint64_t device, uint64_t inode)
{
	assert_int_equal(build_ids_find(w->ids, path, device, inode, w->found), 0);
	return w->found;
}

static uint64_t device_of(const struct world *w)
{
	return (uint64_t)major(w->st.st_dev) << 32 | minor(w->st.st_dev);
}

static void test_of_the_file(void **state)
{
	char own[ELF_BUILD_ID_TEXT] = "";
	struct world w = {0};

	(void)state;
	dl_iterate_phdr(read_own, own);
	/* Linkers differ in how long they make it. */
	assert_true(strlen(own) >= 16);
	begin(&w, NULL);
	assert_string_equal(find(&w, w.path, device_of(&w), w.st.st_ino), own);
	/* Another file is there by now. */
	assert_string_equal(find(&w, w.path, device_of(&w), w.st.st_ino + 1), "");
	assert_string_equal(find(&w, w.path, device_of(&w) + 1, w.st.st_ino), "");
	assert_string_equal(find(&w, "/no/such/file", device_of(&w), w.st.st_ino), "");
	assert_string_equal(find(&w, "[vdso]", 0, 0), "");
	assert_string_equal(find(&w, w.path, device_of(&w), w.st.st_ino), own);
	end(&w);
}

static void test_no_program(void **state)
{
	struct stat st;
	struct world w = {0};

	(void)state;
	begin(&w, NULL);
	assert_int_equal(stat("/etc/passwd", &st), 0);
	w.st = st;
	assert_string_equal(find(&w, "/etc/passwd", device_of(&w), st.st_ino), "");
	end(&w);
	begin(&w, "/no/such/worker");
	assert_string_equal(find(&w, w.path, device_of(&w), w.st.st_ino), "");
	assert_string_equal(find(&w, w.path, device_of(&w), w.st.st_ino), "");
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_the_file),
		cmocka_unit_test(test_no_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
