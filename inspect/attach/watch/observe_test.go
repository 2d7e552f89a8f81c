package watch_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/inspect/attach/watch"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestObserver sees something beside the logs: a milestone that the kubelet's log tells too counts as the log has it, and that the observer can see nothing more is said once.
func TestObserver(t *testing.T) {
	kubelet := filepath.Join(t.TempDir(), "kubelet.log")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		bus := trace.NewBus(0)
		cur := bus.Subscribe(trace.FromOldest)
		defer cur.Close()
		pod := trace.Pod{Namespace: "a", Name: "b", UID: uid}
		see := func(ctx context.Context, put func(trace.Record)) error {
			rec := trace.Record{Time: time.Now().UnixNano(), Observer: trace.ObserverKernel, Pod: pod}
			for _, e := range []trace.Event{&trace.CgroupOp{Op: trace.CgroupEnsure, Path: "/x"}, &trace.Milestone{Name: trace.MilestoneReady}} {
				rec.Span, rec.Event = trace.NewSpanID(), e
				put(rec)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Minute):
			}
			return errors.New("it went away")
		}
		put(t, kubelet, kubeletLine(`"SyncLoop ADD" source="api" pods=["a/b"]`))
		put(t, kubelet, kubeletLine(`"SyncLoop (probe)" probe="readiness" status="ready" pod="a/b"`))
		found := &discover.Found{Log: discover.Log{Kind: discover.LogFile, Path: kubelet, Open: kubelet}, Process: &discover.Process{PID: 1}}
		machine := fstest.MapFS{"proc/1/stat": {Data: []byte("1 (kubelet) S 0 1")}}
		w := watch.New(watch.Config{Found: found, Bus: bus, View: machine, Observers: []watch.Observer{{Name: "the test", Run: see}}})
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		recs, _ := cur.Poll(make([]trace.Record, 0, 100))
		const want = `kernel cgroup
kubelet-log milestone a/b seen
kubelet-log loop
kubelet-log loop
kubelet-log milestone a/b ready
`
		if got := told(recs); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		recs, _ = cur.Poll(make([]trace.Record, 0, 100))
		said := 0
		for i := range recs {
			if l, ok := recs[i].Event.(*trace.Log); ok && l.Message == "attach: the test cannot be read; attach retries: it went away" {
				said++
			}
		}
		if said != 1 {
			t.Errorf("it was said %d times that the observer sees nothing:\n%s", said, told(recs))
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
