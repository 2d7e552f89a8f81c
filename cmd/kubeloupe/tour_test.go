package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// inOrder WANT FILE: for each line of WANT, a regular expression, a later line of FILE matches.
func inOrder(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: inorder WANT FILE")
	}
	lines := strings.Split(ts.ReadFile(args[1]), "\n")
	at := 0
	for want := range strings.Lines(ts.ReadFile(args[0])) {
		re := regexp.MustCompile(strings.TrimSuffix(want, "\n"))
		from := at
		for at < len(lines) && !re.MatchString(lines[at]) {
			at++
		}
		if at == len(lines) {
			ts.Fatalf("nothing like %q after line %d", re, from)
		}
		at++
	}
}

func TestConfFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	there := func() (names []string) {
		t.Helper()
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	write("README", "")
	if _, err := newConfFiles(dir); err == nil || !strings.Contains(err.Error(), "no CNI configuration") {
		t.Errorf("a directory without configuration: %v", err)
	}
	if _, err := newConfFiles(filepath.Join(dir, "none")); err == nil {
		t.Error("no error for a directory that is not there")
	}
	write("10-net.conflist", "mine")
	n, err := newConfFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.breakIt(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"10-net.conflist" + aside, "README"}, there()); diff != "" {
		t.Error(diff)
	}
	// A tour that was killed: the next one finds it.
	if n, err = newConfFiles(dir); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"10-net.conflist", "README"}, there()); diff != "" {
		t.Error(diff)
	}
	// Somebody writes a new one in the meantime: it counts, and nothing is lost.
	if err := n.breakIt(); err != nil {
		t.Fatal(err)
	}
	write("10-net.conflist", "new")
	if err := n.mend(); err == nil || !strings.Contains(err.Error(), "exists again") {
		t.Errorf("mend over a new file: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "10-net.conflist")); err != nil || string(text) != "new" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestWatcher(t *testing.T) {
	var out bytes.Buffer
	n := 0
	w := &watcher{to: &out, words: []string{" ready after "}, seen: func() { n++ }}
	for _, part := range []string{"a re", "ady\nb rea", "dy after", " 3s\n", "c ready after 4s\n"} {
		if _, err := w.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
		if w.found != strings.Contains(out.String(), "3s\n") {
			t.Errorf("found %v after %q", w.found, &out)
		}
	}
	if n != 1 || out.String() != "a ready\nb ready after 3s\nc ready after 4s\n" {
		t.Errorf("told %d times: %q", n, &out)
	}
}
