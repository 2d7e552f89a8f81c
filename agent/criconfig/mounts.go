package criconfig

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Volume is a volume of the pod as it is mounted on the node.
type Volume struct {
	// Name is the volume's name on the node: the persistent volume's name if it is one, otherwise its name in the pod.
	Name string
	// HostPath is the volume's directory; unused for an image volume.
	HostPath string
	// ReadOnly says that the volume itself is read-only.
	ReadOnly bool
	// SELinuxRelabel makes the runtime label the volume's files for the container. A read-only volume of others does not have it.
	SELinuxRelabel bool
	// Image is set for an image volume: the runtime mounts the image itself.
	Image *runtimeapi.ImageSpec
	// Missing is why the content of an image volume is not on the node, nil if it is. A container that mounts the volume
	// cannot be created then.
	Missing error
}

// SubPath returns the path below its volume that a mount shows, with subPathExpr expanded from the container's
// environment; "" for the whole volume. The path stays in the volume, except through links in it, which the caller must
// check. An error has upstream's words.
//
// Upstream: pkg/kubelet/container/helpers.go, ExpandContainerVolumeMounts; pkg/kubelet/kubelet_pods.go, makeMounts.
func SubPath(m *v1.VolumeMount, env []Var) (string, error) {
	sub, shown := m.SubPath, ""
	if m.SubPathExpr != "" {
		var missing []string
		expanded, instead, ok := expandShown(m.SubPathExpr, maxSubPath, func(name string) (Var, bool) {
			i := slices.IndexFunc(env, func(v Var) bool { return v.Name == name })
			if i < 0 || env[i].Value == "" {
				missing = append(missing, name)
				return Var{}, true
			}
			return env[i], true
		})
		if len(missing) > 0 {
			slices.Sort(missing)
			return "", fmt.Errorf("missing value for %s", strings.Join(slices.Compact(missing), ", "))
		}
		if !ok {
			return "", fmt.Errorf("subPathExpr %q with its values %w: the kernel takes no such path", m.SubPathExpr, tooLongError{maxSubPath})
		}
		sub, shown = expanded, instead
	}
	if path.IsAbs(sub) {
		return "", fmt.Errorf("error SubPath `%s` must not be an absolute path", cmp.Or(shown, sub))
	}
	if slices.Contains(strings.Split(sub, "/"), "..") {
		return "", fmt.Errorf("unable to provision SubPath `%s`: must not contain '..'", cmp.Or(shown, sub))
	}
	return sub, nil
}

// mounts returns the mounts of device plugins, the container's volumes in order, its hosts file and its termination
// log.
//
// Upstream: pkg/kubelet/kubelet_pods.go, makeMounts; pkg/kubelet/kuberuntime, makeMounts.
func mounts(c *v1.Container, node Node, in *ContainerInput) ([]*runtimeapi.Mount, error) {
	out := slices.Clone(in.ExtraMounts)
	hosts := in.HostsFile != ""
	for i := range c.VolumeMounts {
		m, err := mount(c, i, node, in)
		if err != nil {
			return nil, MountError(c, i, err)
		}
		hosts = hosts && m.ContainerPath != HostsPath
		out = append(out, m)
	}
	if hosts {
		out = append(out, &runtimeapi.Mount{ContainerPath: HostsPath, HostPath: in.HostsFile, SelinuxRelabel: node.SELinux})
	}
	if in.TerminationLog != "" && c.TerminationMessagePath != "" {
		out = append(out, &runtimeapi.Mount{
			ContainerPath: TerminationMount(c.TerminationMessagePath), HostPath: in.TerminationLog, SelinuxRelabel: node.SELinux,
		})
	}
	if in.UserNS != nil {
		for i, m := range out {
			if i < len(in.ExtraMounts) {
				// Do not change the caller's mounts.
				m = proto.CloneOf(m)
				out[i] = m
			}
			m.UidMappings, m.GidMappings = in.UserNS.Uids, in.UserNS.Gids
		}
	}
	return out, nil
}

// TerminationMount returns the path in the container where the file for its termination message is mounted: the terminationMessagePath of the spec
// can be relative, and need not be clean.
//
// Upstream: pkg/volume/util/util.go, MakeAbsolutePath.
func TerminationMount(terminationMessagePath string) string {
	return path.Clean("/" + terminationMessagePath)
}

