// SPDX-License-Identifier: MIT
package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"connectrpc.com/connect"
	"github.com/google/pprof/profile"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
)

const (
	rateBytes    = 2 << 20 // over that, always 429
	profileBytes = 4 << 20
	samplesMax   = 16000
	labelsMax    = 30
	valueMax     = 2048
	oldest       = time.Hour
	newest       = 10 * time.Minute
)

var labelName = regexp.MustCompile("^[a-zA-Z_][a-zA-Z0-9_]*$")

// pyroscope has the limits that Pyroscope has unless an option says otherwise.
type pyroscope struct {
	store *store
	rate  int // bytes a second, unpacked; 0: any
	mutex sync.Mutex
	taken float64 // of rateBytes, which are there again at that rate
	at    time.Time
}

// takeRate says whether there is room for size bytes now, and takes it.
func (s *pyroscope) takeRate(size int) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := s.store.now()
	s.taken = max(0, s.taken-now.Sub(s.at).Seconds()*float64(s.rate))
	s.at = now
	if size > rateBytes || (s.rate > 0 && s.taken+float64(size) > rateBytes) {
		return false
	}
	s.taken += float64(size)
	return true
}

func invalid(format string, arguments ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, arguments...))
}

func checkLabels(all []*typesv1.LabelPair) (map[string]string, error) {
	labels := map[string]string{}
	if len(all) > labelsMax {
		return nil, invalid("profile series has %d label names; limit %d", len(all), labelsMax)
	}
	for _, l := range all {
		if _, twice := labels[l.Name]; twice {
			return nil, invalid("profile has duplicate label name: '%s'", l.Name)
		}
		if !labelName.MatchString(l.Name) || !utf8.ValidString(l.Value) {
			return nil, invalid("invalid label '%s'", l.Name)
		}
		if len(l.Value) > valueMax {
			return nil, invalid("profile has label value too long: '%s'", l.Value)
		}
		labels[l.Name] = l.Value
	}
	if labels["__name__"] == "" {
		return nil, invalid("invalid metric name")
	}
	if labels["service_name"] == "" {
		labels["service_name"] = "unknown_service"
	}
	return labels, nil
}

func (s *pyroscope) checkTime(nanos int64) error {
	now := s.store.now()
	begin, end := now.Add(-oldest), now.Add(newest)
	at := time.Unix(0, nanos)
	if nanos == 0 || (at.After(begin) && at.Before(end)) {
		return nil
	}
	utc := func(t time.Time) string { return t.UTC().Truncate(time.Millisecond).String() }
	return invalid("profile with labels '{}' is outside of ingestion window (profile timestamp: %s, "+
		"the ingestion window starts at %s and ends at %s)", utc(at), utc(begin), utc(end))
}

func checkProfile(p *googlev1.Profile, size int) error {
	if size > profileBytes {
		return invalid("the profile exceeds the size limit (max_profile_size_byte, actual: %d)", size)
	}
	if len(p.Sample) > samplesMax {
		return invalid("the profile exceeds the samples count limit (actual: %d)", len(p.Sample))
	}
	for _, t := range p.SampleType {
		if strings.Contains(p.StringTable[t.Type], "-") {
			return invalid("sample type contains -")
		}
	}
	for _, text := range p.StringTable {
		if !utf8.ValidString(text) {
			return invalid("invalid utf8 string")
		}
	}
	return nil
}

// cut drops what Pyroscope drops: leaves of deep stacks, beginnings of long names.
func cut(p *profile.Profile) {
	for _, s := range p.Sample {
		if n := len(s.Location); n > 1000 {
			s.Location = s.Location[n-1000:]
		}
	}
	for _, f := range p.Function {
		if n := len(f.Name); n > 65535 {
			f.Name = f.Name[n-65535:]
		}
	}
}

// split makes series of the string labels of samples.
func split(labels map[string]string, p *profile.Profile) map[string]*profile.Profile {
	all := map[string]*profile.Profile{}
	for _, s := range p.Sample {
		pairs := []string{}
		for k, v := range s.Label {
			pairs = append(pairs, k+"="+v[0])
		}
		sort.Strings(pairs)
		key := strings.Join(pairs, ",")
		if all[key] == nil {
			copied := *p
			copied.Sample = nil
			all[key] = &copied
		}
		all[key].Sample = append(all[key].Sample, s)
	}
	return all
}

func (s *pyroscope) push(series *pushv1.RawProfileSeries, raw []byte) error {
	labels, err := checkLabels(series.Labels)
	if err != nil {
		return err
	}
	plain, err := unpack(raw, 64<<20)
	if err != nil {
		return connect.NewError(connect.CodeInternal, err)
	}
	if !s.takeRate(len(plain)) {
		return connect.NewError(connect.CodeResourceExhausted, errors.New("ingestion rate limit"))
	}
	var message googlev1.Profile
	if err := message.UnmarshalVT(plain); err != nil {
		return connect.NewError(connect.CodeInternal, err)
	}
	if err := checkProfile(&message, len(plain)); err != nil {
		return err
	}
	if err := s.checkTime(message.TimeNanos); err != nil {
		return err
	}
	p, err := profile.ParseData(plain)
	if err != nil {
		return connect.NewError(connect.CodeInternal, err)
	}
	cut(p)
	for key, of := range split(labels, p) {
		one := map[string]string{}
		for k, v := range labels {
			one[k] = v
		}
		for _, pair := range strings.Split(key, ",") {
			if k, v, ok := strings.Cut(pair, "="); ok {
				one[k] = v
			}
		}
		s.store.add(partOf("pyroscope", one, raw, of))
	}
	return nil
}

// Push stores the good series of a request, also if it answers that one is bad.
func (s *pyroscope) Push(_ context.Context, r *connect.Request[pushv1.PushRequest]) (
	*connect.Response[pushv1.PushResponse], error) {
	var failed error
	for _, series := range r.Msg.Series {
		for _, sample := range series.Samples {
			if err := s.push(series, sample.RawProfile); err != nil {
				failed = err
			}
		}
	}
	if failed != nil {
		return nil, failed
	}
	return connect.NewResponse(&pushv1.PushResponse{}), nil
}
