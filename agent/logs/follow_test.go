package logs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The runtime writes what it has in its buffer to the old file when the new one exists, and to the log when the container has exited.
func TestFollowLateWrites(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(dir, "0.log")
		old := path + ".20260102-030405"
		write(t, path, t1+" stdout F one\n")
		l, err := open(t, path, Options{Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		l.watch = func(string) (*changes, error) { return nil, errors.New("no inotify instance left") }
		late := func(path, entry string) {
			go func() {
				time.Sleep(Lag / 2)
				write(t, path, t1+" stdout F "+entry+"\n")
			}()
		}
		step := 0
		running := func(context.Context) (bool, error) {
			switch step++; step {
			case 2:
				if err := os.Rename(path, old); err != nil {
					return false, err
				}
				write(t, path, t1+" stdout F new\n")
				late(old, "late")
			case 4:
				late(path, "last")
			}
			return step < 4, nil
		}
		var out bytes.Buffer
		began := time.Now()
		if err := l.Copy(t.Context(), running, nil, &out, &out); err != nil {
			t.Fatal(err)
		}
		if want := "one\nlate\nnew\nlast\n"; out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
		// It waited twice for a change, for the old file and for the end.
		if took := time.Since(began); took != 2*lookLate+2*Lag {
			t.Errorf("took %s", took)
		}
	})
}

// A log that is rotated while its container exits is read to the end of the new file.
func TestFollowRotationAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(dir, "0.log")
		write(t, path, t1+" stdout F one\n")
		l, err := open(t, path, Options{Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		l.watch = func(string) (*changes, error) { return nil, errors.New("no inotify instance left") }
		var once atomic.Bool
		running := func(context.Context) (bool, error) {
			if !once.Swap(true) {
				go func() {
					time.Sleep(Lag / 2)
					if err := os.Rename(path, path+".20260102-030405"); err != nil {
						t.Error(err)
					}
					write(t, path, t1+" stdout F new\n")
				}()
			}
			return false, nil
		}
		var out bytes.Buffer
		if err := l.Copy(t.Context(), running, nil, &out, &out); err != nil || out.String() != "one\nnew\n" {
			t.Errorf("%q, %v", out.String(), err)
		}
	})
}

// A client that leaves while the end of a log is awaited ends the copy.
func TestFollowEndsWhileItWaits(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(dir, "0.log")
		write(t, path, "")
		l, err := open(t, path, Options{Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		l.watch = func(string) (*changes, error) { return nil, errors.New("no inotify instance left") }
		ctx, cancel := context.WithTimeout(t.Context(), Lag/2)
		defer cancel()
		exited := func(context.Context) (bool, error) { return false, nil }
		if err := l.Copy(ctx, exited, nil, nil, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

// Followed from the end, a log whose last entry is incomplete begins with that entry, or with nothing.
func TestFollowFromTheEnd(t *testing.T) {
	for _, c := range []struct{ name, log, then, want string }{
		{"complete", t1 + " stdout F one\n", t1 + " stdout F two\n", "two\n"},
		{"half an entry", t1 + " stdout F one\n" + t1 + " stdout F tw", "o\n" + t1 + " stdout F three\n", "two\nthree\n"},
		{"half the first entry", t1 + " std", "out F one\n", "one\n"},
		{"empty", "", t1 + " stdout F one\n", "one\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "0.log")
			write(t, path, c.log)
			l, err := open(t, path, Options{Follow: true, Tail: new(int64(0))})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			exited := func(context.Context) (bool, error) { write(t, path, c.then); c.then = ""; return false, nil }
			var out bytes.Buffer
			if err := l.Copy(t.Context(), exited, nil, &out, &out); err != nil || out.String() != c.want {
				t.Errorf("%q, %v, want %q", out.String(), err, c.want)
			}
		})
	}
}
