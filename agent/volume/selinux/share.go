package selinux

import "fmt"

// Use is one pod's use of a volume that pods share.
type Use struct {
	Label
	// Wanted says that the pod wants the volume. Otherwise it is being unmounted, or was found on the node.
	Wanted bool
	// Present says that the volume is mounted for the pod, or that an operation on it has begun, with the label Has.
	Present bool
	Has     string
	// Turn is the order in which pods wanted the volume.
	Turn uint64
}

// before reports whether the pod has the volume first: a mounted volume counts, then the order.
func (u *Use) before(v *Use) bool {
	if u.Present != v.Present {
		return u.Present
	}
	return u.Turn < v.Turn
}

// Verdict is whether a pod may have a volume mounted now.
type Verdict int

// The verdicts.
const (
	// May says that nothing is against it.
	May Verdict = iota
	// Refused says that another pod has the volume with another label, and keeps it.
	Refused
	// Unmount says that the volume must first be unmounted, where it is mounted with another label.
	Unmount
	// Differs is May, but other access modes would have refused it.
	Differs
)

// Share decides whether a pod may have a volume mounted, and returns the index of the use because of which the verdict is not May.
// A pod that has the volume keeps it.
//
// Upstream: pkg/kubelet/volumemanager/cache/desired_state_of_world.go, AddPodToVolume (Refused, Differs);
// actual_state_of_world.go, PodExistsInVolume (Unmount).
func Share(own Use, others []Use) (Verdict, int) {
	if own.Present {
		return May, -1
	}
	first := -1
	for i := range others {
		if others[i].Wanted && others[i].before(&own) && (first < 0 || others[i].before(&others[first])) {
			first = i
		}
	}
	differs := first >= 0 && own.Driver && others[first].Needs != own.Needs
	if differs && own.Enforced {
		return Refused, first
	}
	for i := range others {
		if others[i].Present && others[i].Has != own.Mount {
			return Unmount, i
		}
	}
	if differs {
		return Differs, first
	}
	return May, -1
}

// Conflict is the error of a volume that is refused. The text is upstream's.
func Conflict(volume, has, needs string) error {
	return fmt.Errorf("conflicting SELinux labels of volume %s: %q and %q", volume, has, needs)
}

// Mounted is the error of a volume that must be unmounted first. The text is upstream's.
func Mounted(volume string) error {
	return fmt.Errorf("waiting for unmount of volume %q, because it is already mounted to a different pod with a different SELinux label", volume)
}
