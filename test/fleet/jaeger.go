package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kubeloupe/kubeloupe/test/collector"
)

// maxAnswer is how long an answer of Jaeger may be, in bytes.
const maxAnswer = 16 << 20

// jaeger is a Jaeger to which the Collector sends spans on.
type jaeger struct {
	otlp, http string
	dir        string
	process    *process
}

// newJaeger starts Jaeger with the configuration of deploy/stack, at other addresses.
func newJaeger(ctx context.Context, f *fleet) (*jaeger, error) {
	text, err := os.ReadFile(filepath.Join(f.root, "deploy/stack/config/jaeger.yaml"))
	if err != nil {
		return nil, err
	}
	j := &jaeger{dir: filepath.Join(f.dir, "jaeger")}
	if err := os.Mkdir(j.dir, 0o755); err != nil {
		return nil, err
	}
	grpc := ""
	config := string(text)
	for port, to := range map[string]*string{"0.0.0.0:4317": &j.otlp, "0.0.0.0:16686": &j.http, "0.0.0.0:16685": &grpc} {
		if *to, err = collector.FreeAddress(ctx); err != nil {
			return nil, err
		}
		if strings.Count(config, port) != 1 {
			return nil, fmt.Errorf("the configuration of Jaeger has not one %s", port)
		}
		config = strings.Replace(config, port, *to, 1)
	}
	file := filepath.Join(j.dir, "jaeger.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	if j.process, err = spawn(filepath.Join(j.dir, "out"), nil, f.jaeger, "--config=file:"+file, "--set=service.telemetry.metrics.level=none"); err != nil {
		return nil, err
	}
	return j, until(ctx, "answer of Jaeger", func() (bool, error) {
		_, err := j.get(ctx, "/")
		return err == nil, ctx.Err()
	})
}

// get asks Jaeger's API.
func (j *jaeger) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+j.http+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(resp.Status)
	}
	return io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
}

// judge reads the first starts of each node back from Jaeger: each has the spans that the Collector's file has, and the program draws it.
func (j *jaeger) judge(ctx context.Context, f *fleet, got *received) error {
	starts, spans := 0, 0
	for _, t := range f.tallies {
		for _, pod := range t.pods[:min(len(t.pods), f.drawn, f.starts)] {
			if len(got.pods[pod]) != 1 {
				continue // it is named elsewhere
			}
			id := got.pods[pod][0]
			file, err := j.fetch(ctx, id, got.traces[id])
			if err != nil {
				return fmt.Errorf("the start of %s: %w", pod, err)
			}
			out, err := exec.CommandContext(ctx, f.bin, "trace", "--trace-id", id, "--from", file).CombinedOutput()
			if err != nil {
				return fmt.Errorf("kubeloupe trace --trace-id %s of Jaeger's JSON: %w: %s", id, err, out)
			}
			if err := isDrawn(pod, string(out)); err != nil {
				return fmt.Errorf("from Jaeger's JSON: %w", err)
			}
			starts, spans = starts+1, spans+len(got.traces[id].spans)
		}
	}
	if starts == 0 {
		return errors.New("no start in Jaeger")
	}
	f.sayf("%d starts, of %d spans, read back from Jaeger and drawn from its JSON\n", starts, spans)
	return nil
}

// fetch gets a trace from Jaeger's API, once it has the spans of a start, and returns the file that has it.
func (j *jaeger) fetch(ctx context.Context, id string, want *start) (file string, err error) {
	var text []byte
	missing := 0
	err = until(ctx, "trace "+id+" of Jaeger", func() (bool, error) {
		if text, err = j.get(ctx, "/api/traces/"+id); err != nil {
			return false, ctx.Err() // the Collector may not have sent it on yet
		}
		ids, err := spansIn(text)
		missing = 0
		for i := range want.spans {
			if !ids[want.spans[i].ID] {
				missing++
			}
		}
		return missing == 0, err
	})
	if err != nil {
		return "", fmt.Errorf("%w: %d of %d spans are missing: %s", err, missing, len(want.spans), text[:min(len(text), 500)])
	}
	file = filepath.Join(j.dir, id+".json")
	return file, os.WriteFile(file, text, 0o600)
}

// spansIn returns the ids of the spans in an answer of Jaeger.
func spansIn(text []byte) (map[string]bool, error) {
	var answer struct {
		Data []struct {
			Spans []struct {
				ID string `json:"spanID"`
			}
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for _, t := range answer.Data {
		for _, s := range t.Spans {
			ids[s.ID] = true
		}
	}
	return ids, nil
}
