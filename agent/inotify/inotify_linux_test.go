package inotify

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// patience is how long a test waits for what should happen immediately.
const patience = time.Minute

func newWatcher(t *testing.T) *Watcher {
	t.Helper()
	w, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// texts returns events as text, without their watches.
func texts(events []Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%#x %s", uint32(e.Op&^unix.IN_ISDIR), e.Name)))
	}
	return out
}

// expect reads until the number of wanted events has arrived.
func expect(t *testing.T, w *Watcher, want ...string) []Event {
	t.Helper()
	var got []Event
	for buf := make([]byte, 16<<10); len(got) < len(want); {
		more, err := w.ReadWithin(buf, patience)
		if err != nil {
			t.Fatalf("got %q, then %v, want %q", texts(got), err, want)
		}
		got = append(got, more...)
	}
	if diff := cmp.Diff(want, texts(got)); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
	return got
}

func TestEvents(t *testing.T) {
	w, dir := newWatcher(t), t.TempDir()
	watch, err := w.Add(dir, Names|CloseWrite|DeleteSelf|MoveSelf)
	must(t, err)
	file := filepath.Join(dir, "a")
	must(t, os.WriteFile(file, []byte("x"), 0o600))
	expect(t, w, "0x100 a", "0x8 a")
	must(t, os.Rename(file, file+".new"))
	halves := expect(t, w, "0x40 a", "0x80 a.new")
	if halves[0].Cookie == 0 || halves[0].Cookie != halves[1].Cookie || halves[0].Watch != watch {
		t.Errorf("the halves of a rename: got %+v, want one cookie and the watch %d", halves, watch)
	}
	must(t, os.Remove(file+".new"))
	expect(t, w, "0x200 a.new")
	if again, err := w.Add(dir, Attrib|DeleteSelf); err != nil || again != watch {
		t.Errorf("the directory again: got the watch %d, %v, want %d", again, err, watch)
	}
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, os.Chmod(file, 0o400))
	expect(t, w, "0x4 a")
}

// A directory that is removed or renamed is reported as moved; a new one at its path is not watched.
func TestMoved(t *testing.T) {
	w, base := newWatcher(t), t.TempDir()
	dir := filepath.Join(base, "d")
	for _, c := range []struct {
		do   func() error
		want []string
	}{
		{func() error { return os.Remove(dir) }, []string{"0x400"}},
		{func() error { return os.Rename(dir, dir+".old") }, []string{"0x800"}},
	} {
		must(t, os.Mkdir(dir, 0o700))
		_, err := w.Add(dir, Names|DeleteSelf|MoveSelf)
		must(t, err)
		must(t, c.do())
		if events := expect(t, w, c.want...); !events[0].Moved() {
			t.Errorf("got %+v, want Moved", events)
		}
	}
	must(t, os.Mkdir(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "x"), nil, 0o600))
	if events, err := w.ReadWithin(make([]byte, 4096), 50*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a directory that nobody watches: got %q, %v, want no event", texts(events), err)
	}
}

// A reader that is too slow is notified that events were lost.
func TestOverflow(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	must(t, err)
	var queue int
	if _, err := fmt.Sscan(string(text), &queue); err != nil || queue > 1<<17 {
		t.Skipf("max_queued_events is %q: too many events to fill it", text)
	}
	w, dir := newWatcher(t), t.TempDir()
	_, err = w.Add(dir, Create|Delete)
	must(t, err)
	file := filepath.Join(dir, "x")
	for range queue/2 + 1 { // different events each time: the kernel merges equal ones
		must(t, os.WriteFile(file, nil, 0o600))
		must(t, os.Remove(file))
	}
	for buf := make([]byte, 64<<10); ; {
		events, err := w.ReadWithin(buf, patience)
		must(t, err)
		last := events[len(events)-1]
		if last.Has(Overflow) {
			if last.Watch != -1 || last.Name != "" {
				t.Errorf("got %+v, want the watch -1 and no name", last)
			}
			return
		}
	}
}

func TestErrors(t *testing.T) {
	w, dir := newWatcher(t), t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	if _, err := w.Add(filepath.Join(dir, "none"), Create); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), filepath.Join(dir, "none")) {
		t.Errorf("what is not there: error %v, want one that is fs.ErrNotExist and names it", err)
	}
	if _, err := w.Add(file, Create); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("a file: error %v, want ENOTDIR", err)
	}
	watch, err := w.AddFile(file, Open)
	must(t, err)
	w.Remove(watch)
	w.Remove(watch) // it no longer exists
	must(t, w.Close())
	if _, err := w.Add(dir, Create); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a closed watcher: error %v, want fs.ErrClosed", err)
	}
	for _, e := range []error{unix.EMFILE, unix.ENOSPC} {
		if err := limit(e); !errors.Is(err, ErrLimit) || !errors.Is(err, e) || !strings.Contains(err.Error(), "max_user_") {
			t.Errorf("%v: got %q, want ErrLimit with the settings to raise", e, err)
		}
	}
	if err := limit(unix.EACCES); errors.Is(err, ErrLimit) {
		t.Errorf("EACCES: got %v, want it as it is", err)
	}
}

// Several events are one signal, batches that do not matter are none, and Close closes everything.
func TestSignal(t *testing.T) {
	w, dir := newWatcher(t), t.TempDir()
	_, err := w.Add(dir, Create)
	must(t, err)
	seen := make(chan string, 10)
	s := NewSignal(w, 1, func(events []Event) (bool, error) {
		matters := false
		for _, e := range events {
			seen <- e.Name
			matters = matters || e.Name != "boring"
		}
		return matters, nil
	})
	file := func(name string) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		select {
		case got := <-seen:
			if got != name {
				t.Errorf("got the event of %q, want %q", got, name)
			}
		case <-time.After(patience):
			t.Fatalf("nobody was told of %s", name)
		}
	}
	file("boring")
	if len(s.C) != 0 {
		t.Error("what does not matter is signalled")
	}
	file("a")
	file("b")
	select {
	case <-s.C:
	case <-time.After(patience):
		t.Fatal("no signal")
	}
	must(t, s.Close())
	for range s.C { // one of b may be pending; then it is closed
	}
}
