package criconfig

import (
	"encoding/json"
	"maps"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubelet/pkg/types"
)

const (
	annHash              = "io.kubernetes.container.hash"
	annRestartCount      = "io.kubernetes.container.restartCount"
	annTerminationPath   = "io.kubernetes.container.terminationMessagePath"
	annTerminationPolicy = "io.kubernetes.container.terminationMessagePolicy"
	annPreStop           = "io.kubernetes.container.preStopHandler"
	annPorts             = "io.kubernetes.container.ports"
	annDeletionGrace     = "io.kubernetes.pod.deletionGracePeriod"
	annTerminationGrace  = "io.kubernetes.pod.terminationGracePeriod"
	labelPodName         = types.KubernetesPodNameLabel
	labelPodNamespace    = types.KubernetesPodNamespaceLabel
	labelPodUID          = types.KubernetesPodUIDLabel
	labelContainerName   = types.KubernetesContainerNameLabel
)

// sandboxLabels returns the pod's own labels and its identity.
//
// Upstream: pkg/kubelet/kuberuntime/labels.go, newPodLabels.
func sandboxLabels(pod *v1.Pod) map[string]string {
	labels := maps.Clone(pod.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[labelPodName] = pod.Name
	labels[labelPodNamespace] = pod.Namespace
	labels[labelPodUID] = string(pod.UID)
	return labels
}

// containerLabels returns only the identity: a container does not inherit its pod's labels.
//
// Upstream: pkg/kubelet/kuberuntime/labels.go, newContainerLabels.
func containerLabels(pod *v1.Pod, c *v1.Container) map[string]string {
	return map[string]string{
		labelPodName:       pod.Name,
		labelPodNamespace:  pod.Namespace,
		labelPodUID:        string(pod.UID),
		labelContainerName: c.Name,
	}
}

// containerAnnotations returns what the agent must know about a running container when the pod's spec is gone or has
// changed.
//
// Upstream: pkg/kubelet/kuberuntime/labels.go, newContainerAnnotations.
func containerAnnotations(pod *v1.Pod, c *v1.Container, restartCount int, extra map[string]string) map[string]string {
	ann := maps.Clone(extra)
	if ann == nil {
		ann = map[string]string{}
	}
	ann[annHash] = strconv.FormatUint(Hash(c), 16)
	ann[annRestartCount] = strconv.Itoa(restartCount)
	ann[annTerminationPath] = c.TerminationMessagePath
	ann[annTerminationPolicy] = string(c.TerminationMessagePolicy)
	putInt(ann, annDeletionGrace, pod.DeletionGracePeriodSeconds)
	putInt(ann, annTerminationGrace, pod.Spec.TerminationGracePeriodSeconds)
	if c.Lifecycle != nil && c.Lifecycle.PreStop != nil {
		putJSON(ann, annPreStop, c.Lifecycle.PreStop)
	}
	if len(c.Ports) > 0 {
		putJSON(ann, annPorts, c.Ports)
	}
	return ann
}

func putInt(ann map[string]string, key string, v *int64) {
	if v != nil {
		ann[key] = strconv.FormatInt(*v, 10)
	}
}

// putJSON omits the annotation if the value cannot be encoded; API types always can.
func putJSON(ann map[string]string, key string, v any) {
	if text, err := json.Marshal(v); err == nil {
		ann[key] = string(text)
	}
}
