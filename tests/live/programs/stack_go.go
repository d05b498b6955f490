// SPDX-License-Identifier: MIT

// main.leaf < main.middle < main.outer < main.main < runtime.main < runtime.goexit.
package main

import "os"

var sink, zero uint64

//go:noinline
func add(n uint64) uint64 {
	return n + zero
}

// It calls, so that it has a frame.
//
//go:noinline
func leaf() {
	for i := uint64(0); i < 50000; i++ {
		sink += i
	}
	sink += add(1)
}

//go:noinline
func middle() {
	leaf()
	sink++
}

//go:noinline
func outer() {
	middle()
	sink++
}

func main() {
	os.Stdout.WriteString("ready\n")
	for {
		outer()
	}
}
