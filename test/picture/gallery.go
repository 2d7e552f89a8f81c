package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/test/product"
)

// sheet is how a terminal looks.
type sheet struct {
	name       string
	cols, rows int
	on         paper
	env        []string // arguments of env
	theme      string
}

// sheets are the sizes in all colors, and the other looks in one size.
func sheets() []sheet {
	return []sheet{
		{name: "80x24", cols: 80, rows: 24, on: dark, theme: "dark"},
		{name: "120x40", cols: 120, rows: 40, on: dark, theme: "dark"},
		{name: "200x50", cols: 200, rows: 50, on: dark, theme: "dark"},
		{name: "light", cols: 120, rows: 40, on: light, theme: "light"},
		{name: "16-colors", cols: 120, rows: 40, on: dark, theme: "dark", env: []string{"-u", "TMUX", "-u", "COLORTERM", "TERM=xterm"}},
		{name: "no-color", cols: 120, rows: 40, on: dark, theme: "dark", env: []string{"NO_COLOR=1"}},
		{name: "ascii", cols: 80, rows: 24, on: dark, theme: "dark", env: []string{"NO_COLOR=1", "LC_ALL=C", "LANG=C"}},
	}
}

// exhibit is a view, and the keys that lead to it.
type exhibit struct {
	name, of string // of is the recording
	keys     []string
}

// standalone and cluster are recordings of the UI's tests: an agent on containerd, and one that is the node of a cluster. machine is a
// scripted session: a machine with two NUMA nodes and devices; claims is another one, with ResourceClaims in all states.
const (
	standalone = "standalone.klr"
	cluster    = "cluster.klr"
	machine    = "machine.jsonl"
	claims     = "claims.jsonl"
)

func exhibits() []exhibit {
	return []exhibit{
		{"overview", standalone, []string{"1"}},
		{"loop", standalone, []string{"2"}},
		{"pods", standalone, []string{"3"}},
		{"cri", standalone, []string{"4"}},
		{"gc", cluster, []string{"5"}},
		{"pod", standalone, []string{"3", "G", "Enter"}},
		{"failing-pod", standalone, []string{"3", "g", "Enter"}},
		{"why", standalone, []string{"3", "g", "w"}},
		{"compare", standalone, []string{"r", "t", "Enter"}},
		{"learn", standalone, []string{"4", "L"}},
		{"palette", standalone, []string{":"}},
		{"help", standalone, []string{"?"}},
		{"node", cluster, []string{"8"}},
		{"log", cluster, []string{"9"}},
		{"volumes", cluster, []string{"v"}},
		{"status", cluster, []string{"u"}},
		{"probes", cluster, []string{"p"}},
		{"sources", cluster, []string{"o"}},
		{"eviction", cluster, []string{"x"}},
		{"resources", machine, []string{"n", "m", "m", "m", "j", "j"}},
		{"claims", claims, []string{"n", "m", "j", "j", "j", "j", "j"}},
		{"starts", standalone, []string{"r"}},
	}
}

// hang takes a picture of each exhibit on each sheet, and a moving one.
func hang(ctx context.Context, bin string, to *album) error {
	dir, err := os.MkdirTemp("", "kubeloupe-gallery-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory: the system tidies up too
	if bin == "" {
		if bin = filepath.Join(dir, "kubeloupe"); product.Build(ctx, bin, "CGO_ENABLED=0") != nil {
			return errors.New("kubeloupe does not build: go build ./cmd/kubeloupe says why")
		}
	}
	if err := os.MkdirAll(to.dir, 0o755); err != nil {
		return err
	}
	for _, s := range sheets() {
		for _, recording := range []string{standalone, cluster, machine, claims} {
			if !to.wants(recording) {
				continue
			}
			if err := s.fill(ctx, bin, recording, to); err != nil {
				return fmt.Errorf("%s of %s: %w", s.name, recording, err)
			}
		}
	}
	if !strings.HasPrefix("film", to.only) {
		return nil
	}
	return film(ctx, bin, to)
}

// wants reports whether any picture of a recording is to be written.
func (a *album) wants(recording string) bool {
	return slices.ContainsFunc(exhibits(), func(e exhibit) bool { return e.of == recording && strings.HasPrefix(e.name, a.only) })
}

// recorded is the file of a recording.
func recorded(name string) string { return filepath.Join("tui", "testdata", "recordings", name) }

// fill takes the pictures from one recording.
func (s *sheet) fill(ctx context.Context, bin, recording string, to *album) (err error) {
	args := append(append([]string{}, s.env...), bin, "tui", "--theme", s.theme, "--from", recorded(recording))
	t, err := startSized(ctx, s.cols, s.rows, "env", args...)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, t.press(ctx, "q"), t.close())
	}()
	if _, err := t.await(ctx, "Overview", "help", "FILE"); err != nil {
		return err
	}
	if err := t.settle(ctx); err != nil { // the whole file is read
		return err
	}
	for _, e := range exhibits() {
		if e.of != recording {
			continue
		}
		for _, key := range e.keys {
			if err := t.press(ctx, key); err != nil {
				return err
			}
		}
		screen, err := t.capture(ctx)
		if err != nil {
			return err
		}
		if err := to.write(e.name+"-"+s.name, []byte(svg(screen, "The UI of kubeloupe: "+e.name+", "+s.name, s.cols, s.on))); err != nil {
			return err
		}
		for _, key := range []string{"Escape", "Escape", "Escape", "1"} { // a layer, a page on top, the learner's panel
			if err := t.press(ctx, key); err != nil {
				return err
			}
		}
	}
	return nil
}
