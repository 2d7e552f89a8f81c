package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// An event is a line of `go test -json`: see `go doc test2json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	// ImportPath is the package of build output.
	ImportPath string
}

// A summary prints the events it reads.
type summary struct {
	out                     io.Writer
	err                     error // of out
	passed, failed, skipped int
	packages                map[string]*result
	skips                   []string
}

// A result is that of a package so far.
type result struct {
	// running holds the output of tests that have not ended, in order.
	running []*test
	failed  bool
}

type test struct {
	name   string
	output strings.Builder
}

func newSummary(out io.Writer) *summary {
	return &summary{out: out, packages: map[string]*result{}}
}

func (s *summary) print(format string, args ...any) {
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.out, format, args...)
	}
}

// read prints events up to the end of the stream. Lines that are not events are
// printed as they are.
func (s *summary) read(r io.Reader) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				s.event(e)
			} else {
				s.print("%s", line)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the events of go test: %w", err)
		}
	}
}

func (s *summary) event(e event) {
	if e.Action == "build-output" {
		s.print("%s", e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	p := s.packages[e.Package]
	if p == nil {
		p = &result{}
		s.packages[e.Package] = p
	}
	if e.Test == "" {
		s.packageEvent(p, e)
		return
	}
	switch e.Action {
	case "output":
		p.test(e.Test).output.WriteString(e.Output)
	case "pass":
		s.passed++
		p.take(e.Test)
	case "skip":
		s.skipped++
		s.skips = append(s.skips, fmt.Sprintf("%s %s%s", e.Package, e.Test, reason(p.take(e.Test))))
	case "fail":
		s.failed++
		p.failed = true
		s.print("%s", p.take(e.Test))
	}
}

func (s *summary) packageEvent(p *result, e event) {
	switch e.Action {
	case "output":
		if e.Output != "PASS\n" {
			s.print("%s", e.Output)
		}
	case "fail":
		for _, t := range p.running { // it died with these
			s.print("%s", t.output.String())
		}
		if !p.failed {
			s.failed++
		}
		fallthrough
	case "pass", "skip":
		delete(s.packages, e.Package)
	}
}

// test returns a running test.
func (p *result) test(name string) *test {
	for _, t := range p.running {
		if t.name == name {
			return t
		}
	}
	t := &test{name: name}
	p.running = append(p.running, t)
	return t
}

// take ends a running test and returns its output.
func (p *result) take(name string) string {
	for i, t := range p.running {
		if t.name == name {
			p.running = append(p.running[:i], p.running[i+1:]...)
			return t.output.String()
		}
	}
	return ""
}

// reason finds why a test was skipped in its output, where it follows a
// position: "    file_test.go:12: why".
func reason(output string) string {
	for line := range strings.Lines(output) {
		if _, why, ok := strings.Cut(line, "_test.go:"); ok {
			if _, why, ok := strings.Cut(why, ": "); ok {
				return ": " + strings.TrimSpace(why)
			}
		}
	}
	return ""
}

// close prints what was skipped, and the numbers.
func (s *summary) close() error {
	if len(s.skips) > 0 {
		s.print("\nskipped:\n")
	}
	for _, skip := range s.skips {
		s.print("  %s\n", skip)
	}
	s.print("\n%d passed, %d failed", s.passed, s.failed)
	if s.skipped > 0 {
		s.print(", %d skipped", s.skipped)
	}
	s.print("\n")
	return s.err
}
