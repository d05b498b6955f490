// SPDX-License-Identifier: MIT
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/google/pprof/profile"
)

// sums are the values of a profile by type, and of each function what its samples and those of all
// that it called have.
type sums struct {
	Total map[string]int64            `json:"total"`
	Flat  map[string]map[string]int64 `json:"flat"`
	Cum   map[string]map[string]int64 `json:"cum"`
}

// part is one profile as it was stored.
type part struct {
	Kind    string            `json:"kind"`
	Labels  map[string]string `json:"labels"`
	ID      string            `json:"id"` // of what was sent: sent twice, it is the same
	Time    int64             `json:"time_ns"`
	Nanos   int64             `json:"duration_ns"`
	Types   []string          `json:"types"`
	Bytes   int               `json:"bytes"`
	Samples int               `json:"samples"`
	sums
}

type store struct {
	mutex    sync.Mutex
	parts    []*part
	nowNanos int64 // 0: the clock's
}

func (s *store) now() time.Time {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.nowNanos != 0 {
		return time.Unix(0, s.nowNanos)
	}
	return time.Now()
}

func (s *store) add(p *part) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.parts = append(s.parts, p)
}

// unpack is for profiles that may be compressed.
func unpack(raw []byte, most int64) ([]byte, error) {
	if !bytes.HasPrefix(raw, []byte{0x1f, 0x8b}) {
		return raw, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(plain)) > most {
		err = errors.New("unpacks to too much")
	}
	return plain, err
}

// frames are a sample's functions, the leaf first, as servers show them: what has no function is not
// there.
func frames(s *profile.Sample) []string {
	var names []string
	for _, location := range s.Location {
		for _, line := range location.Line {
			if line.Function != nil {
				names = append(names, line.Function.Name)
			}
		}
	}
	return names
}

func sumsOf(p *profile.Profile) sums {
	all := sums{map[string]int64{}, map[string]map[string]int64{}, map[string]map[string]int64{}}
	for i, t := range p.SampleType {
		name := t.Type
		flat, cum := map[string]int64{}, map[string]int64{}
		for _, s := range p.Sample {
			all.Total[name] += s.Value[i]
			seen := map[string]bool{}
			for depth, function := range frames(s) {
				if depth == 0 && len(s.Location[0].Line) > 0 {
					flat[function] += s.Value[i]
				}
				if !seen[function] {
					seen[function] = true
					cum[function] += s.Value[i]
				}
			}
		}
		all.Flat[name], all.Cum[name] = flat, cum
	}
	return all
}

func partOf(kind string, labels map[string]string, raw []byte, p *profile.Profile) *part {
	text, _ := json.Marshal(labels)
	id := sha256.Sum256(append(text, raw...))
	period := &profile.ValueType{}
	if p.PeriodType != nil {
		period = p.PeriodType
	}
	types := []string{}
	for _, t := range p.SampleType {
		types = append(types, fmt.Sprintf("%s:%s:%s:%s:%s", labels["__name__"], t.Type, t.Unit,
			period.Type, period.Unit))
	}
	return &part{Kind: kind, Labels: labels, ID: hex.EncodeToString(id[:8]), Time: p.TimeNanos,
		Nanos: p.DurationNanos, Types: types, Bytes: len(raw), Samples: len(p.Sample), sums: sumsOf(p)}
}

func printSums(paths []string) error {
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		p, err := profile.ParseData(data)
		if err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(sumsOf(p)); err != nil {
			return err
		}
	}
	return nil
}