// MountError returns the error of a container's volume mount; the status of the container and the Event have its text alone, as upstream's.
func MountError(c *v1.Container, i int, err error) *Error {
	return &Error{Reason: ReasonContainerConfig, Container: c.Name, Field: fmt.Sprintf("volumeMounts[%d]", i), Err: err, Says: err.Error()}
}

// NotMountedError returns the error of a mount whose volume is not mounted on the node, in upstream's words.
func NotMountedError(container, volume string) error {
	return fmt.Errorf("cannot find volume %q to mount into container %q", volume, container)
}

func mount(c *v1.Container, i int, node Node, in *ContainerInput) (*runtimeapi.Mount, error) {
	m := &c.VolumeMounts[i]
	vol, ok := in.Volumes[m.Name]
	if !ok {
		return nil, NotMountedError(c.Name, m.Name)
	}
	propagation, err := propagation(m.MountPropagation)
	if err != nil {
		return nil, err
	}
	rro, err := recursiveReadOnly(m, node.RecursiveReadOnly)
	if err != nil {
		return nil, err
	}
	sub, err := SubPath(m, in.Env)
	if err != nil {
		return nil, err
	}
	out := &runtimeapi.Mount{
		ContainerPath:     absolute(m.MountPath),
		HostPath:          vol.HostPath,
		Readonly:          m.ReadOnly || vol.ReadOnly,
		RecursiveReadOnly: rro,
		SelinuxRelabel:    vol.SELinuxRelabel && node.SELinux,
		Propagation:       propagation,
		MountOptions:      m.BindMountOptions,
	}
	switch {
	case vol.Image != nil:
		out.HostPath, out.Image, out.ImageSubPath = "", vol.Image, sub
	case sub != "":
		if out.HostPath = in.SubPaths[i]; out.HostPath == "" {
			return nil, fmt.Errorf("the subPath of volume %q has not been prepared", m.Name)
		}
	case vol.HostPath == "":
		return nil, fmt.Errorf("volume %q has no path on the node", m.Name)
	}
	return out, nil
}

func propagation(mode *v1.MountPropagationMode) (runtimeapi.MountPropagation, error) {
	if mode == nil {
		return runtimeapi.MountPropagation_PROPAGATION_PRIVATE, nil
	}
	switch *mode {
	case v1.MountPropagationNone:
		return runtimeapi.MountPropagation_PROPAGATION_PRIVATE, nil
	case v1.MountPropagationHostToContainer:
		return runtimeapi.MountPropagation_PROPAGATION_HOST_TO_CONTAINER, nil
	case v1.MountPropagationBidirectional:
		return runtimeapi.MountPropagation_PROPAGATION_BIDIRECTIONAL, nil
	}
	return 0, fmt.Errorf("invalid MountPropagation mode: %q", *mode)
}

// recursiveReadOnly reports whether a mount is read-only with all that is mounted below it. An error has upstream's words, which tests match.
//
// Upstream: pkg/kubelet/kubelet_pods.go, resolveRecursiveReadOnly.
func recursiveReadOnly(m *v1.VolumeMount, supported bool) (bool, error) {
	if m.RecursiveReadOnly == nil || *m.RecursiveReadOnly == v1.RecursiveReadOnlyDisabled {
		return false, nil
	}
	const failed = "failed to resolve recursive read-only mode: "
	refuse := func(why string) (bool, error) {
		return false, fmt.Errorf(failed+"volume %q requested recursive read-only mode, but it is %s", m.Name, why)
	}
	switch {
	case !m.ReadOnly:
		return refuse("not read-only")
	case m.MountPropagation != nil && *m.MountPropagation != v1.MountPropagationNone:
		return refuse(fmt.Sprintf("not compatible with propagation %q", *m.MountPropagation))
	case *m.RecursiveReadOnly == v1.RecursiveReadOnlyIfPossible:
		return supported, nil
	case *m.RecursiveReadOnly != v1.RecursiveReadOnlyEnabled:
		return false, fmt.Errorf(failed+"unknown recursive read-only mode %q", *m.RecursiveReadOnly)
	case !supported:
		return refuse("not supported by the runtime")
	}
	return true, nil
}
