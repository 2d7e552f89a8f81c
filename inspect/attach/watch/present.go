package watch

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/crilist"
	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/trace"
)

// lookEvery is how often the kubelet's process is looked at.
const lookEvery = 5 * time.Second

// socketLooks is how often a kubelet that was started again is looked at for its sockets: it makes them some time after its start.
const socketLooks = 12

// present publishes what is there when the watch begins: the kubelet, and pods whose starts are too long ago for the logs.
func (w *Watch) present(ctx context.Context) {
	since := time.Now().Add(-w.cfg.Back)
	var there crilist.Found
	if r := w.cfg.Found.Runtime; r.Process != nil {
		var err error
		if there, err = crilist.Read(ctx, r.Open, since); err != nil {
			w.say(trace.LevelWarn, "pods that run already are not known: "+err.Error())
		}
	}
	f := w.cfg.Found
	w.agent(f, cmp.Or(there.Name, f.Runtime.Name), cmp.Or(there.Version, f.RuntimeVersion))
	in := w.merger.Input()
	for i := range there.Records {
		in.Put(there.Records[i])
	}
	in.Close()
}

// agent publishes which kubelet is watched.
func (w *Watch) agent(f *discover.Found, runtime, version string) {
	at := f.Process.Since(w.cfg.View)
	if at.IsZero() {
		return
	}
	w.cfg.Bus.Insert(&trace.Record{
		Time: at.UnixNano(), Observer: trace.ObserverKernel, Precision: trace.PrecisionOf(time.Second), Span: trace.NewSpanID(),
		Event: &trace.Agent{State: trace.AgentReady, Node: f.Config.NodeName, Runtime: runtime, RuntimeVersion: version, Endpoint: f.Runtime.Endpoint, PID: f.Process.PID},
	})
}

// restarts says when the kubelet's process ends, and when there is another one.
func (w *Watch) restarts(ctx context.Context) error {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	looks := 0 // for the sockets of a kubelet that was started again
	for found, gone := w.cfg.Found, false; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		switch {
		case !gone && discover.Ended(w.cfg.View, found.Process):
			gone = true
			w.say(trace.LevelWarn, fmt.Sprintf("the kubelet's process %d has ended", found.Process.PID))
		case gone:
			if next, err := found.Again(w.cfg.View); err == nil {
				found, gone, looks = next, false, socketLooks
				w.now.Store(next)
				w.agent(next, next.Runtime.Name, next.RuntimeVersion)
				w.say(trace.LevelInfo, fmt.Sprintf("the kubelet was started again: process %d", next.Process.PID))
			}
		case looks > 0:
			looks--
			next, err := found.Again(w.cfg.View)
			if err == nil && next.Process.PID == found.Process.PID && next.Process.Began == found.Process.Began {
				found = next
				w.now.Store(next)
			}
		}
	}
}
