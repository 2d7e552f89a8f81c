package crilist

import (
	"maps"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

// identity begins the labels by which a kubelet finds its sandboxes: the pod's name, namespace and UID.
const identity = "io.kubernetes.pod."

// LabelsOf returns the labels of a pod, from those of its sandbox: a kubelet adds the pod's identity. Upstream:
// pkg/kubelet/kuberuntime/labels.go, newPodLabels.
func LabelsOf(sandbox map[string]string) *trace.Labels {
	own := maps.Clone(sandbox)
	maps.DeleteFunc(own, func(key, _ string) bool { return strings.HasPrefix(key, identity) })
	return trace.LabelsOf(own)
}
