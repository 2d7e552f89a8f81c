package plugins

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

func FuzzParse(f *testing.F) {
	good := make([]byte, eventSize)
	binary.NativeEndian.PutUint32(good, eventSize)
	good[4] = 3
	f.Add(good)
	f.Add(good[:10])
	f.Fuzz(func(_ *testing.T, b []byte) { parse(b) })
}

// copyOf puts a program into a directory.
func copyOf(t *testing.T, program, dir, name string) string {
	t.Helper()
	from, err := exec.LookPath(program)
	if err != nil {
		t.Skip(err)
	}
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWatch runs what looks like plugins: a program, a script that runs it, and one that is no plugin.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	sleep := copyOf(t, "sleep", dir, "ipam")
	script := filepath.Join(dir, "meta")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"+sleep+" 0.5\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	runs := make(chan Exec, 1024)
	w, err := New(Config{Dirs: []string{dir}, Done: func(e Exec) { runs <- e }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	start(t, w)

	if err := exec.CommandContext(ctx, sleep, "0.05").Run(); err != nil { // no plugin
		t.Fatal(err)
	}
	var inner, outer Exec
	told := map[trace.SpanID]Exec{}
	for outer.ID == 0 { // none is told where the watch has not begun, or late
		cmd := exec.CommandContext(ctx, script)
		cmd.Env = []string{"CNI_COMMAND=ADD", "CNI_IFNAME=eth0", "CNI_CONTAINERID=abc", "CNI_ARGS=K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web;K8S_POD_UID=1"}
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		for open := true; open; {
			select {
			case e := <-runs:
				told[e.ID] = e
			case <-time.After(200 * time.Millisecond):
				open = false
			}
		}
		for _, e := range told {
			if by, ok := told[e.Parent]; ok {
				inner, outer = e, by
			}
		}
	}
	if inner.Plugin != "ipam" || outer.Plugin != "meta" || outer.Parent != 0 {
		t.Errorf("%+v within %+v", inner, outer)
	}
	for _, e := range []Exec{inner, outer} {
		if e.Command != "ADD" || e.IfName != "eth0" || e.Sandbox != "abc" || e.Pod != (trace.Pod{Namespace: "shop", Name: "web", UID: "1"}) || e.Dur < 100*time.Millisecond {
			t.Errorf("%+v", e)
		}
	}
}

// start runs a watcher until the test ends, if that is possible here.
func start(t *testing.T, w *Watcher) {
	t.Helper()
	m, err := w.watch()
	if errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	m.close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
