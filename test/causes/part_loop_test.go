package causes_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/loop"
	"github.com/kubeloupe/kubeloupe/agent/pleg"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/probe"
	"github.com/kubeloupe/kubeloupe/trace"
)

// handler takes its time with what a source changed, and hands on what the runtime tells.
type handler struct {
	slow time.Duration
	told chan struct{}
}

func (h *handler) Config(context.Context, podsource.Update)   { time.Sleep(h.slow) } // as if a lock were held
func (h *handler) Lifecycle(context.Context, pleg.Event)      { h.told <- struct{}{} }
func (h *handler) Sync(context.Context, types.UID)            {}
func (h *handler) Probed(context.Context, probe.Update)       {}
func (h *handler) Freed(context.Context, trace.ResizeTrigger) {}
func (h *handler) Housekeep(context.Context) (found string)   { return "" }
func (h *handler) Ready() (ok bool, why string)               { return true, "" }
func (h *handler) Changed() <-chan struct{}                   { return nil }

// looping is a node of which only the syncLoop is real: a pod starts that waits for an event, which comes while an iteration takes d.
func looping(t *testing.T, d time.Duration) *node {
	n := newNode(t, t.TempDir())
	h := &handler{slow: d, told: make(chan struct{}, 1)}
	updates, events := make(chan podsource.Update), make(chan pleg.Event)
	l, err := loop.New(loop.Config{Handler: h, Ready: h, Updates: updates, Lifecycle: events, Bus: n.bus})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })

	p := podOf("web")
	root := trace.ForPod(trace.Span{}, podspec.Ref(p))
	trace.Point(n.bus, root, trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	sync := trace.Begin(n.bus, root, trace.Sync{Why: trace.SyncCreate, N: 1})
	wait := trace.Wait{For: trace.WaitRuntime, Target: trace.Target{Kind: trace.TargetLatestAction}}
	waiting := trace.Begin(n.bus, sync, wait)
	updates <- podsource.Update{Op: podsource.OpAdd, Source: "file", Pods: []*v1.Pod{podOf("other")}}
	n.until("the iteration", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Loop)
		return ok && e.Case == trace.LoopConfig
	})
	event := trace.Point(n.bus, root, trace.PLEGEvent{Type: "ContainerStarted", From: "evented"})
	events <- pleg.Event{UID: p.UID, Type: pleg.ContainerStarted, Span: event}
	<-h.told
	trace.End(n.bus, waiting, wait)
	trace.Point(n.bus, sync, trace.Milestone{Name: trace.MilestoneStarted})
	trace.Point(n.bus, sync, trace.Milestone{Name: trace.MilestoneReady})
	trace.End(n.bus, sync, trace.Sync{Why: trace.SyncCreate, N: 1})
	n.reached("web", "ready")
	return n
}

// Both run in a bubble: nothing takes time there but the handler, however busy the machine is.

func TestLoopIsBlocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := looping(t, 300*time.Millisecond)
		n.speaks("web", "KL16", "the syncLoop was blocked, which delayed the pod for 300ms")
		n.silent("web", "KL10", "KL11", "KL13")
	})
}

func TestLoopHandsOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { looping(t, 0).silent("web", "KL16") })
}
