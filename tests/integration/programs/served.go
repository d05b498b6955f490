// SPDX-License-Identifier: MIT

// A program that serves its own profiles as Go's programs do: prints where, then is busy for a
// while.
package main

import (
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"time"
)

var sum uint64

//go:noinline
func hot(n uint64) {
	for i := uint64(0); i < n; i++ {
		sum += i
	}
}

//go:noinline
func caller() {
	hot(1 << 20)
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr())
	go http.Serve(listener, nil)
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); {
		caller()
	}
}
