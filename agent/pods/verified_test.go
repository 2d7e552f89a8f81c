package pods

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// Until the agent has a status of a pod, the pods API does not show it as Ready. Clients learn when it has one, even if it is the same.
func TestVerified(t *testing.T) {
	ready := v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{
		{Type: v1.PodInitialized, Status: v1.ConditionTrue}, {Type: v1.PodReady, Status: v1.ConditionTrue},
	}}
	told := 0
	store := NewStore(func(types.UID) { told++ })
	rec := tracetest.New(t)
	syncer, err := NewSyncer(SyncerConfig{
		Runtime: &fakeRuntime{}, Network: &fakeNetwork{}, Store: store, Bus: rec.Bus(),
		Status: func(StatusInput) (v1.PodStatus, trace.PodStatus) {
			return *ready.DeepCopy(), trace.PodStatus{Phase: trace.PodRunning}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	pod := podOf("web", "u1")
	pod.Status = *ready.DeepCopy()
	store.put(pod, time.Now())
	show := func(p *v1.Pod) string {
		text := ""
		for _, c := range p.Status.Conditions {
			text += string(c.Type) + "=" + string(c.Status) + " " + c.Reason + " " + c.Message + ";"
		}
		return text
	}
	check := func(when, want string) {
		t.Helper()
		all := Verified{store}.Pods()
		if len(all) != 1 || show(&all[0]) != want || show(Verified{store}.Copy("u1")) != want {
			t.Errorf("%s: %q, want %q", when, show(&all[0]), want)
		}
	}
	check("before a status", "Initialized=True  ;Ready=False ContainersNotReady Kubelet is initializing pod containers;")
	own := "Initialized=True  ;Ready=True  ;"
	if got := show(store.Copy("u1")); got != own || show(pod) != own {
		t.Errorf("the store has %q, the API's pod %q, want %q", got, show(pod), own)
	}
	before := told
	for range 2 {
		syncer.makeStatus(t.Context(), pod, nil, &words{})
	}
	check("with a status", own)
	if told != before+1 {
		t.Errorf("%d changes, want 1", told-before)
	}
	if v := (Verified{store}); v.Copy("u2") != nil {
		t.Error("a pod that does not exist")
	}
}
