package cniwatch

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/inotify"
)

// patience is how long a test waits for what should happen immediately.
const patience = time.Minute

// place is a directory DIR/cni/net.d, which may exist.
type place struct {
	t         *testing.T
	base, dir string
}

func newPlace(t *testing.T) *place {
	base := t.TempDir()
	return &place{t, base, filepath.Join(base, "cni", "net.d")}
}

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) make()                  { p.must(os.MkdirAll(p.dir, 0o750)) }
func (p *place) remove()                { p.must(os.RemoveAll(p.dir)) }
func (p *place) rename(from, to string) { p.must(os.Rename(from, to)) }
func (p *place) write(file string)      { p.must(os.WriteFile(file, []byte("{}"), 0o600)) }

// comes waits for a change.
func (p *place) comes(changes <-chan struct{}, what string) {
	p.t.Helper()
	select {
	case <-changes:
	case <-time.After(patience):
		p.t.Fatalf("%s: nobody noticed", what)
	}
}

// settle waits until no more changes arrive.
func settle(changes <-chan struct{}, quiet time.Duration) {
	for {
		select {
		case <-changes:
		case <-time.After(quiet):
			return
		}
	}
}

func TestChanges(t *testing.T) {
	for _, c := range []struct {
		name   string
		exists bool
		do     []func(p *place) // each of them causes a change
	}{
		{"it goes", true, []func(*place){(*place).remove}},
		{"it comes", false, []func(*place){(*place).make}},
		{"it goes and comes", true, []func(*place){(*place).remove, (*place).make}},
		{"it goes and comes at once", true, []func(*place){func(p *place) { p.remove(); p.make() }}},
		{"what is above it is moved away and back", true, []func(*place){
			func(p *place) { p.rename(filepath.Join(p.base, "cni"), filepath.Join(p.base, "away")) },
			func(p *place) { p.rename(filepath.Join(p.base, "away"), filepath.Join(p.base, "cni")) },
		}},
		{"what is above it goes and comes", true, []func(*place){
			func(p *place) { p.must(os.RemoveAll(filepath.Join(p.base, "cni"))) }, (*place).make,
		}},
		{"another takes its place", true, []func(*place){func(p *place) {
			p.must(os.Mkdir(p.dir+".new", 0o750))
			p.rename(p.dir, p.dir+".old")
			p.rename(p.dir+".new", p.dir)
		}}},
		{"what is far above it is exchanged", true, []func(*place){func(p *place) {
			p.must(os.MkdirAll(filepath.Join(p.base, "other", "net.d"), 0o750))
			far := filepath.Dir(p.base)
			p.rename(p.base, filepath.Join(far, "away"))
			p.rename(filepath.Join(far, "away", "other"), filepath.Join(far, "away", "cni.new"))
			p.rename(filepath.Join(far, "away", "cni"), filepath.Join(far, "away", "cni.old"))
			p.rename(filepath.Join(far, "away", "cni.new"), filepath.Join(far, "away", "cni"))
			p.rename(filepath.Join(far, "away"), p.base)
		}}},
		{"a link above it is led elsewhere", true, []func(*place){func(p *place) {
			cni, other := filepath.Join(p.base, "cni"), filepath.Join(p.base, "other")
			p.must(os.MkdirAll(filepath.Join(other, "net.d"), 0o750))
			p.rename(cni, cni+".real")
			p.must(os.Symlink(cni+".real", cni))
		}, func(p *place) {
			cni := filepath.Join(p.base, "cni")
			p.must(os.Symlink(filepath.Join(p.base, "other"), cni+".new"))
			p.rename(cni+".new", cni)
		}}},
		{"nothing but a file", true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			if c.exists {
				p.make()
			}
			w, err := newWatch(p.dir)
			p.must(err)
			defer func() { p.must(w.Close()) }()
			for _, do := range c.do {
				do(p)
				p.comes(w.C, "the directory")
				settle(w.C, 100*time.Millisecond)
			}
			if c.name == "it goes" {
				return
			}
			file := filepath.Join(p.dir, "10.conflist")
			for _, do := range []func(){
				func() { p.write(file) }, func() { p.write(file) }, func() { p.rename(file, file+".away") }, func() { p.rename(file+".away", file) }, func() { p.must(os.Remove(file)) },
			} {
				do()
				p.comes(w.C, "a file")
				settle(w.C, 20*time.Millisecond)
			}
		})
	}
}

// TestOthers: changes in the parent, or where the directory was moved to, cause no check.
func TestOthers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.make()
	w, err := openWatch(p.dir)
	p.must(err)
	defer func() { p.must(w.in.Close()) }()
	// upTo writes a file in the directory, and reports whether one of the events before it matters.
	upTo := func(name string) (matters bool) {
		p.write(filepath.Join(p.dir, name))
		for {
			events, err := w.in.ReadWithin(make([]byte, 4096), patience)
			p.must(err)
			for _, e := range events {
				if e.Name == name && e.Has(inotify.CloseWrite) {
					return matters
				}
				one, err := w.matters([]inotify.Event{e})
				p.must(err)
				matters = matters || one
			}
		}
	}
	upTo("before")
	p.rename(p.dir, p.dir+".old")
	p.make()
	events, err := w.in.ReadWithin(make([]byte, 4096), patience)
	p.must(err)
	if matters, err := w.matters(events); !matters || err != nil {
		t.Fatalf("the directory: %v, %v", matters, err)
	}
	upTo("after")
	p.write(filepath.Join(p.base, "x"))
	p.write(filepath.Join(p.base, "cni", "x"))
	p.write(filepath.Join(p.dir+".old", "x"))
	if upTo("later") {
		t.Error("a change")
	}
}

// TestNobodyIsWoken: what others create and remove in distant parents, such as /tmp, is not even queued by the kernel.
func TestNobodyIsWoken(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	pending := func(w *watch, within time.Duration) int {
		events, err := w.in.ReadWithin(make([]byte, 4096), within)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
		return len(events)
	}
	p.make()
	w, err := openWatch(p.dir)
	p.must(err)
	defer func() { p.must(w.in.Close()) }()
	p.write(filepath.Join(p.base, "x"))
	p.must(os.Remove(filepath.Join(p.base, "x")))
	p.must(os.Mkdir(filepath.Join(p.base, "y"), 0o750))
	if n := pending(w, 50*time.Millisecond); n > 0 {
		t.Errorf("%d events of others", n)
	}
	p.write(filepath.Join(p.dir, "x"))
	if n := pending(w, patience); n == 0 {
		t.Error("nothing of a file in the directory")
	}
}

// TestPrompts: a change causes two checks, because the runtime needs a moment to read it.
func TestPrompts(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.make()
	config, err := json.Marshal(map[string]any{"cni": map[string]any{"confDir": p.dir}})
	p.must(err)
	prompts := make(chan struct{}, 1000)
	x, err := New(Config{Runtime: &runtime{config: string(config)}, Prompt: func() { prompts <- struct{}{} }})
	p.must(err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- x.Run(ctx) }()
	var wrote time.Time
	for began := time.Now(); len(prompts) == 0 && time.Since(began) < patience; time.Sleep(10 * time.Millisecond) {
		wrote = time.Now()
		p.write(filepath.Join(p.dir, "10.conflist")) // the watch begins a little after Run
	}
	p.comes(prompts, "the change")
	for time.Since(wrote) < again {
		p.comes(prompts, "later")
	}
	stop()
	p.must(<-ended)
}
