package agent

import (
	"context"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/admission"
	"github.com/kubeloupe/kubeloupe/agent/pods"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/worker"
)

// during implements pods.Resources: it is called while a pod is admitted.
type during func() admission.Verdict

func (f during) Reserve(context.Context, *v1.Pod) admission.Verdict { return f() }
func (during) Release(types.UID)                                    {}

type nothingSeen struct{}

func (nothingSeen) Get(types.UID) *podstate.Pod      { return nil }
func (nothingSeen) All() map[types.UID]*podstate.Pod { return nil }

// A pod that is being admitted when the node begins to shut down terminates as all others: admission has asked before. It has one end, also
// if admission rejects it; one that was rejected before has nothing to terminate.
func TestShutDownDuringAdmission(t *testing.T) {
	ok, no := admission.Verdict{OK: true}, admission.Verdict{Reason: "TopologyAffinityError"}
	for _, c := range []struct {
		name    string
		verdict admission.Verdict
		late    bool // the node shuts down after the pod was rejected
		found   int
		state   worker.State
		refused bool
	}{
		{"admitted", ok, false, 1, worker.Terminating, false},
		{"rejected", no, false, 1, worker.Terminating, false},
		{"rejected before", no, true, 0, worker.None, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { duringAdmission(t, c.verdict, c.late, c.found, c.state, c.refused) })
		})
	}
}

func duringAdmission(t *testing.T, verdict admission.Verdict, late bool, found int, state worker.State, refused bool) {
	p := &parts{pods: podParts{registry: worker.NewRegistry(), store: pods.NewStore()}}
	w, err := worker.New(worker.Config{Syncer: stuck{}, Registry: p.pods.registry})
	if err != nil {
		t.Fatal(err)
	}
	e := endable{p}
	p.pods.manager, err = pods.New(pods.Config{
		Workers: w, Seen: nothingSeen{}, Store: p.pods.store, MaxPods: 10,
		Resources: during(func() admission.Verdict {
			if late {
				return verdict
			}
			all := e.Active()
			for _, active := range all {
				e.ShutDown(t.Context(), active, 5)
			}
			if len(all) != found {
				t.Errorf("%d pods are active, want %d", len(all), found)
			}
			return verdict
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u", Name: "web", Namespace: "shop"}}
	p.pods.manager.Config(t.Context(), podsource.Update{Op: podsource.OpAdd, Source: "file", Pods: []*v1.Pod{pod}})
	if late {
		e.ShutDown(t.Context(), pod, 5) // it was active a moment before
	}
	synctest.Wait()
	if got := p.pods.registry.State("u"); got != state || p.pods.store.Refused("u") != refused {
		t.Errorf("the worker is %q, refused %t, want %q, %t", got, p.pods.store.Refused("u"), state, refused)
	}
	if all := e.Active(); len(all) != found {
		t.Errorf("%d pods are active at the end, want %d, each once", len(all), found)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Run(ctx); err != nil {
		t.Error(err)
	}
}
