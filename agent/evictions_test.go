package agent

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/config"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/worker"
)

// stuck is a syncer whose pods do not end.
type stuck struct{ worker.Syncer }

// Sync implements worker.Syncer.
func (stuck) Sync(context.Context, *v1.Pod, uint64) (worker.Result, error) {
	return worker.Result{}, nil
}

// Terminate implements worker.Syncer.
func (stuck) Terminate(ctx context.Context, _ *v1.Pod, _ *int64, _ string, _ uint64) error {
	<-ctx.Done()
	return ctx.Err()
}

// A pod that is terminating can be evicted, too, if it then ends sooner: not one with a grace period that is as short, nor one whose
// containers have exited.
func TestEvictable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &parts{pods: podParts{registry: worker.NewRegistry()}}
		m, err := worker.New(worker.Config{Syncer: stuck{}, Registry: p.pods.registry})
		if err != nil {
			t.Fatal(err)
		}
		state := map[types.UID]podstate.State{"running": podstate.Running, "exited": podstate.Exited, "lost": podstate.Unknown}
		e := &evictable{p: p, seen: func(uid types.UID) *podstate.Pod {
			s, known := state[uid]
			if !known {
				s = podstate.Running
			}
			return &podstate.Pod{Containers: []podstate.Container{{State: s}}}
		}}
		ask := func(uid types.UID, a worker.Ask) {
			a.Pod = &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}}
			m.Ask(uid, worker.Ask{Pod: a.Pod})
			if a.End {
				m.Ask(uid, a)
			}
		}
		ask("runs", worker.Ask{})
		ask("running", worker.Ask{End: true})
		ask("lost", worker.Ask{End: true})
		ask("exited", worker.Ask{End: true})
		ask("gone", worker.Ask{End: true, Remove: true})
		ask("slow", worker.Ask{End: true, Grace: new(int64(2))})
		ask("evicted", worker.Ask{End: true, Grace: new(int64(1))})
		synctest.Wait()
		for grace, want := range map[int64][]types.UID{
			0: {"lost", "running", "runs", "slow"}, 1: {"lost", "running", "runs", "slow"}, 2: {"lost", "running", "runs"}, 30: {"runs"},
		} {
			var got []types.UID
			for _, pod := range e.Active(func(*v1.Pod) int64 { return grace }) {
				got = append(got, pod.UID)
			}
			slices.Sort(got)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("grace period of %d s: %s", grace, d)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := m.Run(ctx); err != nil {
			t.Error(err)
		}
	})
}

// A pod of which the runtime has a sandbox, or a container that has exited, has started.
func TestEmpty(t *testing.T) {
	seen := map[types.UID]*podstate.Pod{
		"sandbox": {Sandboxes: []podstate.Sandbox{{ID: "s"}}}, "exited": {Containers: []podstate.Container{{State: podstate.Exited}}}, "gone": {},
	}
	e := &evictable{seen: func(uid types.UID) *podstate.Pod { return seen[uid] }}
	for uid, want := range map[types.UID]bool{"sandbox": false, "exited": false, "gone": true, "new": true} {
		if e.Empty(uid) != want {
			t.Errorf("%s: %t", uid, !want)
		}
	}
}

// The memory of all pods together has the hard threshold of the node's, if it is limited, and if allocatable is less than that by the threshold.
func TestAllocatableThreshold(t *testing.T) {
	for _, c := range []struct {
		cgroups *cgroup.Manager
		enforce []string
		ignore  bool
		want    bool
	}{
		{cgroups: &cgroup.Manager{}, enforce: []string{"pods"}, want: true},
		{cgroups: &cgroup.Manager{}, enforce: []string{"pods"}, ignore: true},
		{cgroups: &cgroup.Manager{}, enforce: []string{"none"}},
		{enforce: []string{"pods"}},
	} {
		p := &parts{cgroups: c.cgroups, cfg: Config{Kubelet: &config.Config{
			API:     config.API{IgnoreEviction: c.ignore},
			Kubelet: &kubeletv1beta1.KubeletConfiguration{EvictionHard: map[string]string{"memory.available": "5%"}, EnforceNodeAllocatable: c.enforce},
		}}}
		if got := p.evictionSettings().Allocatable; got != c.want {
			t.Errorf("cgroups %t, enforced %v, --experimental-allocatable-ignore-eviction=%t: %t", c.cgroups != nil, c.enforce, c.ignore, got)
		}
	}
}

// A pod that terminates may still use devices.
func TestTerminatingPodsHaveDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &parts{
			cfg:  Config{Kubelet: &config.Config{Kubelet: &kubeletv1beta1.KubeletConfiguration{}}},
			pods: podParts{registry: worker.NewRegistry()},
		}
		m, err := worker.New(worker.Config{Syncer: stuck{}, Registry: p.pods.registry})
		if err != nil {
			t.Fatal(err)
		}
		m.Ask("u", worker.Ask{Pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}}, End: true})
		synctest.Wait()
		if n := len(p.deviceConfig().Active()); n != 1 {
			t.Errorf("%d pods, want 1", n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := m.Run(ctx); err != nil {
			t.Error(err)
		}
	})
}
