package step

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// fakeEnd is a fake session.
type fakeEnd struct{ stops chan Stop }

func (f fakeEnd) Stops() <-chan Stop { return f.stops }

func (fakeEnd) Do(_ context.Context, line string) (string, error) {
	if line == "x" {
		return "", errors.New("unknown")
	}
	return "said " + line, nil
}

func TestTranscript(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t")
	if err := os.WriteFile(path, []byte("before\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		end := fakeEnd{make(chan Stop)}
		f := NewFront(end)
		go f.Run(t.Context())
		for _, line := range []string{"unheard", "transcript " + path, "p", "x"} {
			_, _ = f.Do(t.Context(), line) // both are in the transcript
		}
		end.stops <- Stop{Pod: web}
		end.stops <- Stop{Pod: web, Next: "create main", Actions: []Action{{ID: "create main", State: Next}}, Index: 1, Total: 1}
		synctest.Wait()
		if s := <-f.Stops(); s.Next != "create main" {
			t.Errorf("an old stop: %+v", s)
		}
		close(end.stops)
		synctest.Wait()
		if _, ok := <-f.Stops(); ok {
			t.Error("a stop after the last")
		}
	})
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `before
> p
said p
> x
unknown

step default/web  waits for its next creation or deletion

step default/web  paused before  create main   1 of 1
▶ create main
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestTranscriptThatCannotBe(t *testing.T) {
	f := NewFront(fakeEnd{})
	for _, line := range []string{"transcript", "transcript " + t.TempDir()} {
		if _, err := f.Do(t.Context(), line); err == nil {
			t.Errorf("%q: no error", line)
		}
	}
}

func TestParsePod(t *testing.T) {
	if p, err := ParsePod("a/b"); err != nil || p.Namespace != "a" || p.Name != "b" {
		t.Error(p, err)
	}
	for _, s := range []string{"", "a", "a/", "/b", "a/b/c"} {
		if _, err := ParsePod(s); err == nil {
			t.Errorf("%q: no error", s)
		}
	}
}

func TestShell(t *testing.T) {
	stop := &Stop{Pod: web, Sandbox: "sb1", Netns: "/run/netns/x"}
	cmd, err := Shell(t.Context(), stop, `echo "$KUBELOUPE_POD $KUBELOUPE_SANDBOX $KUBELOUPE_NETNS"`)
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Output()
	if err != nil || strings.TrimSpace(string(out)) != "default/web sb1 /run/netns/x" {
		t.Errorf("%s, %v", out, err)
	}
	stop.Attached = true
	if _, err := Shell(t.Context(), stop, ""); !errors.Is(err, ErrElsewhere) {
		t.Error(err)
	}
}
