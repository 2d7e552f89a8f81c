package pods

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/admission"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// fakeDevices has the results of its calls, and records them. It implements Devices; gives is the part that reserves.
type fakeDevices struct {
	verdict  admission.Verdict
	allocate error
	wait     chan struct{} // Allocate waits for it
	calls    []string
}

type gives struct{ *fakeDevices }

func (f gives) Reserve(_ context.Context, pod *v1.Pod) admission.Verdict {
	f.calls = append(f.calls, "reserve "+pod.Name)
	return f.verdict
}

func (f gives) Release(types.UID) {}

func (f *fakeDevices) Allocate(ctx context.Context, pod *v1.Pod) error {
	f.calls = append(f.calls, "allocate "+pod.Name)
	if f.wait != nil {
		select {
		case <-f.wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return f.allocate
}

func (f *fakeDevices) Release(uid types.UID) { f.calls = append(f.calls, "release "+string(uid)) }

// A pod for which there are too few devices is rejected, with upstream's words.
func TestTooFewDevices(t *testing.T) {
	d := newDesk(t, 0)
	f := &fakeDevices{verdict: admission.Verdict{Reason: "UnexpectedAdmissionError", Message: "Allocate failed due to no healthy devices present, which is unexpected"}}
	d.cfg.Devices, d.cfg.Resources = f, gives{f}
	d.send(podsource.OpAdd, podOf("web", "u1"))
	d.asked()
	d.decided("admission default/web: reject, UnexpectedAdmissionError: Allocate failed due to no healthy devices present, which is unexpected")
	if diff := cmp.Diff([]string{"reserve web", "release u1"}, f.calls); diff != "" {
		t.Error(diff)
	}
	d.cfg.Store.with("u1", func(e *entry) {
		if e.status.Phase != v1.PodFailed || e.status.Reason != "UnexpectedAdmissionError" || !e.refused {
			t.Errorf("status %+v", e.status)
		}
	})
	if ev := tracetest.Events[trace.NodeEvent](d.rec); len(ev) != 1 || ev[0].Reason != "UnexpectedAdmissionError" {
		t.Errorf("events %+v", ev)
	}
}

// Devices of a pod that is rejected for something else afterwards are released.
func TestRejectedAfterDevices(t *testing.T) {
	d := newDesk(t, 0)
	f := &fakeDevices{verdict: admission.Verdict{OK: true}}
	d.cfg.Devices, d.cfg.Resources = f, gives{f}
	d.send(podsource.OpAdd, podOf("a", "u1", hostPort(80)), podOf("b", "u2", hostPort(80)))
	if diff := cmp.Diff([]string{"reserve a", "reserve b", "release u2"}, f.calls); diff != "" {
		t.Error(diff)
	}
}

// The plugin fails: nothing of the pod is created, and it is rejected.
func TestPluginFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		f := &fakeDevices{verdict: admission.Verdict{OK: true}, allocate: errors.New("rpc error: code = Unknown desc = broken")}
		b.cfg.Devices, b.cfg.Resources, b.syncer.cfg.Devices = f, gives{f}, f
		b.send(podsource.OpAdd, podOf("web", "u1"))
		for _, call := range b.rt.took() {
			if call == "sync web" {
				t.Error("the pod was started")
			}
		}
		if diff := cmp.Diff([]string{"reserve web", "allocate web", "release u1"}, f.calls); diff != "" {
			t.Error(diff)
		}
		b.cfg.Store.with("u1", func(e *entry) {
			want := "Pod was rejected: Allocate failed due to rpc error: code = Unknown desc = broken, which is unexpected"
			if e.failed == nil || e.failed.Reason != "UnexpectedAdmissionError" || e.failed.Message != want {
				t.Errorf("failed %+v", e.failed)
			}
		})
	})
}

// The plugin hangs, and the pod is deleted meanwhile: it ends, and is not rejected.
func TestPluginHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		f := &fakeDevices{verdict: admission.Verdict{OK: true}, wait: make(chan struct{})}
		b.cfg.Devices, b.cfg.Resources, b.syncer.cfg.Devices = f, gives{f}, f
		pod := podOf("web", "u1")
		b.send(podsource.OpAdd, pod)
		b.send(podsource.OpAdd, podOf("other", "u2", hostPort(81))) // the loop goes on
		b.send(podsource.OpRemove, pod)
		if b.cfg.Store.Known("u1") {
			t.Error("the pod is there")
		}
		for _, d := range tracetest.Events[trace.Decision](b.rec) {
			if d.Verdict == trace.VerdictReject {
				t.Errorf("%+v", d)
			}
		}
	})
}
