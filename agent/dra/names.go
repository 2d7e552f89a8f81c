package dra

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// ref is a claim that a pod refers to.
type ref struct {
	// inPod is its name in the pod's spec; "" for the claim of extended resources.
	inPod string
	// name is the name of the ResourceClaim.
	name string
	// owned says that it was made for the pod from a template.
	owned bool
}

// refs returns the claims that a pod refers to. A claim that is not needed, as the controller that makes claims has noted in the pod's
// status, is left out.
//
// Upstream: k8s.io/dynamic-resource-allocation/resourceclaim, Name; pkg/kubelet/cm/dra/manager.go, prepareResources.
func refs(pod *v1.Pod) (out []ref, err error) {
	for i := range pod.Spec.ResourceClaims {
		r, needed, err := refOf(pod, &pod.Spec.ResourceClaims[i])
		if err != nil {
			return nil, err
		}
		if needed {
			out = append(out, r)
		}
	}
	if s := pod.Status.ExtendedResourceClaimStatus; s != nil {
		out = append(out, ref{name: s.ResourceClaimName})
	}
	return out, nil
}

// newest returns the newest version of a pod: its status has the names of claims.
func (m *Manager) newest(pod *v1.Pod) *v1.Pod {
	if p := m.cfg.Pod(pod.UID); p != nil {
		return p
	}
	return pod
}

// uses reports whether a pod refers to claims. A pod for which none is needed counts.
func uses(pod *v1.Pod) bool {
	return len(pod.Spec.ResourceClaims) > 0 || pod.Status.ExtendedResourceClaimStatus != nil
}

func refOf(pod *v1.Pod, c *v1.PodResourceClaim) (r ref, needed bool, err error) {
	switch {
	case c.ResourceClaimName != nil:
		return ref{inPod: c.Name, name: *c.ResourceClaimName}, true, nil
	case c.ResourceClaimTemplateName == nil:
		return ref{}, false, &Error{
			Fault: trace.FaultUnsupported, Namespace: pod.Namespace, Name: c.Name,
			Err: fmt.Errorf("pod %q, spec.resourceClaim %q: %w", pod.Namespace+"/"+pod.Name, c.Name, errUnsupported),
		}
	}
	for _, s := range pod.Status.ResourceClaimStatuses {
		if s.Name != c.Name {
			continue
		}
		if s.ResourceClaimName == nil {
			return ref{}, false, nil
		}
		return ref{inPod: c.Name, name: *s.ResourceClaimName, owned: true}, true, nil
	}
	return ref{}, false, &Error{
		Fault: trace.FaultNotFound, Namespace: pod.Namespace, Name: c.Name, Err: fmt.Errorf("pod %q: %w", pod.Namespace+"/"+pod.Name, errNotCreated),
	}
}

// The texts are upstream's.
var (
	errUnsupported = errors.New("none of the supported fields are set")
	errNotCreated  = errors.New("ResourceClaim not created yet")
)
