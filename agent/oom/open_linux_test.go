package oom

import (
	"context"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// The watch of the machine's own log ends on request: a read that waits is interrupted.
func TestRunEnds(t *testing.T) {
	log, err := open()
	if err != nil {
		t.Skip(err)
	}
	_ = log.Close()
	w := &world{rec: tracetest.New(t)}
	watcher, err := New(Config{Pods: w, Bus: w.rec.Bus()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- watcher.Run(ctx) }()
	time.AfterFunc(20*time.Millisecond, cancel)
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
	if logs := tracetest.Events[trace.Log](w.rec); len(logs) > 0 {
		t.Errorf("%+v", logs)
	}
}
