package criconfig

import (
	"encoding/json"
	"maps"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PodRef identifies the pod of a sandbox or container. Fields are "" if the labels lack them: then a kubelet did not
// create the sandbox.
type PodRef struct {
	Namespace, Name string
	UID             types.UID
	// Labels are the pod's labels when the sandbox was created.
	Labels map[string]string
	// Annotations are the pod's annotations at that time.
	Annotations map[string]string
}

// ContainerMeta is the content of a container's labels and annotations.
type ContainerMeta struct {
	// Name is the container's name; PodNamespace, PodName and PodUID are its pod's. "" if a kubelet did not create it.
	Name, PodNamespace, PodName string
	PodUID                      types.UID
	// Hash is the [Hash] of the container's spec at its creation.
	Hash uint64
	// RestartCount is the number of earlier containers of this name.
	RestartCount int
	// TerminationMessagePath is the file in the container with its termination message.
	TerminationMessagePath   string
	TerminationMessagePolicy v1.TerminationMessagePolicy
	// DeletionGracePeriod and TerminationGracePeriod are in seconds, nil if not set.
	DeletionGracePeriod, TerminationGracePeriod *int64
	// PreStop is nil if the container has no preStop hook.
	PreStop *v1.LifecycleHandler
	Ports   []v1.ContainerPort
}

// ParseSandbox reads back the labels and annotations of a sandbox. The maps are not kept.
//
// Upstream: pkg/kubelet/kuberuntime/labels.go, getPodSandboxInfoFromLabels.
func ParseSandbox(labels, annotations map[string]string) PodRef {
	ref := PodRef{
		Namespace:   labels[labelPodNamespace],
		Name:        labels[labelPodName],
		UID:         types.UID(labels[labelPodUID]),
		Labels:      map[string]string{},
		Annotations: maps.Clone(annotations),
	}
	maps.Copy(ref.Labels, labels)
	for _, own := range []string{labelPodNamespace, labelPodName, labelPodUID} {
		delete(ref.Labels, own)
	}
	return ref
}

// ParseContainer reads back the labels and annotations of a container. A value that is missing or invalid is read as its zero
// value, as in upstream, so that an old or foreign container does not stop the agent.
//
// Upstream: pkg/kubelet/kuberuntime/labels.go, getContainerInfoFromAnnotations.
func ParseContainer(labels, annotations map[string]string) ContainerMeta {
	meta := ContainerMeta{
		Name:                     labels[labelContainerName],
		PodNamespace:             labels[labelPodNamespace],
		PodName:                  labels[labelPodName],
		PodUID:                   types.UID(labels[labelPodUID]),
		TerminationMessagePath:   annotations[annTerminationPath],
		TerminationMessagePolicy: v1.TerminationMessagePolicy(annotations[annTerminationPolicy]),
		DeletionGracePeriod:      getInt(annotations, annDeletionGrace),
		TerminationGracePeriod:   getInt(annotations, annTerminationGrace),
		PreStop:                  getJSON[*v1.LifecycleHandler](annotations, annPreStop),
		Ports:                    getJSON[[]v1.ContainerPort](annotations, annPorts),
	}
	if n, err := strconv.ParseUint(annotations[annHash], 16, 64); err == nil {
		meta.Hash = n
	}
	if n, err := strconv.Atoi(annotations[annRestartCount]); err == nil {
		meta.RestartCount = n
	}
	return meta
}

func getInt(ann map[string]string, key string) *int64 {
	n, err := strconv.ParseInt(ann[key], 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

func getJSON[T any](ann map[string]string, key string) T {
	var v, zero T
	if text, ok := ann[key]; !ok || json.Unmarshal([]byte(text), &v) != nil {
		return zero
	}
	return v
}
