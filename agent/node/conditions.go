package node

import (
	"errors"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// pressures are the pressure conditions, in the object's order.
var pressures = []struct {
	kind      v1.NodeConditionType
	of        func(Pressure) bool
	yes, no   string // reasons
	yesM, noM string // messages
	events    [2]string
}{
	{
		v1.NodeMemoryPressure, func(p Pressure) bool { return p.Memory },
		"KubeletHasInsufficientMemory", "KubeletHasSufficientMemory", "kubelet has insufficient memory available", "kubelet has sufficient memory available",
		[2]string{"NodeHasInsufficientMemory", "NodeHasSufficientMemory"},
	},
	{
		v1.NodeDiskPressure, func(p Pressure) bool { return p.Disk },
		"KubeletHasDiskPressure", "KubeletHasNoDiskPressure", "kubelet has disk pressure", "kubelet has no disk pressure",
		[2]string{"NodeHasDiskPressure", "NodeHasNoDiskPressure"},
	},
	{
		v1.NodePIDPressure, func(p Pressure) bool { return p.PID },
		"KubeletHasInsufficientPID", "KubeletHasSufficientPID", "kubelet has insufficient PID available", "kubelet has sufficient PID available",
		[2]string{"NodeHasInsufficientPID", "NodeHasSufficientPID"},
	},
}

// setConditions sets the conditions, Ready last, and returns the reasons of the events to record.
func setConditions(s *v1.NodeStatus, f facts) (reasons []string) {
	for _, p := range pressures {
		c := v1.NodeCondition{Type: p.kind, Status: v1.ConditionFalse, Reason: p.no, Message: p.noM}
		event := p.events[1]
		if p.of(f.pressure) {
			c.Status, c.Reason, c.Message, event = v1.ConditionTrue, p.yes, p.yesM, p.events[0]
		}
		if setCondition(s, c, f) {
			reasons = append(reasons, event)
		}
	}
	ready := v1.NodeCondition{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"}
	event := "NodeReady"
	errs := f.notReady
	var missing []string
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourcePods, v1.ResourceEphemeralStorage} {
		if name == v1.ResourceEphemeralStorage && f.noStorage {
			continue
		}
		if _, ok := s.Capacity[name]; !ok {
			missing = append(missing, string(name))
		}
	}
	if len(missing) > 0 {
		errs = append(slices.Clip(errs), errors.New("missing node capacity for resources: "+strings.Join(missing, ", ")))
	}
	if err := utilerrors.NewAggregate(errs); err != nil {
		ready.Status, ready.Reason, ready.Message, event = v1.ConditionFalse, "KubeletNotReady", err.Error(), "NodeNotReady"
	}
	if f.warning != "" {
		ready.Message += ". WARNING: " + f.warning
	}
	was := condition(s, v1.NodeReady)
	first := was == nil
	if setCondition(s, ready, f) && (!first || ready.Status == v1.ConditionTrue) {
		reasons = append(reasons, event)
	}
	return reasons
}

// setCondition replaces the condition of c's type and reports whether its status changed.
func setCondition(s *v1.NodeStatus, c v1.NodeCondition, f facts) (turned bool) {
	c.LastHeartbeatTime = f.now
	old := condition(s, c.Type)
	if old == nil {
		c.LastTransitionTime = f.now
		s.Conditions = append(s.Conditions, c)
		return true
	}
	c.LastTransitionTime = old.LastTransitionTime
	if old.Status != c.Status {
		c.LastTransitionTime, turned = f.now, true
	}
	*old = c
	return turned
}

// condition returns the condition of a type; nil if there is none.
func condition(s *v1.NodeStatus, kind v1.NodeConditionType) *v1.NodeCondition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == kind {
			return &s.Conditions[i]
		}
	}
	return nil
}

func isReady(node *v1.Node) bool {
	c := condition(&node.Status, v1.NodeReady)
	return c != nil && c.Status == v1.ConditionTrue
}
