package logs

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Running returns the running containers of pods that write a log, in no order.
func Running(pods map[types.UID]*podstate.Pod) []Container {
	var out []Container
	for uid, pod := range pods {
		ref := trace.Pod{Namespace: pod.Namespace, Name: pod.Name, UID: string(uid)}
		for _, c := range pod.Containers {
			if c.State == podstate.Running && c.LogPath != "" {
				out = append(out, Container{ID: c.ID, Path: c.LogPath, Pod: ref})
			}
		}
	}
	return out
}
