package admission

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
)

// lacksFeatures begins what is said about a pod that needs features.
const lacksFeatures = "Pod requires node features that are not available: "

// Features decides which features a pod needs that the node does not declare. It never changes.
type Features struct {
	declared ndf.FeatureSet
	release  *version.Version
}

// NewFeatures takes the features that the node declares, sorted, and the release of Kubernetes that it follows.
func NewFeatures(declared []string, release *version.Version) *Features {
	return &Features{declared: ndf.DefaultFramework.TryMap(declared), release: release}
}

// Unmet says which features the change of a pod needs, but the node does not declare; "" for none.
//
// Upstream: pkg/kubelet/kubelet.go, HandlePodUpdates. A change of anything that cannot change in the API needs none: static pods can have it,
// and the inference would panic.
func (f *Features) Unmet(old, pod *v1.Pod) string {
	if f == nil || !sameParts(&old.Spec, &pod.Spec) {
		return ""
	}
	needs, err := ndf.DefaultFramework.InferForPodUpdate(infoOf(old), infoOf(pod), f.release)
	if err != nil {
		return ""
	}
	return f.lacking(needs)
}

// features rejects a pod that needs features that the node does not declare.
//
// Upstream: pkg/kubelet/lifecycle/handlers.go, declaredFeaturesAdmitHandler.
func (in Inputs) features() Verdict {
	if in.Features == nil {
		return Verdict{OK: true}
	}
	const reason = "PodFeatureUnsupported"
	needs, err := ndf.DefaultFramework.InferForPodScheduling(infoOf(in.Pod), in.Features.release)
	if err != nil {
		return Verdict{Reason: reason, Message: "Failed to infer pod's feature requirements: " + err.Error()}
	}
	if lacks := in.Features.lacking(needs); lacks != "" {
		return Verdict{Reason: reason, Message: lacks}
	}
	return Verdict{OK: true}
}

// lacking says which of the features the node does not declare; "" for none.
func (f *Features) lacking(needs ndf.FeatureSet) string {
	match, err := ndf.DefaultFramework.MatchNodeFeatureSet(needs, f.declared)
	if err != nil || match.IsMatch {
		return "" // an error is that of sets of two frameworks: there is one
	}
	return lacksFeatures + strings.Join(match.UnsatisfiedRequirements, ", ")
}

func infoOf(pod *v1.Pod) *ndf.PodInfo { return &ndf.PodInfo{Spec: &pod.Spec, Status: &pod.Status} }

// sameParts reports whether two versions of a pod have the same init containers, and the same volumes of the same kind.
func sameParts(old, spec *v1.PodSpec) bool {
	if len(old.InitContainers) != len(spec.InitContainers) || len(old.Volumes) != len(spec.Volumes) {
		return false
	}
	for i := range spec.InitContainers {
		if old.InitContainers[i].Name != spec.InitContainers[i].Name {
			return false
		}
	}
	for i := range spec.Volumes {
		a, b := &old.Volumes[i], &spec.Volumes[i]
		if a.Name != b.Name || (a.EmptyDir == nil) != (b.EmptyDir == nil) {
			return false
		}
	}
	return true
}
