package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/control"
	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestRecordingInTrouble: whoever looks at the agent is told, once when it stands still and once when it continues.
func TestRecordingInTrouble(t *testing.T) {
	n := &node{bus: trace.NewBus(64)}
	o := besideOptions{file: filepath.Join(t.TempDir(), "node.klr"), socket: noSocket, record: recordOptions{max: "1Mi"}}
	b, err := o.build(t.Context(), &hosted{bus: n.bus})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	cur := n.bus.Subscribe(trace.FromNow)
	b.tell(recording.Trouble{Err: syscall.ENOSPC})
	b.tell(recording.Trouble{Lost: 120})
	recs, _ := cur.Poll(make([]trace.Record, 0, 64))
	var said []trace.Log
	for _, r := range recs {
		said = append(said, *r.Event.(*trace.Log))
	}
	want := []trace.Log{
		{Level: trace.LevelError, Message: "the recording is paused: no space left on device; it resumes automatically"},
		{Level: trace.LevelWarn, Message: "the recording has resumed; 120 records are missing"},
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("said (-want +got):\n%s", diff)
	}
}

func TestWhatWasRecorded(t *testing.T) {
	if got := recorded("a.klr", recording.Info{Records: 3, Bytes: 2048, Lost: 2}); got != "a.klr: 3 records in 2.0 KiB; 2 records were lost" {
		t.Error(got)
	}
}

// TestNoSocketWithoutTheLock: an agent that is turned away makes no socket in the other's directory, not even for a moment.
func TestNoSocketWithoutTheLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	b := &beside{bus: trace.NewBus(64)}
	b.control = control.New(control.Config{Path: filepath.Join(dir, "c.sock"), Bus: b.bus})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b.run(ctx)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it listened: %v", err)
	}
	if err := b.control.Listen(); err != nil { // as with --control-socket
		t.Fatal(err)
	}
	b.listens = true
	if err := b.abandon(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(b.control.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its socket stays: %v", err)
	}
}
