/* SPDX-License-Identifier: MIT */
/* Functions as they are met at the top of waits: of the C library, of runtimes, of programs. */
#include "common/profile/code_owner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
	enum code_owner owner;
	struct code_names_known code; /* NULL: "" */
} rows[] = {
	{CODE_KERNEL, {.is_kernel = true, .name = "futex_do_wait"}},
	{CODE_LIBRARY, {.object = "libc.so.6", .name = "epoll_wait"}},
	{CODE_LIBRARY, {.object = "libc-2.31.so", .name = "anything"}},
	{CODE_LIBRARY, {.object = "ld-linux-x86-64.so.2", .name = "_dl_open"}},
	{CODE_LIBRARY, {.object = "libstdc++.so.6.0.30", .name = "wait"}},
	{CODE_LIBRARY, {.object = "[vdso]", .name = "clock_nanosleep"}},
	{CODE_INTERPRETER, {.object = "python3.11", .name = "take_gil"}},
	{CODE_INTERPRETER, {.object = "libpython3.11.so.1.0", .name = "__libc_name"}},
	{CODE_INTERPRETER, {.object = "node", .name = "uv__io_poll"}},
	/* Programs that have their libraries in them. */
	{CODE_LIBRARY, {.object = "server", .name = "runtime.futex"}},
	{CODE_LIBRARY, {.object = "server", .name = "internal/poll.(*FD).Read"}},
	{CODE_LIBRARY, {.object = "server", .name = "std::sys::pal::unix::futex::futex_wait"}},
	{CODE_LIBRARY, {.object = "server", .name = "<std::thread::JoinHandle<T>>::join"}},
	{CODE_LIBRARY, {.object = "server", .name = "void std::__invoke_impl<void, main::f>()"}},
	{CODE_LIBRARY, {.object = "server", .name = "__futex_abstimed_wait"}},
	{CODE_LIBRARY, {.object = "server", .name = "pread64", .call = "pread64"}},
	{CODE_LIBRARY, {.object = "server", .name = "syscall"}},
	/* The program's own, also where names are alike. */
	{CODE_OWN, {.object = "server", .name = "pread64", .call = "futex"}},
	{CODE_OWN, {.object = "server", .name = "my::std::queue::pop"}},
	{CODE_OWN, {.object = "server", .name = "voids"}},
	{CODE_OWN, {.object = "libpq.so.5", .name = "PQexec"}},
	{CODE_OWN, {.object = "server", .name = "", .call = "futex"}},
	/* Scripts, by their files. */
	{CODE_LIBRARY, {.is_script = true, .file = "/usr/lib/python3.11/threading.py"}},
	{CODE_LIBRARY, {.is_script = true, .file = "<frozen importlib._bootstrap>"}},
	{CODE_LIBRARY, {.is_script = true, .file = "node:internal/timers"}},
	{CODE_OWN, {.is_script = true, .file = "/usr/lib/python3/dist-packages/requests/api.py"}},
	{CODE_OWN, {.is_script = true, .file = "/srv/lib/python3.11/site-packages/app/pool.py"}},
	{CODE_OWN, {.is_script = true, .file = "/srv/app.py", .object = "python3.11"}},
	{CODE_OWN, {.is_script = true, .file = ""}},
};

static void test_owners(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct code_names_known code = rows[i].code;

		code.object = code.object ? code.object : "";
		code.file = code.file ? code.file : "";
		code.name = code.name ? code.name : "";
		code.call = code.call ? code.call : "";
		if (code_owner_of(&code) != rows[i].owner)
			fail_msg("row %zu: %d in place of %d", i, (int)code_owner_of(&code),
				 (int)rows[i].owner);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_owners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
