package criconfig

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// ContainerInput is the input for a container, in addition to its pod and the node.
type ContainerInput struct {
	// ImageRef is the image's ID, as the runtime returned it for the spec's image.
	ImageRef string
	// ImageUser is the user of the image.
	ImageUser ImageUser
	// RestartCount counts the containers of this name before this one.
	RestartCount int
	// Env is the environment, from [Env].
	Env []Var
	// Volumes are the pod's volumes by name.
	Volumes map[string]Volume
	// SubPaths are the host paths of those volume mounts that have a subPath, by index.
	SubPaths map[int]string
	// HostsFile is the pod's hosts file on the node; "" while the pod has no address.
	HostsFile string
	// TerminationLog is the file on the node for the container's termination message, "" for none. Each attempt needs a separate
	// file.
	TerminationLog string
	// ExtraMounts, Devices, CDIDevices and Annotations come from device plugins.
	ExtraMounts []*runtimeapi.Mount
	Devices     []*runtimeapi.Device
	CDIDevices  []*runtimeapi.CDIDevice
	Annotations map[string]string
	// BlockVolumes maps a volumeDevices name to its device on the node.
	BlockVolumes map[string]string
	// ExtraGroups are the supplemental groups that the pod's volumes add.
	ExtraGroups []int64
	// UserNS is the user namespace of a pod with hostUsers: false, else nil.
	UserNS *runtimeapi.UserNamespace
	// TargetID is the container whose PID namespace an ephemeral container joins, "" for none.
	TargetID string
	// ExclusiveCPUs lifts the CPU quota of a container that has CPUs for itself.
	ExclusiveCPUs bool
	// CPUs and MemoryNodes are the CPUs and NUMA nodes that the container may use, in the kernel's format; "" for all.
	CPUs, MemoryNodes string
}

// Container translates one container of a pod. An error is an *Error with [ReasonContainerConfig] that names the
// invalid field.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, generateContainerConfig.
func Container(pod *v1.Pod, c *v1.Container, node Node, in ContainerInput) (*runtimeapi.ContainerConfig, error) {
	security, err := containerSecurity(pod, c, node, &in)
	if err != nil {
		return nil, err
	}
	mounted, err := mounts(c, node, &in)
	if err != nil {
		return nil, err
	}
	devices, err := blockDevices(c, &in)
	if err != nil {
		return nil, err
	}
	signal, err := stopSignal(c, node)
	if err != nil {
		return nil, err
	}
	text := expander{left: maxText}
	values := make(map[string]string, len(in.Env))
	envs := make([]*runtimeapi.KeyValue, len(in.Env))
	for i, v := range in.Env {
		values[v.Name] = v.Value
		envs[i] = &runtimeapi.KeyValue{Key: v.Name, Value: []byte(v.Value)}
		text.take(len(v.Name) + len(v.Value))
	}
	text.lookup = lookupIn(values)
	command, i, ok := text.expandAll(c.Command)
	if !ok {
		return nil, containerError(c, fmt.Sprintf("command[%d]", i), tooLongError{maxText})
	}
	args, i, ok := text.expandAll(c.Args)
	if !ok {
		return nil, containerError(c, fmt.Sprintf("args[%d]", i), tooLongError{maxText})
	}
	resources := Resources(pod, c, node, in.ExclusiveCPUs)
	resources.CpusetCpus, resources.CpusetMems = in.CPUs, in.MemoryNodes
	return &runtimeapi.ContainerConfig{
		Metadata:    &runtimeapi.ContainerMetadata{Name: c.Name, Attempt: uint32(in.RestartCount)},
		Image:       &runtimeapi.ImageSpec{Image: in.ImageRef, UserSpecifiedImage: c.Image},
		Command:     command,
		Args:        args,
		WorkingDir:  c.WorkingDir,
		Envs:        envs,
		Mounts:      mounted,
		Devices:     slices.Concat(in.Devices, devices),
		CDIDevices:  in.CDIDevices,
		Labels:      containerLabels(pod, c),
		Annotations: containerAnnotations(pod, c, in.RestartCount, in.Annotations),
		LogPath:     LogPath(c.Name, in.RestartCount),
		Stdin:       c.Stdin,
		StdinOnce:   c.StdinOnce,
		Tty:         c.TTY,
		StopSignal:  signal,
		Linux: &runtimeapi.LinuxContainerConfig{
			Resources:       resources,
			SecurityContext: security,
		},
	}, nil
}

// Upstream: pkg/kubelet/kubelet_pods.go, makeBlockVolumes.
func blockDevices(c *v1.Container, in *ContainerInput) ([]*runtimeapi.Device, error) {
	var out []*runtimeapi.Device
	for i, d := range c.VolumeDevices {
		host, ok := in.BlockVolumes[d.Name]
		if !ok {
			return nil, containerError(c, fmt.Sprintf("volumeDevices[%d]", i),
				fmt.Errorf("cannot find volume %q: it is not a block device on the node", d.Name))
		}
		if !strings.HasPrefix(d.DevicePath, "/") {
			return nil, containerError(c, fmt.Sprintf("volumeDevices[%d].devicePath", i), errors.New("want an absolute path"))
		}
		permissions := "mrw"
		if in.Volumes[d.Name].ReadOnly {
			permissions = "r"
		}
		out = append(out, &runtimeapi.Device{HostPath: host, ContainerPath: d.DevicePath, Permissions: permissions})
	}
	return out, nil
}

// stopSignal returns the signal of the spec; the default of the runtime (the image's, or SIGTERM) if the feature gate is off.
//
// Upstream: pkg/kubelet/kuberuntime/helpers.go, getContainerConfigStopSignal; KEP-4960.
func stopSignal(c *v1.Container, node Node) (runtimeapi.Signal, error) {
	if !node.StopSignals || c.Lifecycle == nil || c.Lifecycle.StopSignal == nil {
		return runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT, nil
	}
	signal, ok := podspec.SignalOf(*c.Lifecycle.StopSignal)
	if !ok {
		return 0, containerError(c, "lifecycle.stopSignal", fmt.Errorf("%q is no signal: want a name such as SIGTERM", *c.Lifecycle.StopSignal))
	}
	return signal, nil
}
