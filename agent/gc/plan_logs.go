package gc

import (
	"slices"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/kubelet/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

// planLogDirs decides about the log directories of deleted pods. One is kept while a container of its pod runs, and so is what has another name.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_gc.go, evictPodLogsDirectories. Upstream removes both.
func planLogDirs(in *ContainerInputs) []Verdict {
	running := make(map[string]bool)
	for _, c := range in.Containers {
		if c.State == runtimeapi.ContainerState_CONTAINER_RUNNING {
			running[types.GetPodUID(c.Labels)] = true
		}
	}
	var verdicts []Verdict
	for _, name := range slices.Sorted(slices.Values(in.LogDirs)) {
		uid, ok := logDirUID(name)
		if !ok || !in.Deleted(uid) {
			continue
		}
		v := Verdict{
			Kind: KindLogDir, ID: name, Subject: "log directory " + name,
			Remove: true, Reason: "its pod is gone",
			Inputs: []trace.KV{{K: "pod_uid", V: uid}},
		}
		if running[uid] {
			v.Remove, v.Reason = false, "a container of its pod still runs"
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// PlanLinks decides about log links without a target, given by name. A link is kept unless its container is known to be
// dead: its log may be being rotated. A name that is cut may have a part of the container's ID, or none of it.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_gc.go, evictPodLogsDirectories. Upstream also removes links with other names.
func PlanLinks(dangling []string, containers []*runtimeapi.Container) []Verdict {
	var verdicts []Verdict
	for _, name := range slices.Sorted(slices.Values(dangling)) {
		id, ok := linkContainer(name)
		cut := isCutLink(name)
		if !ok && !cut {
			continue
		}
		v := Verdict{
			Kind: KindLogLink, ID: name, Subject: "log link " + name,
			Remove: true, Reason: "it is a dangling link, and its container is gone",
			Inputs: []trace.KV{{K: "id", V: id}},
		}
		if !ok {
			v.Reason = "it is a dangling link, and its name is too long for the ID of its container"
			verdicts = append(verdicts, v)
			continue
		}
		for _, c := range containers {
			switch mine := c.Id == id || cut && strings.HasPrefix(c.Id, id); {
			case mine && c.State != runtimeapi.ContainerState_CONTAINER_EXITED:
				v.Remove, v.Reason = false, "its container is not dead: the log may be being rotated"
			case mine && v.Remove:
				v.Reason = "it is a dangling link, and its container has exited"
			}
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}
