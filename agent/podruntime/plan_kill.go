package podruntime

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// minimumGrace is the least time, in seconds, that a container gets to exit by itself. Upstream:
// pkg/kubelet/kuberuntime, minimumGracePeriodInSeconds.
const minimumGrace = 2

// stepUnmount is the step of every cleanup.
const stepUnmount = "unmount"

// MakeKill plans the termination of a pod: all preStop hooks, containers, then each sidecar after the others and the sidecars after
// it have exited or the grace period has expired, then the sandboxes. stopped are those that this agent has stopped already. grace
// overrides the pod's own, in seconds.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, killPodWithSyncResult.
func MakeKill(pod *v1.Pod, seen *podstate.Pod, stopped map[string]bool, grace *int64, why string) Plan {
	p := Plan{Why: why}
	stopAll(&p, pod, seen, stopped, podspec.GracePeriod(pod, grace), why)
	return p
}

// MakeClean plans the cleanup of a pod without running containers. remove says that the pod is deleted, so its
// containers and logs are removed too; otherwise garbage collection removes them later, so that the logs remain
// readable. noCgroup says that an earlier cleanup has removed the pod's cgroup.
func MakeClean(seen *podstate.Pod, remove, noCgroup bool) Plan {
	p := Plan{Why: "nothing of the pod runs any more"}
	unmount := p.add(Step{ID: stepUnmount, Verb: trace.VerbUnmount})
	after := []string{unmount}
	if remove && seen != nil {
		for _, s := range seen.Sandboxes {
			after = append(after, p.add(Step{ID: "remove-sandbox " + shortID(s.ID), Verb: trace.VerbRemoveSandbox, Target: s.ID}))
		}
		for _, c := range orphans(seen) {
			after = append(after, p.add(Step{ID: "remove " + c.Name + " " + shortID(c.ID), Verb: trace.VerbRemove, Container: c.Name, Target: c.ID}))
		}
	}
	if !noCgroup {
		p.add(Step{ID: "remove-cgroup", Verb: trace.VerbRemoveCgroup})
	}
	if remove {
		p.add(Step{ID: "remove-dirs", Verb: trace.VerbRemoveDirs, Needs: after})
	}
	return p
}

// orphans returns containers without a sandbox: removing a sandbox removes its own containers.
func orphans(seen *podstate.Pod) []podstate.Container {
	has := map[string]bool{}
	for _, s := range seen.Sandboxes {
		has[s.ID] = true
	}
	var out []podstate.Container
	for _, c := range seen.Containers {
		if !has[c.SandboxID] {
			out = append(out, c)
		}
	}
	return out
}

// stopAll adds the steps that stop everything seen of a pod, and returns their IDs. A sandbox that is not ready may still have its network:
// only a successful StopPodSandbox shows that it has none, so each sandbox is stopped that is not in stopped.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_termination_order.go and kuberuntime_manager.go, killPodWithSyncResult.
func stopAll(p *Plan, pod *v1.Pod, seen *podstate.Pod, stopped map[string]bool, grace int64, why string) []string {
	if seen == nil {
		return nil
	}
	var kills, turn []string // turn are the steps that the next sidecar waits for
	stop := func(c *podstate.Container, after []string) string {
		s := Step{Grace: grace, Reason: why}
		if len(after) > 0 && grace > 0 {
			s.After, s.Timeout = after, grace
		}
		id := addKill(p, pod, c, s)
		kills = append(kills, id)
		return id
	}
	for i := range seen.Containers {
		c := &seen.Containers[i]
		if !mayRun(c) || isSidecar(pod, c.Name) {
			continue
		}
		if id := stop(c, nil); isApp(pod, c.Name) {
			turn = append(turn, id)
		}
	}
	for i := len(pod.Spec.InitContainers) - 1; i >= 0; i-- {
		if !podspec.RestartableInit(&pod.Spec.InitContainers[i]) {
			continue
		}
		var mine []string
		for j := range seen.Containers {
			if c := &seen.Containers[j]; mayRun(c) && c.Name == pod.Spec.InitContainers[i].Name {
				mine = append(mine, stop(c, slices.Clone(turn)))
			}
		}
		turn = append(turn, mine...)
	}
	ids := slices.Clone(kills)
	for _, s := range seen.Sandboxes {
		if s.Ready || !stopped[s.ID] {
			ids = append(ids, p.add(Step{ID: "stop-sandbox " + shortID(s.ID), Verb: trace.VerbStopSandbox, Target: s.ID, After: kills, Reason: why}))
		}
	}
	return ids
}

// addKill adds the termination of one container: its preStop hook at once, then the kill.
func addKill(p *Plan, pod *v1.Pod, c *podstate.Container, s Step) string {
	s.ID, s.Verb, s.Container, s.Target = "kill "+c.Name, trace.VerbKill, c.Name, c.ID
	hook := "pre-stop " + c.Name
	if p.has(s.ID) {
		s.ID += " " + shortID(c.ID)
		hook += " " + shortID(c.ID)
	}
	if preStop(pod, c) != nil && s.Grace > 0 && c.State == podstate.Running {
		p.add(Step{ID: hook, Verb: trace.VerbPreStop, Container: c.Name, Target: c.ID, Grace: s.Grace, Reason: s.Reason, Message: s.Message})
		// The hook ends within the grace period.
		s.Needs = append(s.Needs, hook)
	}
	return p.add(s)
}

// preStop returns the container's hook: from the spec or, if the spec no longer has the container, the one that it was
// created with.
func preStop(pod *v1.Pod, c *podstate.Container) *v1.LifecycleHandler {
	spec := podspec.Container(pod, c.Name)
	if spec == nil {
		return c.PreStop
	}
	if spec.Lifecycle == nil {
		return nil
	}
	return spec.Lifecycle.PreStop
}

func mayRun(c *podstate.Container) bool {
	return c.State == podstate.Running || c.State == podstate.Unknown
}

func isApp(pod *v1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c v1.Container) bool { return c.Name == name })
}

func isSidecar(pod *v1.Pod, name string) bool {
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == name {
			return podspec.RestartableInit(c)
		}
	}
	return false
}
