package numa

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/cpuset"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// Read reads the machine's arrangement from /sys/devices/system below root ("/" except in tests). The kernel writes these files.
//
// Upstream: cadvisor, lib/utils/sysinfo/sysinfo.go, GetNodesInfo.
func Read(root string) (Machine, error) {
	s := sys(filepath.Join(root, "sys/devices/system"))
	m := Machine{CPUs: map[int]CPU{}}
	nodes, err := s.list("node/online")
	if errors.Is(err, fs.ErrNotExist) {
		return s.withoutNodes()
	}
	if err != nil {
		return m, fmt.Errorf("read the NUMA nodes: %w", err)
	}
	for _, id := range nodes.List() {
		n, err := s.node(id)
		if err != nil {
			return m, fmt.Errorf("read NUMA node %d: %w", id, err)
		}
		m.Nodes = append(m.Nodes, n)
		cpus, err := s.list(fmt.Sprintf("node/node%d/cpulist", id))
		if err != nil {
			return m, fmt.Errorf("read the CPUs of NUMA node %d: %w", id, err)
		}
		if err := s.cpus(m.CPUs, cpus, func(CPU) int { return id }); err != nil {
			return m, err
		}
	}
	return m, m.check()
}

// withoutNodes reads a machine whose kernel has no NUMA nodes: each socket counts as a node, whose memory is unknown.
func (s sys) withoutNodes() (Machine, error) {
	m := Machine{CPUs: map[int]CPU{}}
	cpus, err := s.list("cpu/online")
	if err != nil {
		return m, fmt.Errorf("read the CPUs: %w", err)
	}
	if err := s.cpus(m.CPUs, cpus, func(c CPU) int { return c.Socket }); err != nil {
		return m, err
	}
	var ids []int
	for _, c := range m.CPUs {
		if !slices.Contains(ids, c.Node) {
			ids = append(ids, c.Node)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		m.Nodes = append(m.Nodes, Node{ID: id})
	}
	return m, m.check()
}

func (m Machine) check() error {
	if len(m.CPUs) == 0 {
		return errors.New("read the CPUs: the kernel lists none with a core and a socket")
	}
	if id := m.Nodes[len(m.Nodes)-1].ID; id > MaxNode {
		return fmt.Errorf("NUMA node %d: numbers up to %d are supported", id, MaxNode)
	}
	return nil
}

// sys is the directory of the kernel's files.
type sys string

func (s sys) text(name string) (string, error) {
	text, err := wholefile.Read(filepath.Join(string(s), name), wholefile.Small)
	return strings.TrimSpace(string(text)), err
}

func (s sys) number(name string) (int, error) {
	text, err := s.text(name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

func (s sys) list(name string) (cpuset.CPUSet, error) {
	text, err := s.text(name)
	if err != nil {
		return cpuset.New(), err
	}
	return ParseList(text)
}

// cpus adds the CPUs of a node. One without a core or a socket is left out, as upstream does.
func (s sys) cpus(to map[int]CPU, cpus cpuset.CPUSet, node func(CPU) int) error {
	type place struct{ node, socket, core int }
	cores := map[place][]int{}
	for _, id := range cpus.List() {
		socket, err := s.number(fmt.Sprintf("cpu/cpu%d/topology/physical_package_id", id))
		core, err2 := s.number(fmt.Sprintf("cpu/cpu%d/topology/core_id", id))
		switch err := errors.Join(err, err2); {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return fmt.Errorf("read the place of CPU %d: %w", id, err)
		}
		at := place{node(CPU{Socket: socket}), socket, core}
		cores[at] = append(cores[at], id)
	}
	perNode := map[int]int{} // cores
	for at := range cores {
		perNode[at.node]++
	}
	for at, ids := range cores {
		uncore := at.socket
		if id, ok := s.uncore(ids[0], perNode[at.node]*len(ids)); ok {
			uncore = id
		}
		for _, id := range ids {
			to[id] = CPU{Core: slices.Min(ids), Socket: at.socket, Node: at.node, Uncore: uncore}
		}
	}
	return nil
}
