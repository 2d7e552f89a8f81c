package files

import v1 "k8s.io/api/core/v1"

// Users says whether a spec may name the owners of files: feature gate AtomicWriteVolumeUserFields.
type Users bool

// Of returns the first of the users that is set, nil if none is or if the gate is off.
//
// Upstream: pkg/volume/util/atomic_writer.go, ResolvesFsUser; KEP-5936.
func (on Users) Of(users ...*int64) *int64 {
	for _, u := range users {
		if u != nil && bool(on) {
			return u
		}
	}
	return nil
}

// User is the owner of files that only the pod may read, such as tokens: the user of all its containers, nil if they differ or if
// one has none.
//
// Upstream: pkg/volume/util/util.go, FsUserFrom.
func User(pod *v1.Pod) *int64 {
	var user *int64
	same := true
	look := func(sc *v1.SecurityContext) {
		as := (*int64)(nil)
		if pod.Spec.SecurityContext != nil {
			as = pod.Spec.SecurityContext.RunAsUser
		}
		if sc != nil && sc.RunAsUser != nil {
			as = sc.RunAsUser
		}
		if as == nil || user != nil && *user != *as {
			same = false
			return
		}
		user = as
	}
	for i := range pod.Spec.InitContainers {
		look(pod.Spec.InitContainers[i].SecurityContext)
	}
	for i := range pod.Spec.Containers {
		look(pod.Spec.Containers[i].SecurityContext)
	}
	for i := range pod.Spec.EphemeralContainers {
		look(pod.Spec.EphemeralContainers[i].SecurityContext)
	}
	if !same {
		return nil
	}
	return user
}
