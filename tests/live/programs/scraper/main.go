// SPDX-License-Identifier: MIT

// scraper alloy|parca URL ROUNDS INTERVAL SECRETS FOLDER PREFIX...: asks for profiles as the scraper
// of that name does, through the HTTP client that both have, and accepts what it accepts.
//
// It is a stand-in, not one of them: all targets are asked at the same time, and there is no store
// behind it. What it prints is a line of JSON for each answer; a profile is a file in FOLDER. SECRETS
// is the HTTP client's configuration, as both have it in theirs.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/profile"
	"github.com/prometheus/common/config"
)

// style is how the two differ.
type style struct {
	agent      string
	rest       time.Duration // of the interval, in which nothing is sampled
	more       time.Duration // than the seconds that are asked for
	waitsFirst bool          // for the interval
	accepts    func(answer *http.Response, body []byte) error
}

var styles = map[string]style{
	"alloy": {"Alloy/stand-in", time.Second, 10 * time.Second, true, alloyAccepts},
	"parca": {"conprof/stand-in", 0, 3 * time.Second, false, parcaAccepts},
}

func alloyAccepts(answer *http.Response, body []byte) error {
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("status %d: %s", answer.StatusCode, bytes.TrimSpace(body))
	}
	if kind := answer.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/octet-stream") {
		return fmt.Errorf("content type %q", kind)
	}
	if !bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		return fmt.Errorf("no gzip: %.16x", body)
	}
	return nil
}

func parcaAccepts(answer *http.Response, body []byte) error {
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %s", answer.StatusCode, bytes.TrimSpace(body))
	}
	if len(body) == 0 {
		return fmt.Errorf("empty")
	}
	return nil
}

type target struct {
	style
	client  *http.Client
	url     string
	timeout time.Duration
	name    string // of its files
}

// result is what is printed of an answer.
type result struct {
	URL      string        `json:"url"`
	Round    int           `json:"round"`
	Seconds  float64       `json:"seconds"`
	Protocol string        `json:"protocol"`
	Header   http.Header   `json:"header"`
	File     string        `json:"file"`
	Samples  int64         `json:"samples"`
	Start    int64         `json:"start_ns"`
	Duration time.Duration `json:"duration_ns"`
	Fault    string        `json:"fault"`
}

func (t *target) ask(r *result) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), t.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", t.agent)
	answer, err := t.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	r.Protocol, r.Header = answer.Proto, answer.Header
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	return body, t.accepts(answer, body)
}

func (t *target) scrape(round int, folder string) *result {
	r := &result{URL: t.url, Round: round}
	begun := time.Now()
	body, err := t.ask(r)
	r.Seconds = time.Since(begun).Seconds()
	var p *profile.Profile
	if err == nil {
		p, err = profile.ParseData(body)
	}
	if err == nil {
		err = p.CheckValid()
	}
	if err == nil {
		r.File = filepath.Join(folder, fmt.Sprintf("%s-%d.pb.gz", t.name, round))
		err = os.WriteFile(r.File, body, 0o644)
	}
	if err != nil {
		r.Fault = err.Error()
		return r
	}
	r.Start, r.Duration = p.TimeNanos, time.Duration(p.DurationNanos)
	for _, s := range p.Sample {
		r.Samples += s.Value[0]
	}
	return r
}

// targetURL joins the prefix and the path as the two do: one on the escaped path, one on the plain one.
func targetURL(name string, base *url.URL, prefix string, seconds int) string {
	u := *base
	query := u.Query()
	query.Add("seconds", strconv.Itoa(seconds))
	u.RawQuery = query.Encode()
	if name == "alloy" {
		return u.JoinPath(prefix, "/debug/pprof/profile").String()
	}
	u.Path = path.Join(prefix, "/debug/pprof/profile")
	return u.String()
}

func (t *target) run(rounds int, interval time.Duration, folder string, results chan<- *result) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for round := range rounds {
		if round > 0 || t.waitsFirst {
			<-ticker.C
		}
		results <- t.scrape(round, folder)
	}
}

func run(arguments []string) error {
	name, folder := arguments[0], arguments[5]
	base, err := url.Parse(arguments[1])
	if err != nil {
		return err
	}
	rounds, err := strconv.Atoi(arguments[2])
	if err != nil {
		return err
	}
	interval, err := time.ParseDuration(arguments[3])
	if err != nil {
		return err
	}
	secrets, _, err := config.LoadHTTPConfigFile(arguments[4])
	if err != nil {
		return err
	}
	client, err := config.NewClientFromConfig(*secrets, name)
	if err != nil {
		return err
	}
	results := make(chan *result)
	var all sync.WaitGroup
	for i, prefix := range arguments[6:] {
		s := styles[name]
		length := interval - s.rest
		t := &target{style: s, client: client, timeout: length + s.more,
			url:  targetURL(name, base, prefix, int(length/time.Second)),
			name: fmt.Sprintf("%s-%d", name, i)}
		all.Go(func() { t.run(rounds, interval, folder, results) })
	}
	go func() {
		all.Wait()
		close(results)
	}()
	print := json.NewEncoder(os.Stdout)
	for r := range results {
		if err := print.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if len(os.Args) < 8 || styles[os.Args[1]].agent == "" {
		fmt.Fprintln(os.Stderr, "usage: scraper alloy|parca URL ROUNDS INTERVAL SECRETS FOLDER PREFIX...")
		os.Exit(2)
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
