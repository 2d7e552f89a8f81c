// Package state reads and writes the file cpu_manager_state, in the kubelet's format.
//
// The names of this package and its types are those of the kubelet's: they are part of the file's checksum. It keeps no state, runs no
// goroutine and publishes nothing.
//
// Upstream: pkg/kubelet/cm/cpumanager/state.
package state

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/utils/cpuset"

	"github.com/kubeloupe/kubeloupe/agent/checksum"
	"github.com/kubeloupe/kubeloupe/agent/numa"
)

// Assignments are the CPUs of containers by pod UID and name.
type Assignments map[string]map[string]cpuset.CPUSet

// Content is the content of the file.
type Content struct {
	Policy string
	// Default are the CPUs that no container has for itself; empty before the static policy has started.
	Default  cpuset.CPUSet
	Assigned Assignments
	// Pods are the CPUs that pods with pod-level resources have for all of their containers together; those of the containers are parts
	// of them. Only with the feature gate PodLevelResourceManagers.
	Pods PodCPUAssignments
	// Baselines are the CPUs that containers got at admission, before any resize. Only with the feature gate
	// InPlacePodVerticalScalingExclusiveCPUs; nil without it.
	Baselines Assignments
}

// CPUManagerCheckpoint is what kubelets up to 1.36 read and write. Its name is part of the checksum.
type CPUManagerCheckpoint struct {
	PolicyName    string                       `json:"policyName"`
	DefaultCPUSet string                       `json:"defaultCpuSet"`
	Entries       map[string]map[string]string `json:"entries,omitempty"`
	Checksum      checksum.Checksum            `json:"checksum"`
}

// file is the format of kubelets from 1.37: data is authoritative, the rest is for older ones.
type file struct {
	CPUManagerCheckpoint
	Data         string            `json:"data"`
	DataChecksum checksum.Checksum `json:"dataChecksum"`
}

// data is encoded in file.Data.
type data struct {
	PolicyName    string                              `json:"policyName"`
	DefaultCPUSet string                              `json:"defaultCpuSet"`
	Entries       map[string]map[string]string        `json:"entries,omitempty"`
	PodEntries    map[string]podEntry                 `json:"podEntries,omitempty"`
	Baselines     map[string]map[string]containerCPUs `json:"baselines,omitempty"`
}

// containerCPUs are the CPUs that a container got at admission.
type containerCPUs struct {
	Baseline string `json:"baseline"`
}

// Format encodes the file.
func Format(c Content) ([]byte, error) {
	old := CPUManagerCheckpoint{PolicyName: c.Policy, DefaultCPUSet: c.Default.String(), Entries: map[string]map[string]string{}}
	for pod, containers := range c.Assigned {
		old.Entries[pod] = map[string]string{}
		for name, set := range containers {
			old.Entries[pod][name] = set.String()
		}
	}
	pods := make(map[string]podEntry, len(c.Pods))
	for pod, e := range c.Pods {
		pods[pod] = podEntry{e.CPUSet.String()}
	}
	baselines := make(map[string]map[string]containerCPUs, len(c.Baselines))
	for pod, containers := range c.Baselines {
		baselines[pod] = make(map[string]containerCPUs, len(containers))
		for name, set := range containers {
			baselines[pod][name] = containerCPUs{set.String()}
		}
	}
	text, err := json.Marshal(data{old.PolicyName, old.DefaultCPUSet, old.Entries, pods, baselines})
	if err != nil {
		return nil, err
	}
	old.Checksum = checksum.New(&old)
	return json.Marshal(file{CPUManagerCheckpoint: old, Data: string(text), DataChecksum: checksum.New(string(text))})
}

// Parse decodes the file, also one of an older kubelet.
func Parse(text []byte) (Content, error) {
	f := file{CPUManagerCheckpoint: CPUManagerCheckpoint{Entries: map[string]map[string]string{}}}
	if err := json.Unmarshal(text, &f); err != nil {
		return Content{}, err
	}
	if f.Data == "" && f.DataChecksum == 0 {
		d := data{PolicyName: f.PolicyName, DefaultCPUSet: f.DefaultCPUSet, Entries: f.Entries}
		if !f.valid() {
			var ok bool
			if d.PodEntries, ok = validV3(text); !ok {
				return Content{}, errors.New("checkpoint is corrupted: its checksum is wrong")
			}
		}
		return content(d)
	}
	if sum := checksum.New(f.Data); sum != f.DataChecksum {
		return Content{}, fmt.Errorf("checkpoint is corrupted: checksum %d, want %d", f.DataChecksum, sum)
	}
	var d data
	if err := json.Unmarshal([]byte(f.Data), &d); err != nil {
		return Content{}, err
	}
	return content(d)
}

// valid reports whether the checksum is right; 0 is none, as kubelets before 1.12 wrote.
func (cp CPUManagerCheckpoint) valid() bool {
	sum := cp.Checksum
	cp.Checksum = 0
	return sum == 0 || sum == checksum.New(&cp)
}

func content(d data) (Content, error) {
	c := Content{Policy: d.PolicyName, Assigned: Assignments{}, Pods: PodCPUAssignments{}}
	var err error
	if c.Default, err = numa.ParseList(d.DefaultCPUSet); err != nil {
		return c, fmt.Errorf("default CPUs: %w", err)
	}
	for pod, containers := range d.Entries {
		c.Assigned[pod] = map[string]cpuset.CPUSet{}
		for name, text := range containers {
			if c.Assigned[pod][name], err = numa.ParseList(text); err != nil {
				return c, fmt.Errorf("CPUs of container %q of pod %q: %w", name, pod, err)
			}
		}
	}
	for pod, e := range d.PodEntries {
		set, err := numa.ParseList(e.CPUSet)
		if err != nil {
			return c, fmt.Errorf("CPUs of pod %q: %w", pod, err)
		}
		c.Pods[pod] = PodEntry{set}
	}
	for pod, containers := range d.Baselines {
		if c.Baselines == nil {
			c.Baselines = Assignments{}
		}
		c.Baselines[pod] = make(map[string]cpuset.CPUSet, len(containers))
		for name, b := range containers {
			if c.Baselines[pod][name], err = numa.ParseList(b.Baseline); err != nil {
				return c, fmt.Errorf("CPUs at admission of container %q of pod %q: %w", name, pod, err)
			}
		}
	}
	return c, nil
}
