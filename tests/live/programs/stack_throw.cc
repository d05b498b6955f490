// SPDX-License-Identifier: MIT
// Exceptions all the time: (libgcc, libstdc++, libc) < thrower < between < catcher < main.
#include <stdexcept>

#include <unistd.h>

static volatile unsigned long sink;

struct guard {
	~guard()
	{
		sink = sink + 1;
	}
};

extern "C" __attribute__((noipa)) void thrower(unsigned n)
{
	if (n)
		throw std::runtime_error("thrown");
}

extern "C" __attribute__((noipa)) void between(unsigned n)
{
	guard g;

	thrower(n);
	sink = sink + 1;
}

extern "C" __attribute__((noipa)) void catcher(unsigned n)
{
	try {
		between(n);
	} catch (const std::exception &e) {
		sink = sink + (unsigned char)e.what()[0];
	}
}

int main()
{
	if (write(1, "ready\n", 6) != 6)
		return 1;
#ifdef ROUNDS
	for (unsigned i = 0; i < ROUNDS; i++)
		catcher(1);
#else
	for (;;)
		catcher(1);
#endif
}
