package podspec

import (
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Annotations by which a kubelet identifies pods. Upstream's kubelet and kubeloupe read each other's. Upstream:
// pkg/kubelet/types/pod_update.go.
const (
	// AnnotationSource names the source: file, http, api, ...
	AnnotationSource = "kubernetes.io/config.source"
	// AnnotationSeen is when the pod was first seen, in RFC 3339 with nanoseconds.
	AnnotationSeen = "kubernetes.io/config.seen"
	// AnnotationHash identifies one version of a static pod; it equals the UID.
	AnnotationHash = "kubernetes.io/config.hash"
	// AnnotationMirror marks an API object that mirrors a static pod; its value is that pod's hash.
	AnnotationMirror = v1.MirrorPodAnnotationKey
)

// Names of sources.
const (
	SourceFile = "file"
	SourceHTTP = "http"
	SourceAPI  = "api"
)

// systemCriticalPriority is the lowest priority of the system-*-critical classes.
// Upstream: pkg/apis/scheduling/types.go, SystemCriticalPriority.
const systemCriticalPriority = 2_000_000_000

// Ref returns the pod's identity as in records.
func Ref(p *v1.Pod) trace.Pod {
	return trace.Pod{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}
}

// FullName returns name_namespace, which identifies a pod on a node across versions of it.
// Upstream: pkg/kubelet/container/helpers.go, GetPodFullName.
func FullName(p *v1.Pod) string { return p.Name + "_" + p.Namespace }

// Source returns the name of the pod's source, or "" if the mux has not set it yet.
func Source(p *v1.Pod) string { return p.Annotations[AnnotationSource] }

// IsStatic reports whether the pod came from a source other than the API server.
// Upstream: pkg/kubelet/types/pod_update.go, IsStaticPod.
func IsStatic(p *v1.Pod) bool {
	source := Source(p)
	return source != "" && source != SourceAPI
}

// IsMirror reports whether the pod is a mirror pod.
func IsMirror(p *v1.Pod) bool {
	_, ok := p.Annotations[AnnotationMirror]
	return ok
}

// CriticalPod reports whether the pod may not be evicted or preempted: static and mirror pods and
// those of a system-critical priority.
// Upstream: pkg/kubelet/types/pod_update.go, IsCriticalPod.
func CriticalPod(p *v1.Pod) bool {
	if IsStatic(p) || IsMirror(p) {
		return true
	}
	return p.Spec.Priority != nil && *p.Spec.Priority >= systemCriticalPriority
}

// RestartableInit reports whether an init container is a sidecar, which runs as long as the pod.
func RestartableInit(c *v1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// GracePeriod returns the grace period of the pod's containers in seconds, at least 1. A deletion request and the override (nil for none)
// can each only shorten it; without either, the spec's value applies.
// Upstream: pkg/kubelet/pod_workers.go, calculateEffectiveGracePeriod.
func GracePeriod(p *v1.Pod, override *int64) int64 {
	return max(shortest(p, override), 1)
}

// ContainerGracePeriod returns the grace period, in seconds, of a container that is stopped while its pod continues: 0 if the spec says so, and
// then it has no preStop hook.
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, setTerminationGracePeriod.
func ContainerGracePeriod(p *v1.Pod) int64 { return shortest(p, nil) }

func shortest(p *v1.Pod, override *int64) int64 {
	grace := override
	if d := p.DeletionGracePeriodSeconds; d != nil && (grace == nil || *d < *grace) {
		grace = d
	}
	if grace == nil {
		grace = p.Spec.TerminationGracePeriodSeconds
	}
	if grace == nil {
		return v1.DefaultTerminationGracePeriodSeconds
	}
	return *grace
}
