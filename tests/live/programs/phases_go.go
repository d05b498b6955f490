// SPDX-License-Identifier: MIT

// Phases that spend their time behind the runtime's changes of stack: allocation and stack growth on
// the system stack, the clock in the vdso, goroutine switches, system calls. Prints how much time of
// its own thread each phase took, nanoseconds, until it is told to end.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
	"unsafe"
)

type node struct {
	left, right *node
	values      [4]int
}

var sink *node

func thread() int64 {
	const clockThreadCPU = 3
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPU, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

//go:noinline
func tree(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{left: tree(depth - 1), right: tree(depth - 1)}
}

//go:noinline
func allocate() { sink = tree(13) }

//go:noinline
func clocks() {
	for i := 0; i < 20000; i++ {
		time.Now()
	}
}

//go:noinline
func deep(n int) int {
	var pad [32]int
	if n == 0 {
		return 1
	}
	pad[n%32] = n
	return deep(n-1) + pad[(n+1)%32]
}

//go:noinline
func grow() {
	done := make(chan int)
	for i := 0; i < 20; i++ {
		go func() { done <- deep(200) }()
		<-done
	}
}

//go:noinline
func files() {
	for i := 0; i < 200; i++ {
		f, err := os.Open("/dev/null")
		if err == nil {
			f.Close()
		}
	}
}

//go:noinline
func spin() {
	sum := 0
	for i := 0; i < 1000000; i++ {
		sum += i ^ sum<<1
	}
	if sum == 1 {
		fmt.Println()
	}
}

//go:noinline
func pause(turns uint32) (sum uint32) {
	for ; turns > 0; turns-- {
		sum += turns ^ sum<<1
	}
	return
}

func main() {
	runtime.LockOSThread()
	// Whoever allocates helps to collect, and waits for others meanwhile: not in a phase.
	debug.SetGCPercent(-1)
	phases := []func(){allocate, clocks, grow, files, spin}
	took := make([]int64, len(phases))
	stop := make(chan bool)
	go func() {
		os.Stdin.Read(make([]byte, 1))
		close(stop)
	}()
	random := uint32(1)
	for {
		// Rounds of equal lengths would keep step with a sampling period that is a multiple.
		random = random*1664525 + 1013904223
		pause(random >> 13)
		for i, phase := range phases {
			before := thread()
			phase()
			took[i] += thread() - before
		}
		runtime.GC()
		select {
		case <-stop:
			for _, ns := range took {
				fmt.Println(ns)
			}
			return
		default:
		}
	}
}
