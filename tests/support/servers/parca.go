// SPDX-License-Identifier: MIT
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/pprof/profile"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
)

const requestBytes = 64 << 20

// writeRaw is parca.profilestore.v1alpha1.WriteRawRequest in JSON, as the vendor's own client has it
// (see node/ for that one).
type writeRaw struct {
	Normalized bool `json:"normalized"`
	Series     []struct {
		Labels struct {
			Labels []struct {
				Name  string `json:"name"`
				Value string `json:"value"`
			} `json:"labels"`
		} `json:"labels"`
		Samples []struct {
			RawProfile []byte `json:"raw_profile"`
		} `json:"samples"`
	} `json:"series"`
}

type parca struct {
	store *store
}

// checkNumbers: a thing's id is taken for its place in its table.
func checkNumbers(p *googlev1.Profile) error {
	if len(p.StringTable) == 0 || p.StringTable[0] != "" {
		return errors.New("first item in string table is expected to be empty string")
	}
	for i, m := range p.Mapping {
		if m.Id != uint64(i+1) {
			return fmt.Errorf("mapping id is not sequential")
		}
	}
	for i, f := range p.Function {
		if f.Id != uint64(i+1) {
			return fmt.Errorf("function id is not sequential")
		}
	}
	for i, l := range p.Location {
		if l.Id != uint64(i+1) {
			return fmt.Errorf("location id is not sequential")
		}
	}
	for _, s := range p.Sample {
		if len(s.Value) != len(p.SampleType) {
			return errors.New("sample has wrong number of values")
		}
	}
	return nil
}

// read returns the status to answer with.
func (s *parca) read(labels map[string]string, raw []byte) (*part, int, error) {
	var message googlev1.Profile
	plain, err := unpack(raw, 64<<20)
	if err != nil {
		return nil, http.StatusInternalServerError, err
	}
	if err := message.UnmarshalVT(plain); err != nil {
		return nil, http.StatusBadRequest, err
	}
	if err := checkNumbers(&message); err != nil {
		return nil, http.StatusBadRequest, err
	}
	p, err := profile.ParseData(plain)
	if err != nil {
		return nil, http.StatusBadRequest, err
	}
	return partOf("parca", labels, raw, p), http.StatusOK, nil
}

func (s *parca) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	var request writeRaw
	var parts []*part
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, requestBytes*4/3+1)); err != nil {
		http.Error(w, "message larger than max", http.StatusTooManyRequests)
		return
	}
	decoder := json.NewDecoder(&body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil || r.Header.Get("Content-Encoding") != "" ||
		r.Header.Get("Content-Type") != "application/json" {
		http.Error(w, fmt.Sprint("not JSON: ", err), http.StatusBadRequest)
		return
	}
	for _, series := range request.Series {
		labels := map[string]string{}
		for _, l := range series.Labels.Labels {
			labels[l.Name] = l.Value
		}
		if labels["__name__"] == "" || len(labels) != len(series.Labels.Labels) {
			http.Error(w, "labels", http.StatusBadRequest)
			return
		}
		for _, sample := range series.Samples {
			p, status, err := s.read(labels, sample.RawProfile)
			if err != nil {
				http.Error(w, err.Error(), status)
				return
			}
			parts = append(parts, p)
		}
	}
	for _, p := range parts {
		s.store.add(p)
	}
	w.Write([]byte("{}"))
}
