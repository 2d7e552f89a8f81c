package gc

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/kubelet/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// ContainerPolicy says which dead containers are kept.
type ContainerPolicy struct {
	// MinAge is the minimum age of a dead container before it is removed (minimum-container-ttl-duration, 0).
	MinAge time.Duration
	// MaxPerContainer is how many dead containers of a name a pod keeps
	// (maximum-dead-containers-per-container, 1); negative means all.
	MaxPerContainer int
	// MaxTotal is how many dead containers the node keeps (maximum-dead-containers,
	// -1); negative means any number.
	MaxTotal int
}

// DefaultContainerPolicy returns upstream's policy.
func DefaultContainerPolicy() ContainerPolicy {
	return ContainerPolicy{MaxPerContainer: 1, MaxTotal: -1}
}

// ContainerInputs are all inputs of a container pass.
type ContainerInputs struct {
	Now        time.Time
	Policy     ContainerPolicy
	Containers []*runtimeapi.Container
	Sandboxes  []*runtimeapi.PodSandbox
	// LogDirs are the names of the directories in the pods' log directory.
	LogDirs []string
	// Deleted reports whether a pod, by UID, is certainly gone.
	Deleted func(uid string) bool
	// Terminated reports whether a pod's containers can all be removed, because none will run again; nil means that this is not
	// enough.
	Terminated func(uid string) bool
}

// whole returns why everything of a pod is removed; "" for a pod that keeps the usual.
func (in *ContainerInputs) whole(uid string) string {
	switch {
	case in.Deleted(uid):
		return "its pod is gone"
	case in.Terminated != nil && in.Terminated(uid):
		return "its pod has terminated, and the node is short of disk"
	}
	return ""
}

// PlanContainers returns a verdict on each candidate, in the order of removal: containers, sandboxes, log directories.
// Candidates are containers that do not run, sandboxes that are not ready, and log directories of deleted pods.
//
// Two differences from upstream: a container that was created and not started is kept while it is the newest of its
// name, and does not count as dead; and objects without a kubelet's labels are not changed.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_gc.go, evictContainers and evictSandboxes.
func PlanContainers(in ContainerInputs) []Verdict {
	containers := planDead(&in)
	verdicts := append(containers, planSandboxes(&in, containers)...)
	return append(verdicts, planLogDirs(&in)...)
}

// planDead decides about containers, newest first within a unit, units in order of their names.
func planDead(in *ContainerInputs) []Verdict {
	byUnit := make(map[unit][]*runtimeapi.Container)
	for _, c := range in.Containers {
		if u := unitOf(c); u.uid != "" {
			byUnit[u] = append(byUnit[u], c)
		}
	}
	var verdicts []Verdict
	var dead []deadContainer // kept so far; they count toward MaxTotal
	units := sorting.Keys(byUnit, func(a, b *unit) int {
		return cmp.Or(cmp.Compare(a.uid, b.uid), cmp.Compare(a.name, b.name))
	})
	for _, u := range units {
		all := byUnit[u]
		slices.SortStableFunc(all, func(a, b *runtimeapi.Container) int {
			// By attempts first: creation times are not reliable if the wall clock was set back.
			return cmp.Or(cmp.Compare(b.GetMetadata().GetAttempt(), a.GetMetadata().GetAttempt()), cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(a.Id, b.Id))
		})
		rank := 0
		for i, c := range all {
			if c.State == runtimeapi.ContainerState_CONTAINER_RUNNING {
				continue
			}
			v := describeContainer(c, in.Now)
			switch age := in.Now.Sub(time.Unix(0, c.CreatedAt)); {
			case age >= 0 && age < in.Policy.MinAge: // one in the future was created before the wall clock was set back
				v.Reason = fmt.Sprintf("it is younger than %v", in.Policy.MinAge)
			case in.whole(u.uid) != "":
				v.Remove, v.Reason = true, in.whole(u.uid)
			case i == 0 && c.State == runtimeapi.ContainerState_CONTAINER_CREATED:
				v.Reason = "it is about to start"
			default:
				rank++
				v.Inputs = append(v.Inputs, trace.KV{K: "rank", V: strconv.Itoa(rank)})
				v.Remove = in.Policy.MaxPerContainer >= 0 && rank > in.Policy.MaxPerContainer
				v.Reason = perContainer(in.Policy.MaxPerContainer, v.Remove)
				if !v.Remove {
					dead = append(dead, deadContainer{unit: u, rank: rank, created: c.CreatedAt, verdict: len(verdicts)})
				}
			}
			verdicts = append(verdicts, v)
		}
	}
	capTotal(in.Policy.MaxTotal, dead, verdicts)
	return verdicts
}

func perContainer(limit int, remove bool) string {
	switch {
	case remove:
		return fmt.Sprintf("the pod keeps the newest %d of its name", limit)
	case limit < 0:
		return "the pod keeps all containers of this name"
	default:
		return fmt.Sprintf("it is among the newest %d of its name", limit)
	}
}

func describeContainer(c *runtimeapi.Container, now time.Time) Verdict {
	return Verdict{
		Kind:    KindContainer,
		ID:      c.Id,
		Subject: fmt.Sprintf("container %s of %s (%s)", c.GetMetadata().GetName(), podName(c.Labels), short(c.Id)),
		Inputs: []trace.KV{
			{K: "state", V: c.State.String()},
			{K: "attempt", V: strconv.FormatUint(uint64(c.GetMetadata().GetAttempt()), 10)},
			{K: "age", V: now.Sub(time.Unix(0, c.CreatedAt)).Round(time.Second).String()},
			{K: "pod_uid", V: types.GetPodUID(c.Labels)},
			{K: "id", V: c.Id},
		},
		sandbox: c.PodSandboxId,
		unknown: c.State == runtimeapi.ContainerState_CONTAINER_UNKNOWN,
		logs:    logPattern(c),
	}
}
