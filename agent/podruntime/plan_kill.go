package podruntime

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/observe"
	podid "github.com/kubeloupe/kubeloupe/agent/pod"
)

// minimumGrace is the least time, in seconds, that a container gets to end by itself.
// Upstream: pkg/kubelet/kuberuntime, minimumGracePeriodInSeconds.
const minimumGrace = 2

// MakeKill plans the end of a pod: containers first, sidecars after the others,
// then the sandboxes. grace overrides the pod's own, in seconds.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, killPodWithSyncResult.
func MakeKill(pod *v1.Pod, seen *observe.Pod, grace *int64, why string) Plan {
	p := Plan{Why: why}
	stopAll(&p, pod, seen, gracePeriod(pod, grace), why)
	return p
}

// MakeClean plans what is left to do once nothing of the pod runs. remove says
// that the pod is gone for good, so its containers and logs go too; otherwise they stay
// for whoever wants to read the logs, until garbage collection.
func MakeClean(seen *observe.Pod, remove bool) Plan {
	p := Plan{Why: "nothing of the pod runs any more"}
	unmount := p.add(Step{ID: "unmount", Verb: VerbUnmount})
	after := []string{unmount}
	if remove && seen != nil {
		for _, s := range seen.Sandboxes {
			after = append(after, p.add(Step{ID: "remove-sandbox " + shortID(s.ID), Verb: VerbRemoveSandbox, Target: s.ID}))
		}
		for _, c := range orphans(seen) {
			after = append(after, p.add(Step{ID: "remove " + c.Name + " " + shortID(c.ID), Verb: VerbRemove, Container: c.Name, Target: c.ID}))
		}
	}
	p.add(Step{ID: "remove-cgroup", Verb: VerbRemoveCgroup})
	if remove {
		p.add(Step{ID: "remove-dirs", Verb: VerbRemoveDirs, Needs: after})
	}
	return p
}

// orphans are containers whose sandbox is not there: removing a sandbox removes
// its own containers.
func orphans(seen *observe.Pod) []observe.Container {
	has := map[string]bool{}
	for _, s := range seen.Sandboxes {
		has[s.ID] = true
	}
	var out []observe.Container
	for _, c := range seen.Containers {
		if !has[c.SandboxID] {
			out = append(out, c)
		}
	}
	return out
}

// stopAll adds the steps that end everything seen of a pod, and returns their IDs.
func stopAll(p *Plan, pod *v1.Pod, seen *observe.Pod, grace int64, why string) []string {
	if seen == nil {
		return nil
	}
	var mains, sidecars []string
	for _, late := range []bool{false, true} {
		for i := range seen.Containers {
			c := &seen.Containers[i]
			if c.State != observe.Running && c.State != observe.Unknown || isSidecar(pod, c.Name) != late {
				continue
			}
			s := Step{ID: "kill " + c.Name, Verb: VerbKill, Container: c.Name, Target: c.ID, Grace: grace, Reason: why}
			if p.has(s.ID) {
				s.ID += " " + shortID(c.ID)
			}
			if late {
				s.After = mains
				sidecars = append(sidecars, p.add(s))
			} else {
				mains = append(mains, p.add(s))
			}
		}
	}
	kills := append(append([]string(nil), mains...), sidecars...)
	ids := append([]string(nil), kills...)
	for _, s := range seen.Sandboxes {
		if s.Ready {
			ids = append(ids, p.add(Step{ID: "stop-sandbox " + shortID(s.ID), Verb: VerbStopSandbox, Target: s.ID, After: kills, Reason: why}))
		}
	}
	return ids
}

func isSidecar(pod *v1.Pod, name string) bool {
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == name {
			return podid.RestartableInit(c)
		}
	}
	return false
}

// gracePeriod is what the pod's containers get, in seconds.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, killContainer.
func gracePeriod(pod *v1.Pod, override *int64) int64 {
	return max(podid.GracePeriod(pod, override), minimumGrace)
}
