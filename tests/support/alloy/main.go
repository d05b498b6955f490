// SPDX-License-Identifier: MIT

// alloy-scrape CONFIG FOLDER: runs the pyroscope.scrape components of a configuration of Grafana Alloy,
// by Alloy's own code, and keeps what they forward.
//
// Each pyroscope.write of the configuration is a receiver of ours: a profile becomes a file in FOLDER,
// and a line of JSON with its labels. Alloy's log is on stderr. It ends when its input does, after a
// line with the state of each target.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/grafana/alloy/internal/component"
	promscrape "github.com/grafana/alloy/internal/component/prometheus/scrape"
	"github.com/grafana/alloy/internal/component/pyroscope"
	"github.com/grafana/alloy/internal/component/pyroscope/scrape"
	"github.com/grafana/alloy/internal/runtime/logging"
	"github.com/grafana/alloy/internal/service/cluster"
	httpservice "github.com/grafana/alloy/internal/service/http"
	"github.com/grafana/alloy/syntax/ast"
	"github.com/grafana/alloy/syntax/parser"
	"github.com/grafana/alloy/syntax/vm"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
)

// keeper takes profiles in the place of pyroscope.write.
type keeper struct {
	folder string
	mutex  sync.Mutex
	n      int
}

// exports are a pyroscope.write's, as expressions of a configuration see them.
type exports struct {
	Receiver pyroscope.Appendable `alloy:"receiver,attr"`
}

func (k *keeper) Appender() pyroscope.Appender { return k }

func (k *keeper) AppendIngest(context.Context, *pyroscope.IncomingProfile) error {
	return fmt.Errorf("a profile that was pushed")
}

func (k *keeper) Append(_ context.Context, of labels.Labels, samples []*pyroscope.RawSample) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	for _, s := range samples {
		k.n++
		path := filepath.Join(k.folder, fmt.Sprintf("alloy-%d.pb.gz", k.n))
		if err := os.WriteFile(path, s.RawProfile, 0o644); err != nil {
			return err
		}
		if err := tell(map[string]any{"file": path, "labels": of.Map()}); err != nil {
			return err
		}
	}
	return nil
}

func tell(what any) error {
	return json.NewEncoder(os.Stdout).Encode(what)
}

// services that components ask the rest of Alloy for.
func services(name string) (any, error) {
	switch name {
	case cluster.ServiceName:
		return cluster.Mock(), nil
	case httpservice.ServiceName:
		return httpservice.Data{DialFunc: (&net.Dialer{}).DialContext}, nil
	}
	return nil, fmt.Errorf("there is no service %q", name)
}

// blocks of that name, by label.
func blocks(file *ast.File, name string) map[string]*ast.BlockStmt {
	found := map[string]*ast.BlockStmt{}
	for _, statement := range file.Body {
		if block, ok := statement.(*ast.BlockStmt); ok && strings.Join(block.Name, ".") == name {
			found[block.Label] = block
		}
	}
	return found
}

// components of a configuration, by id.
func components(path string, k *keeper) (map[string]*scrape.Component, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(path, text)
	if err != nil {
		return nil, err
	}
	writes := map[string]any{}
	for label := range blocks(file, "pyroscope.write") {
		writes[label] = exports{k}
	}
	scope := vm.NewScope(map[string]any{"pyroscope": map[string]any{"write": writes}})
	log, err := logging.New(os.Stderr, logging.Options{Level: logging.LevelInfo,
		Format: logging.FormatLogfmt})
	if err != nil {
		return nil, err
	}
	found := map[string]*scrape.Component{}
	for label, block := range blocks(file, "pyroscope.scrape") {
		var arguments scrape.Arguments
		if err := vm.New(block.Body).Evaluate(scope, &arguments); err != nil {
			return nil, err
		}
		id := "pyroscope.scrape." + label
		if found[id], err = scrape.New(component.Options{ID: id, Logger: log,
			Registerer: prometheus.NewRegistry(), GetServiceData: services,
			OnStateChange: func(component.Exports) {}}, arguments); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func run(config, folder string) error {
	found, err := components(config, &keeper{folder: folder})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, c := range found {
		all.Go(func() {
			if err := c.Run(ctx); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		})
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	for id, c := range found {
		for _, t := range c.DebugInfo().(promscrape.ScraperStatus).TargetStatus {
			if told := tell(map[string]any{"component": id, "url": t.URL, "health": t.Health,
				"fault": t.LastError, "labels": t.Labels}); told != nil {
				err = told
			}
		}
	}
	cancel()
	all.Wait()
	return err
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: alloy-scrape CONFIG FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
