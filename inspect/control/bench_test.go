package control_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/control"
	"github.com/kubeloupe/kubeloupe/trace"
)

// BenchmarkEvents measures one record from a publisher through the socket to a client that decodes it.
func BenchmarkEvents(b *testing.B) {
	bus := trace.NewBus(0)
	s := control.New(control.Config{Path: filepath.Join(b.TempDir(), "s"), Bus: bus})
	if err := s.Listen(); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	c, err := control.Dial(ctx, s.Path())
	if err != nil {
		b.Fatal(err)
	}
	stream, err := c.Events(ctx, control.EventsOptions{Follow: true})
	if err != nil {
		b.Fatal(err)
	}
	for bus.Seq() == 0 { // until the log record that a client reads events
		time.Sleep(time.Millisecond)
	}
	pod := trace.ForPod(trace.Span{}, trace.Pod{Namespace: "shop", Name: "web", UID: "1"})
	buf := make([]trace.Record, 0, 256)
	got, asked := 0, 0
	b.ReportAllocs()
	for b.Loop() {
		sp := trace.Begin(bus, pod, trace.CRICall{Method: "CreateContainer", Sandbox: "abc"})
		trace.End(bus, sp, trace.CRICall{Method: "CreateContainer", Sandbox: "abc", Container: "def", Code: "OK"})
		for asked += 2; asked-got > 4000; {
			recs, lost, err := stream.Next(ctx, buf)
			if err != nil || lost > 0 {
				b.Fatal(lost, err)
			}
			got += len(recs)
		}
	}
	b.ReportMetric(float64(got)/b.Elapsed().Seconds(), "records/s")
	stream.Close()
	cancel()
	<-done
}
