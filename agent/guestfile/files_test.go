package guestfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An operation that hangs times out, its path is not tried until it has ended, and the number of hung operations is
// limited.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(Config{Deadline: time.Second, MaxHung: 2})
		release := make(chan struct{})
		hang := func() error { <-release; return nil }
		fine := func() error { return nil }
		began := time.Now()
		slow := func(what string, err error, after time.Duration) {
			t.Helper()
			e, ok := errors.AsType[*SlowError](err)
			if !ok || e.After != after {
				t.Errorf("%s: %v, want a SlowError after %s", what, err, after)
			}
		}
		// Two at the same time wait together, and one of them runs.
		second := make(chan error)
		go func() { second <- f.Do(t.Context(), "a", hang) }()
		synctest.Wait()
		slow("a", f.Do(t.Context(), "a", hang), time.Second)
		slow("a beside", <-second, time.Second)
		if took := time.Since(began); took != time.Second || f.Hung() != 1 {
			t.Errorf("after %s %d hang", took, f.Hung())
		}
		slow("a again", f.Do(t.Context(), "a", fine), 0)
		if err := f.Do(t.Context(), "b", fine); err != nil {
			t.Error("another path: ", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		slow("b, cut short", f.Do(ctx, "b", hang), time.Millisecond)
		slow("too many", f.Do(t.Context(), "c", fine), 0)
		close(release)
		synctest.Wait()
		for _, path := range []string{"a", "b", "c"} {
			if err := f.Do(t.Context(), path, fine); err != nil {
				t.Error("after the end: ", err)
			}
		}
	})
}

// The result of an operation that timed out is closed.
func TestDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(Config{Deadline: time.Second})
		release, dropped := make(chan struct{}), ""
		_, err := do(t.Context(), f, "a", func() (string, error) { <-release; return "late", nil }, func(s string) { dropped = s })
		close(release)
		synctest.Wait()
		if err == nil || dropped != "late" || f.Hung() != 0 {
			t.Errorf("%v, dropped %q, %d hang", err, dropped, f.Hung())
		}
	})
}

func TestRewrite(t *testing.T) {
	f := New(Config{})
	for name, before := range map[string]string{"missing": "-", "empty": "", "right": "wanted", "longer": "wanted and more", "other": "hello!", "many lines": strings.Repeat("\n", 1<<20)} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			if before != "-" {
				if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			was, _ := os.Stat(path)
			if err := f.Rewrite(t.Context(), path, []byte("wanted"), 0o644); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			is, bad := os.Stat(path)
			if err != nil || bad != nil || string(text) != "wanted" || is.Mode() != 0o644 {
				t.Errorf("%q, %v, %v, %v", text, err, is, bad)
			}
			if was != nil && !os.SameFile(was, is) {
				t.Error("it is another file: containers that have it mounted do not see the change")
			}
		})
	}
}

func TestTail(t *testing.T) {
	f := New(Config{})
	for _, c := range []struct {
		text, want string
		whole      bool
	}{{"", "", true}, {"abc", "abc", true}, {"abcd", "abcd", true}, {"abcde", "bcde", false}} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		text, whole, err := f.Tail(t.Context(), path, 4)
		if got, want := fmt.Sprintf("%s %v %v", text, whole, err), fmt.Sprintf("%s %v <nil>", c.want, c.whole); got != want {
			t.Errorf("%q: %s, want %s", c.text, got, want)
		}
	}
}
