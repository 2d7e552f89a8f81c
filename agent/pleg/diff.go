package pleg

import (
	"maps"
	"slices"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Type says what happened to a container or sandbox.
type Type = trace.PLEGType

// The lifecycle events, with upstream's names.
const (
	ContainerCreated = trace.ContainerCreated
	ContainerStarted = trace.ContainerStarted
	ContainerDied    = trace.ContainerDied
	ContainerRemoved = trace.ContainerRemoved
	SandboxChanged   = trace.SandboxChanged
)

// change is one difference between two observations of a pod.
type change struct {
	typ       Type
	container string
	name      string
	sandbox   string
}

// diff returns the changes from old to next; both may be nil.
func diff(old, next *podstate.Pod) []change {
	var out []change
	if next != nil {
		for i := len(next.Containers) - 1; i >= 0; i-- {
			c := &next.Containers[i]
			if t := moved(old.Container(c.ID), c); t != "" {
				out = append(out, change{typ: t, container: c.ID, name: c.Name, sandbox: c.SandboxID})
			}
		}
	}
	if old != nil {
		for i := range old.Containers {
			c := &old.Containers[i]
			if next.Container(c.ID) == nil {
				out = append(out, change{typ: ContainerRemoved, container: c.ID, name: c.Name, sandbox: c.SandboxID})
			}
		}
	}
	return append(out, sandboxChanges(old, next)...)
}

func moved(old, next *podstate.Container) Type {
	if old != nil && old.State == next.State {
		return ""
	}
	switch next.State {
	case podstate.Created:
		return ContainerCreated
	case podstate.Running:
		return ContainerStarted
	case podstate.Exited:
		return ContainerDied
	case podstate.Unknown:
	}
	return SandboxChanged
}

func sandboxChanges(old, next *podstate.Pod) []change {
	ready := map[string]bool{}
	if old != nil {
		for _, s := range old.Sandboxes {
			ready[s.ID] = s.Ready
		}
	}
	var out []change
	if next != nil {
		for _, s := range next.Sandboxes {
			if was, known := ready[s.ID]; !known || was != s.Ready {
				out = append(out, change{typ: SandboxChanged, sandbox: s.ID})
			}
			delete(ready, s.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(ready)) {
		out = append(out, change{typ: SandboxChanged, sandbox: id})
	}
	return out
}
