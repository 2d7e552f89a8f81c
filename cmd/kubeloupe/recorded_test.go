package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/report"
	"github.com/kubeloupe/kubeloupe/inspect/session"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestRecorded runs the commands that look at a session on real recordings, which
// test/recordings made, and compares all that they print. What it reads was made by
// the version of its day: that it opens is a test, too.
func TestRecorded(t *testing.T) {
	t.Setenv("LC_ALL", "C.UTF-8")
	zone := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = zone })
	for _, name := range []string{"standalone", "cluster", "sim"} {
		from := filepath.Join("..", "..", "tui", "testdata", "recordings", name+".klr")
		pods := podsIn(t, from)
		for what, commands := range map[string][]string{
			"trace":   append([]string{"trace --all", "trace --all --by sandbox --group namespace", "trace --diff " + pods[0] + " " + pods[1]}, each("trace ", pods)...),
			"why":     append([]string{"why node", "why --all", "why --all --fail-on start>5s --fail-on KL05 --fail-on unexplained>2%"}, each("why ", pods)...),
			"inspect": append(subjects(), each("inspect pod ", pods)...),
			"events":  {"events", "events --kind pod.milestone -o wide", "events --kind gc --kind decision -o wide"},
		} {
			t.Run(name+"-"+what, func(t *testing.T) {
				var all bytes.Buffer
				for _, c := range commands {
					said(t, &all, c, from)
				}
				golden(t, name+"-"+what, all.Bytes())
			})
		}
	}
}

// podsIn returns the pods of a recording, as arguments.
func podsIn(t *testing.T, from string) []string {
	t.Helper()
	s := session.New(session.Options{})
	o := observed{from: from}
	if _, err := o.fold(t.Context(), nil, s); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range s.Runs() {
		names = append(names, l.Pod.String())
	}
	return names
}

func each(command string, pods []string) []string {
	var all []string
	for _, p := range pods {
		all = append(all, command+p)
	}
	return all
}

// subjects are the commands for all that can be inspected in a recording but single pods.
func subjects() []string {
	var all []string
	for _, s := range report.Subjects() {
		if !s.Live && s.Name != "pod" {
			all = append(all, "inspect "+s.Name)
		}
	}
	return all
}

// said appends a command line and what it prints.
func said(t *testing.T, all *bytes.Buffer, line, from string) {
	t.Helper()
	var out, errs bytes.Buffer
	code := execute(append(strings.Fields(line), "--from", from), strings.NewReader(""), &out, &errs)
	fmt.Fprintf(all, "$ kubeloupe %s --from %s\n%s%s", line, filepath.Base(from), out.Bytes(), errs.Bytes())
	if code != 0 {
		fmt.Fprintf(all, "exit code %d\n", code)
	}
	all.WriteString("\n")
	if bytes.IndexByte(out.Bytes(), 0x1b) >= 0 {
		t.Errorf("%s: an escape byte is printed", line)
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", "recorded", name+".txt")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got), go test -update writes it anew:\n%s", file, diff)
	}
}
