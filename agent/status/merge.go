package status

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// ours reports whether only the agent sets conditions of that type. Upstream: pkg/kubelet/types/pod_status.go,
// PodConditionByKubelet.
func ours(kind v1.PodConditionType) bool {
	return kind == v1.PodReady || kind == v1.ContainersReady || kind == v1.PodInitialized ||
		kind == v1.PodReadyToStartContainers || kind == v1.PodScheduled ||
		kind == v1.PodResizeInProgress || kind == v1.PodResizePending || kind == v1.AllContainersRestarting
}

// ofAgent reports whether the agent has set a condition: DisruptionTarget is set by others, too, for example the eviction API.
func ofAgent(c *v1.PodCondition) bool { return ours(c.Type) || sharedByUs(c) }

// sharedByUs reports whether the agent has set a condition of a type that others set, too.
func sharedByUs(c *v1.PodCondition) bool {
	return c.Type == v1.DisruptionTarget && c.Reason == v1.PodReasonTerminationByKubelet
}

func condition(s *v1.PodStatus, kind v1.PodConditionType) *v1.PodCondition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == kind {
			return &s.Conditions[i]
		}
	}
	return nil
}

// same reports whether two normalized statuses are equal in what the agent sets. Upstream:
// pkg/kubelet/status/status_manager.go, isPodStatusByKubeletEqual.
func same(a, b *v1.PodStatus) bool {
	count := 0
	for i := range a.Conditions {
		x := &a.Conditions[i]
		if !ofAgent(x) {
			continue
		}
		count++
		y := condition(b, x.Type)
		if y == nil || x.Status != y.Status || x.Reason != y.Reason || x.Message != y.Message {
			return false
		}
	}
	for i := range b.Conditions {
		if ofAgent(&b.Conditions[i]) {
			count--
		}
	}
	if count != 0 {
		return false
	}
	x := *a
	x.Conditions = b.Conditions
	foreign(&x, b)
	return equality.Semantic.DeepEqual(&x, b)
}

// foreign copies what other components than a kubelet set.
func foreign(to, from *v1.PodStatus) {
	to.ResourceClaimStatuses = from.ResourceClaimStatuses
	to.ExtendedResourceClaimStatus = from.ExtendedResourceClaimStatus
	to.NodeAllocatableResourceClaimStatuses = from.NodeAllocatableResourceClaimStatuses
}

// merge returns the status that the API should have, from the API's and the agent's. A terminal phase, with what
// belongs to it, is held back while containers may run. Neither input is changed. Upstream:
// pkg/kubelet/status/status_manager.go, mergePodStatus.
func merge(p *v1.Pod, api, want *v1.PodStatus, running bool, now time.Time) (merged *v1.PodStatus, held bool) {
	s := *want
	foreign(&s, api)
	s.Conditions = nil
	for _, c := range api.Conditions {
		// PodScheduled is kept, even if the agent's status does not have it.
		if !ours(c.Type) || (c.Type == v1.PodScheduled && condition(want, c.Type) == nil) {
			s.Conditions = append(s.Conditions, c)
		}
	}
	ending := !terminal(api.Phase) && terminal(want.Phase)
	held = ending && running
	for _, c := range want.Conditions {
		switch {
		case ours(c.Type):
			s.Conditions = append(s.Conditions, c)
		case sharedByUs(&c) && ending && !running:
			if old := condition(api, c.Type); old == nil || old.Status != c.Status {
				c.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
			}
			s.Conditions = append(slices.DeleteFunc(s.Conditions, func(o v1.PodCondition) bool { return o.Type == c.Type }), c)
		}
	}
	if held {
		s.Phase, s.Reason, s.Message = api.Phase, api.Reason, api.Message
	}
	if terminal(s.Phase) {
		neverReady(p, api, &s, now)
	}
	return &s, held
}

// neverReady makes a finished pod not ready. If one of its conditions says that it is, both get their reasons from the phase.
//
// Upstream: pkg/kubelet/status/status_manager.go, mergePodStatus.
func neverReady(p *v1.Pod, api, s *v1.PodStatus, now time.Time) {
	reason := "PodCompleted"
	if s.Phase == v1.PodFailed {
		reason = "PodFailed"
	}
	readiness := func(c *v1.PodCondition) bool { return c.Type == v1.PodReady || c.Type == v1.ContainersReady }
	if !slices.ContainsFunc(s.Conditions, func(c v1.PodCondition) bool { return readiness(&c) && c.Status == v1.ConditionTrue }) {
		return
	}
	for i := range s.Conditions {
		c := &s.Conditions[i]
		if !readiness(c) {
			continue
		}
		*c = v1.PodCondition{
			Type: c.Type, Status: v1.ConditionFalse, Reason: reason, ObservedGeneration: p.Generation,
			LastTransitionTime: metav1.NewTime(now).Rfc3339Copy(),
		}
		if old := condition(api, c.Type); old != nil && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
	}
}

// patchOf returns the patch to this status, bound to the object's UID; "" if nothing differs.
func patchOf(api *object, status *v1.PodStatus) (string, error) {
	before, err := json.Marshal(v1.Pod{Status: api.status})
	if err != nil {
		return "", err
	}
	after, err := json.Marshal(v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: api.uid}, Status: *status})
	if err != nil {
		return "", err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, v1.Pod{})
	if err != nil || string(patch) == fmt.Sprintf(`{"metadata":{"uid":%q}}`, api.uid) {
		return "", err
	}
	return string(patch), nil
}
