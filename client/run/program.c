/* SPDX-License-Identifier: MIT */
/*
 * Finds the file that the shell would execute, follows "#!" lines as the kernel does, and reads
 * the head of the ELF file: its machine, and its interpreter, whose name tells the C library.
 */
#include "client/run/program.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/text_print.h"

#define HEAD_BYTES      (64u << 10)
#define SCRIPTS_MAX     5 /* as execve(2) */
#define SEARCH_STANDARD "/bin:/usr/bin"
/* Above the root there is the root: more steps than any distribution's directory is deep. */
#define THROUGH_LIB "/$LIB/../../../../../../../.."

/* Our own head, from the linker: what it was made for, programs must be made for. */
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

/* The first word behind "#!". */
static enum program_kind classify_script(const uint8_t *head, size_t size,
					 char ret[PROGRAM_PATH_SIZE])
{
	size_t at = 2, n = 0;

	while (at < size && (head[at] == ' ' || head[at] == '\t'))
		at++;
	while (at < size && head[at] && !strchr(" \t\r\n", head[at]) && n < PROGRAM_PATH_SIZE - 1)
		ret[n++] = (char)head[at++];
	ret[n] = '\0';
	return PROGRAM_SCRIPT;
}

/* @loader: the path of the program interpreter, @length bytes. */
static enum program_kind classify_loader(const uint8_t *loader, size_t length)
{
	const uint8_t *slash = memrchr(loader, '/', length);
	const uint8_t *name = slash ? slash + 1 : loader;
	size_t n = length - (size_t)(name - loader);

	return n >= 7 && !memcmp(name, "ld-musl", 7) ? PROGRAM_OTHER_LIBC : PROGRAM_GOOD;
}

static enum program_kind classify_elf(const uint8_t *head, size_t size)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	if (size < sizeof(header))
		return PROGRAM_GOOD;
	memcpy(&header, head, sizeof(header));
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != __ehdr_start.e_machine ||
	    header.e_ident[EI_DATA] != __ehdr_start.e_ident[EI_DATA])
		return PROGRAM_OTHER_MACHINE;
	if (header.e_phentsize != sizeof(segment) || header.e_phoff > size ||
	    header.e_phnum > (size - header.e_phoff) / sizeof(segment))
		return PROGRAM_GOOD;
	for (size_t i = 0; i < header.e_phnum; i++) {
		memcpy(&segment, head + header.e_phoff + i * sizeof(segment), sizeof(segment));
		if (segment.p_type != PT_INTERP)
			continue;
		if (segment.p_offset > size || segment.p_filesz > size - segment.p_offset)
			return PROGRAM_GOOD;
		return classify_loader(head + segment.p_offset, segment.p_filesz);
	}
	return PROGRAM_STATIC;
}

enum program_kind program_classify(const uint8_t *head, size_t size,
				   char ret_interpreter[PROGRAM_PATH_SIZE])
{
	if (size >= 2 && !memcmp(head, "#!", 2))
		return classify_script(head, size, ret_interpreter);
	if (size >= SELFMAG && !memcmp(head, ELFMAG, SELFMAG))
		return classify_elf(head, size);
	return PROGRAM_GOOD;
}

static bool is_privileged(int fd)
{
	struct stat st;

	if (fgetxattr(fd, "security.capability", NULL, 0) > 0 && geteuid() != 0)
		return true;
	if (fstat(fd, &st) < 0)
		return false;
	return (st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
	       (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getegid());
}

/* @path may be a script, whose interpreter is in @ret_interpreter then. */
static enum program_kind classify_file(const char *path, char ret_interpreter[PROGRAM_PATH_SIZE])
{
	cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	cleanup(freep) uint8_t *head = malloc(HEAD_BYTES);
	enum program_kind kind;
	ssize_t n;

	if (fd < 0 || !head)
		return PROGRAM_GOOD;
	n = read(fd, head, HEAD_BYTES);
	kind = n > 0 ? program_classify(head, (size_t)n, ret_interpreter) : PROGRAM_GOOD;
	if (kind == PROGRAM_GOOD && is_privileged(fd))
		return PROGRAM_PRIVILEGED;
	return kind;
}

/* Where @name lies. False: nowhere. */
static bool find_in_path(const char *name, const char *search, char ret[PROGRAM_PATH_SIZE])
{
	if (!search)
		search = SEARCH_STANDARD;
	if (strchr(name, '/'))
		return snprintf(ret, PROGRAM_PATH_SIZE, "%s", name) < PROGRAM_PATH_SIZE;
	for (;;) {
		size_t n = strcspn(search, ":");
		int length = snprintf(ret, PROGRAM_PATH_SIZE, "%.*s%s%s", (int)n, search,
				      n ? "/" : "", name);
		struct stat st;

		if (length < PROGRAM_PATH_SIZE && access(ret, X_OK) == 0 && stat(ret, &st) == 0 &&
		    S_ISREG(st.st_mode))
			return true;
		if (!search[n])
			return false;
		search += n + 1;
	}
}

enum program_kind program_find(const char *name, const char *search)
{
	char path[PROGRAM_PATH_SIZE], next[PROGRAM_PATH_SIZE];

	if (!find_in_path(name, search, path))
		return PROGRAM_GOOD;
	for (unsigned i = 0; i < SCRIPTS_MAX; i++) {
		enum program_kind kind = classify_file(path, next);

		if (kind != PROGRAM_SCRIPT)
			return kind;
		memcpy(path, next, sizeof(path));
	}
	return PROGRAM_GOOD;
}

const char *program_reason(enum program_kind kind)
{
	static const char *const reasons[] = {
		[PROGRAM_STATIC] = "is linked statically",
		[PROGRAM_OTHER_LIBC] = "runs on another C library than glibc",
		[PROGRAM_OTHER_MACHINE] = "is made for another machine than profctl",
		[PROGRAM_PRIVILEGED] = "runs with other privileges than yours",
	};

	return kind < ARRAY_SIZE(reasons) && reasons[kind]
		       ? reasons[kind]
		       : "does not load what LD_PRELOAD names, or cannot reach profctl's socket";
}

/* --- how the library is named ----------------------------------------------------------------- */

/* Whether our own loader finds by such a path what it has: the C library. */
static bool is_expanded(void)
{
	cleanup(freep) char *path = NULL;
	Dl_info libc;
	void *found;

	if (!dladdr((void *)(uintptr_t)gnu_get_libc_version, &libc) || libc.dli_fname[0] != '/' ||
	    text_print(&path, THROUGH_LIB "%s", libc.dli_fname))
		return false;
	found = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	if (found)
		dlclose(found);
	return found;
}

int preload_path(const char *library, char **ret)
{
	bool is_good = library[0] == '/' && is_expanded();

	if (text_print(ret, "%s%s", is_good ? THROUGH_LIB : "", library))
		return -ENOMEM;
	return is_good ? PRELOAD_E_OK : PRELOAD_E_PLAIN;
}
