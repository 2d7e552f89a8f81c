// Package state reads and writes the file memory_manager_state, in the kubelet's format.
//
// The names of this package and its types are those of the kubelet's: they are part of the file's checksum. It keeps no state, runs no
// goroutine and publishes nothing.
//
// Upstream: pkg/kubelet/cm/memorymanager/state.
package state

import (
	"encoding/json"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/checksum"
)

// MemoryTable are the amounts of a resource on a NUMA node, in bytes.
type MemoryTable struct {
	TotalMemSize uint64 `json:"total"`
	// SystemReserved is for the system, Allocatable for containers: Reserved and Free together.
	SystemReserved uint64 `json:"systemReserved"`
	Allocatable    uint64 `json:"allocatable"`
	Reserved       uint64 `json:"reserved"`
	Free           uint64 `json:"free"`
}

// NUMANodeState is the use of a NUMA node.
type NUMANodeState struct {
	// NumberOfAssignments counts the blocks of containers.
	NumberOfAssignments int                              `json:"numberOfAssignments"`
	MemoryMap           map[v1.ResourceName]*MemoryTable `json:"memoryMap"`
	// Cells are the nodes that give memory together with this one, and this one.
	Cells []int `json:"cells"`
}

// NUMANodeMap are all NUMA nodes.
type NUMANodeMap map[int]*NUMANodeState

// Block is an amount of a resource, in bytes, from some NUMA nodes together.
type Block struct {
	NUMAAffinity []int           `json:"numaAffinity"`
	Type         v1.ResourceName `json:"type"`
	Size         uint64          `json:"size"`
}

// ContainerMemoryAssignments are the blocks of containers, by pod UID and name.
type ContainerMemoryAssignments map[string]map[string][]Block

// Content is the content of the file.
type Content struct {
	PolicyName   string                     `json:"policyName"`
	MachineState NUMANodeMap                `json:"machineState"`
	Entries      ContainerMemoryAssignments `json:"entries,omitempty"`
	// PodEntries are the blocks that pods with pod-level resources have for all of their containers together; those of the containers are
	// parts of them. Only with the feature gate PodLevelResourceManagers.
	PodEntries PodMemoryAssignments `json:"podEntries,omitempty"`
}

// MemoryManagerCheckpoint is what kubelets up to 1.36 read and write. Its name is part of the checksum.
type MemoryManagerCheckpoint struct {
	PolicyName   string                     `json:"policyName"`
	MachineState NUMANodeMap                `json:"machineState"`
	Entries      ContainerMemoryAssignments `json:"entries,omitempty"`
	Checksum     checksum.Checksum          `json:"checksum"`
}

// file is the format of kubelets from 1.37: data is authoritative, the rest is for older ones.
type file struct {
	MemoryManagerCheckpoint
	Data         string            `json:"data"`
	DataChecksum checksum.Checksum `json:"dataChecksum"`
}

// Format encodes the file.
func Format(c Content) ([]byte, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	old := MemoryManagerCheckpoint{PolicyName: c.PolicyName, MachineState: c.MachineState, Entries: c.Entries}
	old.Checksum = checksum.New(&old)
	return json.Marshal(file{MemoryManagerCheckpoint: old, Data: string(text), DataChecksum: checksum.New(string(text))})
}

// Parse decodes the file, also one of an older kubelet.
func Parse(text []byte) (Content, error) {
	f := file{MemoryManagerCheckpoint: MemoryManagerCheckpoint{MachineState: NUMANodeMap{}, Entries: ContainerMemoryAssignments{}}}
	if err := json.Unmarshal(text, &f); err != nil {
		return Content{}, err
	}
	c := Content{PolicyName: f.PolicyName, MachineState: f.MachineState, Entries: f.Entries, PodEntries: PodMemoryAssignments{}}
	if f.Data == "" && f.DataChecksum == 0 {
		if !f.valid() {
			var ok bool
			if c.PodEntries, ok = validV2(text); !ok {
				return Content{}, errors.New("checkpoint is corrupted: its checksum is wrong")
			}
		}
		return c, c.check()
	}
	if sum := checksum.New(f.Data); sum != f.DataChecksum {
		return Content{}, fmt.Errorf("checkpoint is corrupted: checksum %d, want %d", f.DataChecksum, sum)
	}
	c = Content{}
	if err := json.Unmarshal([]byte(f.Data), &c); err != nil {
		return Content{}, err
	}
	if c.MachineState == nil {
		c.MachineState = NUMANodeMap{}
	}
	if c.Entries == nil {
		c.Entries = ContainerMemoryAssignments{}
	}
	if c.PodEntries == nil {
		c.PodEntries = PodMemoryAssignments{}
	}
	return c, c.check()
}

// valid reports whether the checksum is right; 0 is none.
func (cp MemoryManagerCheckpoint) valid() bool {
	sum := cp.Checksum
	cp.Checksum = 0
	return sum == 0 || sum == checksum.New(&cp)
}

// check refuses what would not be a state at all.
func (c Content) check() error {
	for id, n := range c.MachineState {
		if n == nil {
			return fmt.Errorf("NUMA node %d has no state", id)
		}
		for name, t := range n.MemoryMap {
			if t == nil {
				return fmt.Errorf("NUMA node %d: %s has no amounts", id, name)
			}
		}
	}
	return nil
}
