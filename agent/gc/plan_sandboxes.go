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
)

// planSandboxes decides about sandboxes that are not ready, given the verdicts on the containers.
func planSandboxes(in *ContainerInputs, containers []Verdict) []Verdict {
	left := make(map[string]int) // containers that are kept, by sandbox
	for _, c := range in.Containers {
		left[c.PodSandboxId]++
	}
	for _, v := range containers {
		if v.Remove {
			left[v.sandbox]--
		}
	}
	all := slices.DeleteFunc(slices.Clone(in.Sandboxes), func(s *runtimeapi.PodSandbox) bool {
		return types.GetPodUID(s.Labels) == ""
	})
	slices.SortStableFunc(all, func(a, b *runtimeapi.PodSandbox) int {
		return cmp.Or(cmp.Compare(types.GetPodUID(a.Labels), types.GetPodUID(b.Labels)),
			cmp.Compare(b.GetMetadata().GetAttempt(), a.GetMetadata().GetAttempt()), cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(a.Id, b.Id))
	})
	var verdicts []Verdict
	for i, s := range all {
		uid := types.GetPodUID(s.Labels)
		newest := i == 0 || types.GetPodUID(all[i-1].Labels) != uid
		if s.State == runtimeapi.PodSandboxState_SANDBOX_READY {
			continue
		}
		v := Verdict{
			Kind:    KindSandbox,
			ID:      s.Id,
			Subject: fmt.Sprintf("sandbox of %s (%s)", podName(s.Labels), short(s.Id)),
			Inputs: []trace.KV{
				{K: "attempt", V: strconv.FormatUint(uint64(s.GetMetadata().GetAttempt()), 10)},
				{K: "age", V: in.Now.Sub(time.Unix(0, s.CreatedAt)).Round(time.Second).String()},
				{K: "containers", V: strconv.Itoa(left[s.Id])},
				{K: "pod_uid", V: uid},
				{K: "id", V: s.Id},
			},
		}
		switch {
		case left[s.Id] > 0:
			v.Reason = fmt.Sprintf("it still has containers: %d", left[s.Id])
		case in.whole(uid) != "":
			v.Remove, v.Reason = true, in.whole(uid)
		case newest:
			v.Reason = "it is the newest sandbox of its pod"
		default:
			v.Remove, v.Reason = true, "its pod has a newer sandbox"
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}
