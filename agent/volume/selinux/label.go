package selinux

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Translate returns the label of the files of a container that has these options, with the node's policy.
type Translate func(o *v1.SELinuxOptions) (string, error)

// Request is what the label of a pod's volume depends on.
type Request struct {
	// PV is the persistent volume; nil for a volume of the pod itself, which has no label.
	PV *v1.PersistentVolume
	// Driver says that the volume's driver can mount it with a label.
	Driver bool
	// Options are those of the containers that mount the volume, of [OptionsOf].
	Options []*v1.SELinuxOptions
	// Recursive says that the pod wants its files to be relabeled one by one (seLinuxChangePolicy).
	Recursive bool
	// AllModes says that volumes of all access modes get labels (the gate SELinuxMount), not only those of ReadWriteOncePod.
	AllModes bool
}

// Label is the answer.
type Label struct {
	// Mount is the label to mount with; "" for none: then the runtime relabels the files.
	Mount string
	// Needs is what Mount would be for a volume of ReadWriteOncePod.
	Needs string
	// Driver is that of the request, but false if containers have several labels: these are not compared with those of other pods. Enforced
	// says that the volume's access mode has labels: pods that need different ones cannot have the volume at the same time.
	Driver, Enforced bool
	// Mode is the widest access mode: RWX, ROX, RWO or RWOP, or inline.
	Mode string
	// Ignored is an error that a pod with this access mode may have.
	Ignored error
}

// For returns the label of a pod's volume. It returns a [*TranslationError] or a [*MultipleError] if there is none that is right for all
// containers, and the volume's access mode has labels.
//
// An option without a level gives no label: the runtime chooses a level later, so no mount could have it. Upstream mounts with a level
// that it chooses at random, although its documentation requires the level.
//
// Upstream: pkg/volume/util/selinux.go, GetMountSELinuxLabel, VolumeSupportsSELinuxMount;
// pkg/kubelet/volumemanager/cache/desired_state_of_world.go, getSELinuxLabel. As there, labels that differ within a pod are refused
// whatever the driver and the change policy are.
func For(r Request, translate Translate) (Label, error) {
	out := Label{Driver: r.Driver, Enforced: enforced(r.PV, r.AllModes), Mode: modeOf(r.PV)}
	label, err := common(r.Options, translate)
	switch {
	case err != nil && out.Enforced:
		return out, err
	case err != nil:
		_, several := err.(*MultipleError) //nolint:errorlint // common does not wrap it
		out.Ignored, out.Driver = err, r.Driver && !several
	case r.Driver && !r.Recursive:
		out.Needs = label
	}
	if out.Enforced {
		out.Mount = out.Needs
	}
	return out, nil
}

// common returns the one label of all options; "" if there are none.
func common(options []*v1.SELinuxOptions, translate Translate) (string, error) {
	var labels []string
	for _, o := range options {
		label := ""
		if o.Level != "" {
			var err error
			if label, err = translate(o); err != nil {
				return "", &TranslationError{Options: o, Err: err}
			}
		}
		if !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	if len(labels) > 1 {
		slices.Sort(labels)
		return "", &MultipleError{Labels: labels}
	}
	return strings.Join(labels, ""), nil
}

func enforced(pv *v1.PersistentVolume, all bool) bool {
	if pv == nil {
		return false
	}
	modes := pv.Spec.AccessModes
	return all || len(modes) == 1 && modes[0] == v1.ReadWriteOncePod
}

// modeOf returns the widest access mode, as the metrics name it.
//
// Upstream: pkg/kubelet/volumemanager/cache/desired_state_of_world.go, getVolumeAccessMode.
func modeOf(pv *v1.PersistentVolume) string {
	if pv == nil {
		return "inline"
	}
	for _, m := range []struct {
		mode v1.PersistentVolumeAccessMode
		name string
	}{{v1.ReadWriteMany, "RWX"}, {v1.ReadOnlyMany, "ROX"}, {v1.ReadWriteOnce, "RWO"}, {v1.ReadWriteOncePod, "RWOP"}} {
		if slices.Contains(pv.Spec.AccessModes, m.mode) {
			return m.name
		}
	}
	return ""
}

// OptionsOf returns the options of the containers that mount each of the pod's volumes, by the volume's name in the pod. A container
// without options has the pod's; one without either does not count.
//
// Upstream: pkg/volume/util/util.go, GetPodVolumeNames.
func OptionsOf(pod *v1.Pod) map[string][]*v1.SELinuxOptions {
	var pods *v1.SELinuxOptions
	if sc := pod.Spec.SecurityContext; sc != nil {
		pods = sc.SELinuxOptions
	}
	out := map[string][]*v1.SELinuxOptions{}
	add := func(sc *v1.SecurityContext, mounts []v1.VolumeMount) {
		var own *v1.SELinuxOptions
		if sc != nil {
			own = sc.SELinuxOptions
		}
		if own = cmp.Or(own, pods); own == nil {
			return
		}
		for _, m := range mounts {
			out[m.Name] = append(out[m.Name], own)
		}
	}
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			add(list[i].SecurityContext, list[i].VolumeMounts)
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		add(pod.Spec.EphemeralContainers[i].SecurityContext, pod.Spec.EphemeralContainers[i].VolumeMounts)
	}
	return out
}

// Recursive reports whether the pod wants the files of its volumes to be relabeled one by one.
func Recursive(pod *v1.Pod) bool {
	sc := pod.Spec.SecurityContext
	return sc != nil && sc.SELinuxChangePolicy != nil && *sc.SELinuxChangePolicy == v1.SELinuxChangePolicyRecursive
}

// TranslationError says that there is no label for a container's options.
type TranslationError struct {
	Options *v1.SELinuxOptions
	Err     error
}

// Error implements error. The text is upstream's.
func (e *TranslationError) Error() string {
	return fmt.Sprintf("failed to construct SELinux label from context %q: %v", e.Options, e.Err)
}

// Unwrap returns the cause.
func (e *TranslationError) Unwrap() error { return e.Err }

// MultipleError says that containers of one pod need different labels of one volume.
type MultipleError struct{ Labels []string }

// Error implements error. The text is upstream's.
func (e *MultipleError) Error() string {
	return "multiple SELinux labels found: " + strings.Join(e.Labels, ",")
}
