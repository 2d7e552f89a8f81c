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
type during func(pod *v1.Pod)

func (f during) Reserve(_ context.Context, pod *v1.Pod) admission.Verdict {
	f(pod)
	return admission.Verdict{OK: true}
}
func (during) Release(types.UID) {}

type nothingSeen struct{}

func (nothingSeen) Get(types.UID) *podstate.Pod      { return nil }
func (nothingSeen) All() map[types.UID]*podstate.Pod { return nil }

// A pod that is being admitted when the node begins to shut down terminates as all others: admission has asked before.
func TestShutDownDuringAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &parts{pods: podParts{registry: worker.NewRegistry(), store: pods.NewStore()}}
		w, err := worker.New(worker.Config{Syncer: stuck{}, Registry: p.pods.registry})
		if err != nil {
			t.Fatal(err)
		}
		e, found := endable{p}, 0
		p.pods.manager, err = pods.New(pods.Config{
			Workers: w, Seen: nothingSeen{}, Store: p.pods.store, MaxPods: 10,
			Resources: during(func(pod *v1.Pod) {
				for _, active := range e.Active() {
					e.ShutDown(t.Context(), active, 5)
					found++
				}
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u", Name: "web", Namespace: "shop"}}
		p.pods.manager.Config(t.Context(), podsource.Update{Op: podsource.OpAdd, Source: "file", Pods: []*v1.Pod{pod}})
		synctest.Wait()
		if state := p.pods.registry.State("u"); found != 1 || state != worker.Terminating || e.Ended("u") {
			t.Errorf("%d pods, the worker is %q, want one that terminates", found, state)
		}
		if all := e.Active(); len(all) != 1 {
			t.Errorf("%d pods, want each once", len(all))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	})
}
