package state

import (
	"encoding/json"
	"strings"

	"k8s.io/utils/cpuset"

	"github.com/kubeloupe/kubeloupe/agent/checksum"
	"github.com/kubeloupe/kubeloupe/agent/numa"
)

// CPUManagerCheckpointV3 is what kubelet 1.36 writes with the feature gate PodLevelResourceManagers. Its name is part of the checksum.
type CPUManagerCheckpointV3 struct {
	PolicyName    string                       `json:"policyName"`
	DefaultCPUSet string                       `json:"defaultCpuSet"`
	Entries       map[string]map[string]string `json:"entries,omitempty"`
	PodEntries    PodCPUAssignments            `json:"podEntries,omitempty"`
	Checksum      checksum.Checksum            `json:"checksum"`
}

// PodCPUAssignments are the CPUs of pods, by UID.
type PodCPUAssignments map[string]PodEntry

// PodEntry are the CPUs of a pod.
type PodEntry struct {
	CPUSet cpuset.CPUSet
}

// podEntry is a PodEntry as the file has it.
type podEntry struct {
	CPUSet string `json:"cpuSet,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *PodEntry) UnmarshalJSON(text []byte) error {
	var entry podEntry
	if err := json.Unmarshal(text, &entry); err != nil {
		return err
	}
	var err error
	p.CPUSet, err = numa.ParseList(entry.CPUSet)
	return err
}

// validV3 reports whether the file is a V3 one with the right checksum, which is of either name of the type, and returns the CPUs of pods.
func validV3(text []byte) (map[string]podEntry, bool) {
	cp := CPUManagerCheckpointV3{Entries: map[string]map[string]string{}, PodEntries: PodCPUAssignments{}}
	if err := json.Unmarshal(text, &cp); err != nil {
		return nil, false
	}
	sum := cp.Checksum
	cp.Checksum = 0
	dump := checksum.Dump(&cp)
	pods := make(map[string]podEntry, len(cp.PodEntries))
	for pod, e := range cp.PodEntries {
		pods[pod] = podEntry{e.CPUSet.String()}
	}
	return pods, sum == checksum.Of(dump) || sum == checksum.Of(strings.Replace(dump, "CPUManagerCheckpointV3", "CPUManagerCheckpoint", 1))
}
