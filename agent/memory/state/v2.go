package state

import (
	"encoding/json"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/checksum"
)

// MemoryManagerCheckpointV2 is what kubelet 1.36 writes with the feature gate PodLevelResourceManagers. Its name is part of the checksum.
type MemoryManagerCheckpointV2 struct {
	PolicyName   string                     `json:"policyName"`
	MachineState NUMANodeMap                `json:"machineState"`
	Entries      ContainerMemoryAssignments `json:"entries,omitempty"`
	PodEntries   PodMemoryAssignments       `json:"podEntries,omitempty"`
	Checksum     checksum.Checksum          `json:"checksum"`
}

// PodMemoryAssignments are the blocks of pods, by UID.
type PodMemoryAssignments map[string]PodEntry

// PodEntry are the blocks of a pod.
type PodEntry struct {
	MemoryBlocks []Block `json:"memoryBlocks,omitempty"`
}

// validV2 reports whether the file is a V2 one with the right checksum, and returns the blocks of pods.
func validV2(text []byte) (PodMemoryAssignments, bool) {
	cp := MemoryManagerCheckpointV2{MachineState: NUMANodeMap{}, Entries: ContainerMemoryAssignments{}, PodEntries: PodMemoryAssignments{}}
	if err := json.Unmarshal(text, &cp); err != nil {
		return nil, false
	}
	sum := cp.Checksum
	cp.Checksum = 0
	return cp.PodEntries, sum == checksum.Of(strings.Replace(checksum.Dump(&cp), "MemoryManagerCheckpointV2", "MemoryManagerCheckpoint", 1))
}
