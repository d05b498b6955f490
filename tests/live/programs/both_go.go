// SPDX-License-Identifier: MIT

// C under Go under C: main.main calls C, which calls Go, which calls C, twice over; and a thread of
// C's own that calls Go.
package main

/*
#include <pthread.h>
#include <stdint.h>

extern uint64_t fromC(uint64_t, int);

__attribute__((noinline)) static uint64_t c_spin(uint64_t n)
{
	volatile uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += i;
	return sum;
}

__attribute__((noinline)) static uint64_t c_down(uint64_t n, int depth)
{
	return fromC(n, depth) + 1;
}

static void *c_thread(void *unused)
{
	for (;;)
		fromC(100000, 0);
	return unused;
}

static void c_start(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, c_thread, NULL);
}
*/
import "C"

//export fromC
func fromC(n C.uint64_t, depth C.int) C.uint64_t {
	if depth > 0 {
		return C.c_down(n, depth-1)
	}
	return C.c_spin(n)
}

func main() {
	C.c_start()
	for {
		C.c_down(100000, 1)
	}
}
