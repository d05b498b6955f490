// SPDX-License-Identifier: MIT

// Command servers stands in for Pyroscope and Parca, which cannot be installed from registries: it
// decodes requests with their vendors' generated code, keeps the rules that the real ones were seen
// to have, and adds up what it stores.
//
//	servers [-header "NAME: VALUE"] [-rate BYTES]
//	servers sums FILE...
//
// Prints `listening HOST:PORT`. Beside the paths of the two there are, for tests:
//
//	GET  /test/stored  what is stored: the parts, in order, as JSON
//	POST /test/forget
//	POST /test/now     Unix time in ns, of ages and rates; "": the clock's
//
// `sums` prints what the parts of a stored window should add up to, by google/pprof's own reader.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
)

// authorized answers 401 where a header is asked for that a request does not have.
func authorized(header string, next http.Handler) http.Handler {
	name, value, _ := strings.Cut(header, ":")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name != "" && r.Header.Get(name) != strings.TrimSpace(value) {
			http.Error(w, "no org id", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *store) controls(mux *http.ServeMux) {
	mux.HandleFunc("GET /test/stored", func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		json.NewEncoder(w).Encode(s.parts)
	})
	mux.HandleFunc("POST /test/forget", func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.parts = []*part{}
	})
	mux.HandleFunc("POST /test/now", func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		now, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.nowNanos = now
	})
}

func serve() error {
	header := flag.String("header", "", "that requests need")
	rate := flag.Int("rate", 0, "that Pyroscope takes a second; 0: any")
	flag.Parse()
	s := &store{parts: []*part{}}
	pushes := http.NewServeMux()
	pushes.Handle(pushv1connect.NewPusherServiceHandler(&pyroscope{store: s, rate: *rate}))
	pushes.Handle("POST /api/profiles/writeraw", &parca{s})
	mux := http.NewServeMux()
	s.controls(mux)
	mux.Handle("/", authorized(*header, pushes))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("listening", listener.Addr())
	return http.Serve(listener, mux)
}

func main() {
	log.SetOutput(io.Discard) // of connections that tests cut
	var err error
	if len(os.Args) > 1 && os.Args[1] == "sums" {
		err = printSums(os.Args[2:])
	} else {
		err = serve()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
		os.Exit(1)
	}
}
