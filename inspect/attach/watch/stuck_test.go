package watch

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/inspect/attach/internal/order"
	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/trace"
)

// entryOf is an entry of the kubelet's log that is written now.
func entryOf(pod string) message {
	return message{from: kubeletLog, entry: &klog.Entry{
		Time: time.Now(), Severity: klog.Info, Msg: "SyncLoop ADD", Fields: []klog.Field{{Key: "source", Value: "api"}, {Key: "pods", Value: `["a/` + pod + `"]`}},
	}}
}

// TestStuck has the reader of the kubelet's log be stuck, and another observer see nothing, while a third one floods the watch: what it sees
// is published soon, and no more waits than may. Later the log continues, and nothing of it is missing.
func TestStuck(t *testing.T) {
	const (
		minutes = 5
		each    = 10 * time.Millisecond
		size    = 20 << 10 // of a record, which is a list of texts
	)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		bus := trace.NewBus(1 << 12)
		cur := bus.Subscribe(trace.FromOldest)
		defer cur.Close()
		w := New(Config{Found: &discover.Found{Process: &discover.Process{PID: 1}}, Bus: bus, View: fstest.MapFS{}})
		w.began = time.Now()
		w.logs[kubeletLog] = &log{input: w.merger.Input()}
		w.logs[runtimeLog] = &log{input: w.merger.Input()}
		flood, silent := &beside{input: w.merger.Input()}, &beside{input: w.merger.Input()}
		w.beside = []*beside{flood, silent}
		ended := make(chan struct{})
		go func() {
			w.publish(ctx)
			close(ended)
		}()
		var waiting, most int
		var latest time.Duration // that a record waited
		told := map[string]int{}
		take := func() {
			buf := make([]trace.Record, 0, 512)
			for recs, _ := cur.Poll(buf); len(recs) > 0; recs, _ = cur.Poll(buf) {
				for i := range recs {
					switch e := recs[i].Event.(type) {
					case *trace.RuntimeSpan:
						waiting--
						latest = max(latest, time.Since(recs[i].At()))
					case *trace.Log:
						told[e.Message]++
					case *trace.Milestone:
						told[recs[i].Pod.Name+" "+string(e.Name)]++
					}
				}
			}
		}
		w.pass(ctx, entryOf("before"))
		attrs := slices.Repeat([]trace.KV{{V: strings.Repeat("x", size/8)}}, 8)
		for began := time.Now(); time.Since(began) < minutes*time.Minute; time.Sleep(each) {
			rec := trace.Record{Time: time.Now().UnixNano(), Span: trace.NewSpanID(), Observer: trace.ObserverKernel, Event: &trace.RuntimeSpan{Name: "x", Attrs: attrs}}
			w.pass(ctx, message{by: flood, rec: rec})
			waiting++
			synctest.Wait()
			take()
			most = max(most, waiting)
		}
		if most*size > 2*order.MaxBytes {
			t.Errorf("%d records of %d bytes wait", most, size)
		}
		if limit := stuck + 2*hold + window + time.Second; latest > limit {
			t.Errorf("a record waited for %v, want at most %v", latest, limit)
		}
		w.pass(ctx, entryOf("after"))
		w.pass(ctx, message{from: kubeletLog, idle: true})
		time.Sleep(2 * stuck / 3)
		synctest.Wait()
		take()
		if waiting != 0 || told["before seen"] != 1 || told["after seen"] != 1 || told["attach: the kubelet's log could not be read for 15s: its records will be late"] != 1 {
			t.Errorf("%d records are missing; told %v", waiting, told)
		}
		cancel()
		<-ended
	})
}
