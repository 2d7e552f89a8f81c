package recording

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestRotate(t *testing.T) {
	p, recs := path(t), busy(10000, later, 1)
	told := []trace.Record{{Seq: 1, Time: 1, Event: &trace.Agent{State: trace.AgentReady, Node: "n1"}}}
	opt := Options{MaxBytes: 128 << 10, Node: "n1", Backlog: func() []trace.Record { return told }}
	write(t, p, opt, recs)
	items, info := read(t, p)
	if info.Parts != 2 || info.Bytes > opt.MaxBytes || info.Dropped == 0 || info.Sessions != 1 {
		t.Fatalf("%+v", info)
	}
	same(t, items[:1], told) // the part with the repeated state is the first that is left
	same(t, items[1:], recs[info.Dropped:])
	if !items[0].Earlier || items[1].Earlier || lostOf(items) != 0 || !info.First.Equal(recs[info.Dropped].At()) {
		t.Errorf("%v %v %d %v", items[0].Earlier, items[1].Earlier, lostOf(items), info.First)
	}

	write(t, p, opt, busy(10, later.Add(time.Hour), 1)) // another session continues in the same parts
	items, after := read(t, p)
	if after.Sessions != 2 || after.Dropped != info.Dropped || after.Records != info.Records+10 || items[len(items)-1].Session != 1 {
		t.Errorf("%+v", after)
	}

	if err := os.Remove(p); err != nil { // as between the two renames of a rotation
		t.Fatal(err)
	}
	if items, info := read(t, p); info.Parts != 1 || len(items) == 0 {
		t.Errorf("%d records, %+v", len(items), info)
	}
}

func TestRotateOtherOlderFile(t *testing.T) {
	p := path(t)
	write(t, p, Options{MaxBytes: 128 << 10}, busy(10000, later, 1))
	if err := os.WriteFile(older(p), []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, info := read(t, p); info.Parts != 1 || info.Dropped == 0 {
		t.Errorf("%+v", info)
	}
}

// TestOlderFileThatIsNoRecording: such a file is not changed; recording continues when it is moved away.
func TestOlderFileThatIsNoRecording(t *testing.T) {
	p, recs := path(t), busy(20000, later, 1)
	if err := os.WriteFile(older(p), []byte("a letter"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := Create(p, Options{MaxBytes: 128 << 10})
	if err != nil {
		t.Fatal(err)
	}
	err = nil
	n := 0
	for ; n < 10000 && err == nil; n += 200 {
		err = w.Write(recs[n:n+200], 0)
	}
	if err == nil || !strings.Contains(err.Error(), ".1 would be replaced and was not changed: not a recording") {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(older(p)); err != nil || string(text) != "a letter" {
		t.Errorf("%q, %v", text, err)
	}
	if err := os.Remove(older(p)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(recs[n:n+200], 0), w.Close()); err != nil {
		t.Fatal(err)
	}
	if items, info := read(t, p); items[len(items)-1].Rec.Seq != uint64(n+200) || info.Lost == 0 {
		t.Errorf("%+v", info)
	}
}

// TestNewSessionRotates: a session that finds its file full begins a new part.
func TestNewSessionRotates(t *testing.T) {
	p := path(t)
	write(t, p, Options{}, busy(3000, later, 1))
	write(t, p, Options{MaxBytes: MinMaxBytes}, busy(10, later.Add(time.Hour), 1))
	items, info := read(t, p)
	if info.Parts != 2 || info.Sessions != 2 || info.Dropped != 0 || len(items) != 3010 {
		t.Errorf("%d %+v", len(items), info)
	}
}

func TestTooLong(t *testing.T) {
	p, recs := path(t), busy(24, later, 1)
	long := fmt.Sprintf("%q", strings.Repeat("x", maxLine))
	recs[6].Event = &trace.CRICall{Method: "RunPodSandbox", Request: trace.BodyOf(raw(long), 100)}
	recs[9].Event = &trace.Log{Level: trace.LevelInfo, Message: long}
	recs[10].Event = &trace.CRICall{Method: "Version", Request: trace.BodyOf(raw("no JSON"), 7)}
	write(t, p, Options{}, recs)
	items, info := read(t, p)
	if len(items) != 23 || info.Lost != 1 || items[9].Lost != 1 {
		t.Errorf("%d records, %+v", len(items), info)
	}
}

// TestDiskFull: records that could not be written are reported, and recording continues.
func TestDiskFull(t *testing.T) {
	p, recs := path(t), busy(3000, later, 1)
	w, err := Create(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	good := w.file
	full, err := os.Open(p) // not open for writing
	if err != nil {
		t.Fatal(err)
	}
	w.file = &file{disk: full, size: good.size}
	if err := w.Write(recs[:2000], 0); err == nil || !strings.Contains(err.Error(), syscall.EBADF.Error()) {
		t.Error(err)
	}
	w.file = good
	if err := w.Write(recs[2000:], 0); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	full.Close()
	items, info := read(t, p)
	if uint64(len(items))+info.Lost != 3000 || info.Lost == 0 || lostOf(items) != info.Lost {
		t.Errorf("%d records, %+v", len(items), info)
	}
}
