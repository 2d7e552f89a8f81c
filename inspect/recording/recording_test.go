package recording

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

var later = time.Now().Add(time.Hour).Truncate(time.Millisecond).UTC() // after each recording began

func TestRoundTrip(t *testing.T) {
	p, recs := path(t), busy(3000, later, 1)
	write(t, p, Options{Node: "n1", Kubeloupe: "v1"}, recs)
	items, info := read(t, p)
	same(t, items, recs)
	if info.Node != "n1" || info.Kubeloupe != "v1" || info.Records != 3000 || info.Torn || info.Lost+info.Skipped+info.Unknown+info.Dropped != 0 ||
		info.Sessions != 1 || !info.First.Equal(recs[0].At()) || !info.Last.Equal(recs[2999].At()) || info.Format != FormatRecording {
		t.Errorf("%+v", info)
	}
	st, err := os.Stat(p)
	if err != nil || st.Mode().Perm() != 0o600 || st.Size() != info.Bytes {
		t.Errorf("%v %v, info says %d bytes", st.Mode(), err, info.Bytes)
	}
}

func TestLost(t *testing.T) {
	p, recs := path(t), busy(30, later, 1)
	w, err := Create(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, lost := range []uint64{5, 0, 7} {
		if err := w.Write(recs[i*10:i*10+10], lost); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Write(nil, 3); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	items, info := read(t, p)
	same(t, items, recs)
	if items[0].Lost != 5 || items[20].Lost != 7 || lostOf(items) != 12 || info.Lost != 15 {
		t.Errorf("%d %d of %d, info %d", items[0].Lost, items[20].Lost, lostOf(items), info.Lost)
	}
}

func TestSessions(t *testing.T) {
	p, a, b := path(t), busy(50, later, 1), busy(60, later.Add(time.Minute), 1)
	write(t, p, Options{Node: "a"}, a)
	write(t, p, Options{Node: "b"}, b)
	items, info := read(t, p)
	same(t, items, append(a, b...))
	if items[49].Session != 0 || items[50].Session != 1 || info.Sessions != 2 || info.Node != "b" {
		t.Errorf("%d %d %+v", items[49].Session, items[50].Session, info)
	}
	r, err := Open(p)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := r.Scan(1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Next(nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, b)
	if s := r.Sessions(); len(s) != 2 || s[0].Node != "a" || !s[1].First.Equal(b[0].At()) || s[0].Recording != s[1].Recording {
		t.Errorf("%+v", s)
	}
}

func TestEarlier(t *testing.T) {
	p, old, now := path(t), busy(20, time.Now().Add(-time.Hour), 1), busy(20, later, 21)
	write(t, p, Options{}, append(old, now...))
	items, info := read(t, p)
	if !items[19].Earlier || items[20].Earlier || !info.First.Equal(now[0].At()) || info.Records != 40 {
		t.Errorf("%v %v %v", items[19].Earlier, items[20].Earlier, info)
	}
}

func TestNoBodies(t *testing.T) {
	p, recs := path(t), busy(24, later, 1)
	write(t, p, Options{NoBodies: true}, recs)
	items, _ := read(t, p)
	for _, it := range items {
		if c, ok := it.Rec.Event.(*trace.CRICall); ok && !(c.Request.IsZero() && c.Response.IsZero()) {
			t.Error("a body was recorded")
		}
	}
	if c := recs[6].Event.(*trace.CRICall); c.Request.IsZero() {
		t.Error("the caller's record was changed")
	}
}

func TestSince(t *testing.T) {
	p, recs := path(t), busy(5000, later, 1)
	write(t, p, Options{}, recs)
	r, err := Open(p)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var items []Item
	for it, err := range r.Since(recs[4321].At()) {
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	same(t, items, recs[4321:])
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	newer := appendPrelude(nil)
	newer[len(magic)] = 3
	busyFile := filepath.Join(dir, "busy")
	w, err := Create(busyFile, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("elsewhere", link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		opt        Options
		want       string
	}{
		{"text", file("text", []byte("my diary\n")), Options{}, "not a recording"},
		{"newer", file("newer", newer), Options{}, "format version 3: this kubeloupe reads versions up to 2"},
		{"small", filepath.Join(dir, "x"), Options{MaxBytes: 5}, "field MaxBytes: 5 bytes: must be at least 65536"},
		{"busy", busyFile, Options{}, "is being written by another process"},
		{"link", link, Options{}, "symbolic link"},
		{"directory", dir, Options{}, "is a directory"},
	} {
		before, _ := os.ReadFile(c.path)
		_, err := Create(c.path, c.opt)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if after, _ := os.ReadFile(c.path); !bytes.Equal(before, after) {
			t.Errorf("%s was written to", c.name)
		}
	}
	if st, err := os.Stat(filepath.Join(dir, "text")); err != nil || st.Mode() != 0o644 {
		t.Errorf("its mode was changed: %v %v", st.Mode(), err)
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); !os.IsNotExist(err) {
		t.Error("a refused recording left a file")
	}
	empty := file("empty", nil) // as mktemp creates it
	if w, err := Create(empty, Options{New: true}); err != nil || w.Close() != nil {
		t.Errorf("an empty file: %v", err)
	}
	if _, err := Create(empty, Options{New: true}); !errors.Is(err, ErrExists) {
		t.Errorf("a file with a session: %v", err)
	}
	empty = file("empty too", nil)
	write(t, empty, Options{}, busy(3, later, 1))
	if st, err := os.Stat(empty); err != nil || st.Mode() != fs.FileMode(0o600) {
		t.Errorf("%v %v", st.Mode(), err)
	}
}

func TestOpenRefuses(t *testing.T) {
	newer := appendPrelude(nil)
	newer[len(magic)] = 9
	for text, want := range map[string]string{
		"":            "it is empty",
		"my diary\n":  "neither a recording nor JSON lines",
		"{\"a\":1}\n": "neither a recording nor JSON lines",
		string(newer): "format version 9: this kubeloupe reads versions up to 2",
		magic:         "not a recording",
	} {
		p := path(t)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := Open(p); err == nil || !strings.Contains(err.Error(), want) || r != nil {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "no")); err == nil || !strings.HasSuffix(err.Error(), "no: no such file or directory") {
		t.Error(err)
	}
}
