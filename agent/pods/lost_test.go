package pods

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/agent/podstatus"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The runtime lost a container that ran, for example because somebody removed it. A container that must not run again does not start again.
func TestLostContainers(t *testing.T) {
	over := []string{"kill job grace=30, all containers have ended", "clean job remove=false"}
	ran := v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	failed := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 1}}
	done := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}
	for name, c := range map[string]struct {
		policy v1.RestartPolicy
		state  v1.ContainerState
		left   *podstate.Container // what the runtime has
		seen   bool                // whether that was seen
		want   []string
	}{
		"it ran, and never runs again":      {v1.RestartPolicyNever, ran, nil, true, over},
		"it had ended":                      {v1.RestartPolicyNever, done, nil, true, over},
		"it ran, and runs again if it must": {v1.RestartPolicyOnFailure, ran, nil, true, []string{"sync job"}},
		"it had failed, and runs again":     {v1.RestartPolicyOnFailure, failed, nil, true, []string{"sync job"}},
		"it had succeeded":                  {v1.RestartPolicyOnFailure, done, nil, true, over},
		"it always runs again":              {v1.RestartPolicyAlways, ran, nil, true, []string{"sync job"}},
		"its status says so already":        {v1.RestartPolicyNever, v1.ContainerState{}, nil, true, over},
		"it never ran":                      {v1.RestartPolicyNever, v1.ContainerState{Waiting: &v1.ContainerStateWaiting{}}, nil, true, []string{"sync job"}},
		"the runtime has it":                {v1.RestartPolicyNever, ran, &podstate.Container{ID: "1", Name: "app", State: podstate.Exited}, true, []string{"sync job"}},
		"what was seen is incomplete":       {v1.RestartPolicyNever, ran, &podstate.Container{ID: "1", Name: "app", State: podstate.Running}, false, []string{"sync job"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.syncer.cfg.Observer = runtimeOf{b.seen, c.left}
				b.syncer.cfg.Status = func(in StatusInput) (v1.PodStatus, trace.PodStatus) {
					seen := b.seen.Get(in.Pod.UID)
					st := podstatus.Generate(in.Pod, seen, podstatus.Inputs{Now: time.Now(), Previous: &in.Previous, Runtime: "containerd"})
					return st, podstatus.Trace(in.Pod, st, seen)
				}
				if c.left != nil && c.seen {
					b.seen["u1"] = &podstate.Pod{UID: "u1", Containers: []podstate.Container{*c.left}}
				}
				b.send(podsource.OpAdd, podOf("job", "u1", func(p *v1.Pod) {
					p.Annotations[podspec.AnnotationSource] = "api"
					p.Spec.RestartPolicy = c.policy
					p.Status.StartTime = new(metav1.Now())
					p.Status.Phase, p.Status.ContainerStatuses = v1.PodRunning, []v1.ContainerStatus{{Name: "app", State: c.state}}
					if c.state == (v1.ContainerState{}) {
						p.Status.ContainerStatuses[0].State.Waiting = &v1.ContainerStateWaiting{}
						p.Status.ContainerStatuses[0].LastTerminationState = failed
					}
				}))
				b.expect("calls", c.want, b.rt.took())
				b.stop()
			})
		})
	}
}

// runtimeOf is a runtime that has one container, or none.
type runtimeOf struct {
	fakeSeen
	has *podstate.Container
}

// Refresh implements podruntime.Observer.
func (r runtimeOf) Refresh(_ context.Context, uid types.UID) (*podstate.Pod, error) {
	if r.has == nil {
		return nil, nil //nolint:nilnil // the runtime has nothing of the pod
	}
	r.fakeSeen[uid] = &podstate.Pod{UID: uid, Containers: []podstate.Container{*r.has}}
	return r.fakeSeen[uid], nil
}
