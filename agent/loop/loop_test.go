package loop

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/pleg"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/probe"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// handler records its calls and checks that they are serial.
type handler struct {
	t    *testing.T
	slow func(context.Context)

	mu   sync.Mutex
	busy bool
	did  []string
}

func (h *handler) note(ctx context.Context, what string) {
	h.mu.Lock()
	if h.busy {
		h.t.Errorf("%s while another call is under way", what)
	}
	h.busy = true
	h.did = append(h.did, what)
	h.mu.Unlock()
	if trace.FromContext(ctx).ID == 0 {
		h.t.Errorf("%s: no span in the context", what)
	}
	if h.slow != nil {
		h.slow(ctx)
	}
	h.mu.Lock()
	h.busy = false
	h.mu.Unlock()
}

func (h *handler) Config(ctx context.Context, u podsource.Update) {
	h.note(ctx, "config "+string(u.Op))
}

func (h *handler) Lifecycle(ctx context.Context, e pleg.Event) { h.note(ctx, "pleg "+string(e.Type)) }
func (h *handler) Sync(ctx context.Context, uid types.UID)     { h.note(ctx, "sync "+string(uid)) }
func (h *handler) Freed(ctx context.Context, why trace.ResizeTrigger) {
	h.note(ctx, "freed "+string(why))
}

func (h *handler) Probed(ctx context.Context, u probe.Update) { h.note(ctx, "probe "+string(u.UID)) }

func (h *handler) Housekeep(ctx context.Context) string {
	h.note(ctx, "housekeeping")
	return "swept"
}

func (h *handler) took() []string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.did
	h.did = nil
	return d
}

// ready is a runtime that a test turns on and off.
type ready struct {
	mu      sync.Mutex
	ok      bool
	changed chan struct{}
}

func (r *ready) Ready() (ok bool, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ok, "it is down"
}

func (r *ready) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

func (r *ready) set(ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ok = ok
	close(r.changed)
	r.changed = make(chan struct{})
}

type rig struct {
	h       *handler
	ready   *ready
	rec     *tracetest.Recorder
	loop    *Loop
	updates chan podsource.Update
	events  chan pleg.Event
	due     chan types.UID
	freed   chan trace.ResizeTrigger
	tidy    chan struct{}
	stop    func()
}

func start(t *testing.T, up bool, slow func(context.Context)) *rig {
	t.Helper()
	r := &rig{
		h: &handler{t: t, slow: slow}, ready: &ready{ok: up, changed: make(chan struct{})}, rec: tracetest.New(t),
		updates: make(chan podsource.Update), events: make(chan pleg.Event), due: make(chan types.UID), freed: make(chan trace.ResizeTrigger), tidy: make(chan struct{}),
	}
	var err error
	r.loop, err = New(Config{Handler: r.h, Ready: r.ready, Updates: r.updates, Lifecycle: r.events, Requests: &Requests{due: r.due, freed: r.freed, tidy: r.tidy}, Bus: r.rec.Bus()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.loop.Run(ctx) }()
	r.stop = func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		open := 0
		for _, rec := range r.rec.Records() {
			switch rec.Edge {
			case trace.EdgeBegin:
				open++
			case trace.EdgeEnd:
				open--
			case trace.EdgePoint:
			}
		}
		if open != 0 {
			t.Errorf("%d records have begun and not ended", open)
		}
	}
	synctest.Wait()
	return r
}

func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestDispatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, true, nil)
		cause := trace.Point(r.rec.Bus(), trace.ForPod(trace.Span{}, trace.Pod{Namespace: "ns", Name: "p"}), trace.Log{})
		r.updates <- podsource.Update{Op: podsource.OpAdd, Source: "file", Pods: []*v1.Pod{{}, {}}, Span: cause}
		r.events <- pleg.Event{Type: pleg.ContainerDied, Span: cause}
		r.due <- "u1"
		r.freed <- trace.ResizeForNode
		r.tidy <- struct{}{}
		equal(t, "handled", []string{"config ADD", "pleg ContainerDied", "sync u1", "freed node_changed", "housekeeping"}, r.h.took())
		time.Sleep(time.Minute)
		equal(t, "handled in a minute", []string{"housekeeping"}, r.h.took())
		r.stop()
		var got []string
		for _, rec := range r.rec.OfKind("loop") {
			ev, ok := rec.Event.(*trace.Loop)
			if !ok || rec.Edge != trace.EdgeEnd {
				continue
			}
			caused := ""
			if rec.Parent == cause.ID {
				caused = " caused"
			}
			if !rec.Pod.IsZero() {
				t.Errorf("iteration %d is a pod's", ev.N)
			}
			got = append(got, fmt.Sprintf("%d %s %s %d %q idle %s%s", ev.N, ev.Case, ev.Op, ev.Pods, ev.Detail, ev.Idle, caused))
		}
		equal(t, "published", []string{
			`1 config ADD 2 "file" idle 0s caused`, `2 pleg ContainerDied 1 "ns/p" idle 0s caused`, `3 sync  1 "" idle 0s`,
			"4 " + string(trace.LoopResize) + `  0 "" idle 0s`, `5 housekeeping asked 0 "swept" idle 0s`, `6 housekeeping period 0 "swept" idle 1m0s`,
		}, got)
	})
}

// Nothing is handled while the runtime is down. That is a named wait, and nothing is lost.
func TestWaitsForTheRuntime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, false, nil)
		sent := make(chan struct{})
		go func() { r.updates <- podsource.Update{Op: podsource.OpAdd}; close(sent) }()
		r.ready.set(false) // a notification without a change
		equal(t, "handled while it is down", []string(nil), r.h.took())
		waits := tracetest.Events[trace.Wait](r.rec)
		equal(t, "waits", []trace.Wait{{For: trace.WaitRuntime, Target: trace.Target{Kind: trace.TargetRuntime}, Cause: "it is down", Class: trace.Classify("it is down")}}, waits)
		if err := r.loop.Healthy(time.Second); err != nil {
			t.Errorf("a loop that waits for the runtime is not stuck: %v", err)
		}
		r.ready.set(true)
		<-sent
		equal(t, "handled once it is up", []string{"config ADD"}, r.h.took())
		equal(t, "records of the wait", 2, len(tracetest.Events[trace.Wait](r.rec)))
		r.ready.set(false)
		r.due <- "u1" // the loop entered its select before
		r.h.took()
		go func() { r.due <- "u2" }()
		equal(t, "handled while it is down again", []string(nil), r.h.took())
		r.ready.set(true)
		equal(t, "handled", []string{"sync u2"}, r.h.took())
		r.stop()
	})
}

func TestEndsWhileTheRuntimeIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { start(t, false, nil).stop() })
}

func TestHealthy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := sync.OnceFunc(func() { time.Sleep(time.Minute) })
		r := start(t, true, func(context.Context) { slow() })
		time.Sleep(30 * time.Second)
		if err := r.loop.Healthy(10 * time.Second); err != nil {
			t.Errorf("an idle loop: %v", err)
		}
		r.due <- "u1"
		time.Sleep(30 * time.Second)
		if err := r.loop.Healthy(40 * time.Second); err != nil {
			t.Errorf("within the limit: %v", err)
		}
		want := "sync Loop took longer than expected"
		if err := r.loop.Healthy(10 * time.Second); err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
		time.Sleep(time.Minute)
		if err := r.loop.Healthy(10 * time.Second); err != nil {
			t.Errorf("after the slow iteration: %v", err)
		}
		r.stop()
	})
}

func TestNewRefusesGaps(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("no error for an empty Config")
	}
}
