package memory

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/agent/numa"
)

// sized reads a machine of text files: NUMA nodes of this many KiB, and huge pages of 2 MiB of node 0.
func sized(t *testing.T, pages int, kib ...int) numa.Machine {
	t.Helper()
	root := t.TempDir()
	files := map[string]string{"node/online": "0", "cpu/cpu0/topology/physical_package_id": "0", "cpu/cpu0/topology/core_id": "0"}
	if len(kib) > 1 {
		files["node/online"] = fmt.Sprintf("0-%d", len(kib)-1)
	}
	for i, size := range kib {
		dir := fmt.Sprintf("node/node%d/", i)
		files[dir+"meminfo"] = fmt.Sprintf("Node %d MemTotal:       %d kB\nNode %d MemFree:  1 kB", i, size, i)
		files[dir+"cpulist"] = ""
		if i == 0 {
			files[dir+"cpulist"] = "0"
			files[dir+"hugepages/hugepages-2048kB/nr_hugepages"] = fmt.Sprint(pages)
		}
	}
	for name, text := range files {
		path := filepath.Join(root, "sys/devices/system", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := numa.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMemoryChanged has the machine's memory change between two starts, as a virtual machine's does with a balloon. Upstream's kubelet compares
// every total with the state file's (areMemoryStatesEqual) and does not start if one differs, however little, whether containers have memory or not.
func TestMemoryChanged(t *testing.T) {
	const gib = 1 << 20 // in KiB
	for _, c := range []struct {
		name  string
		pages int
		kib   []int
		want  string // "" is that it starts
	}{
		{"the same", 4, []int{4 * gib, 4 * gib}, ""},
		{"a page more", 4, []int{4*gib + 4, 4 * gib}, "NUMA node 0: memory"},
		{"a page less", 4, []int{4 * gib, 4*gib - 4}, "NUMA node 1: memory"},
		{"half of it", 4, []int{2 * gib, 2 * gib}, "NUMA node 0: memory"},
		{"moved to the other node", 4, []int{3 * gib, 5 * gib}, "NUMA node 0: memory"},
		{"more huge pages", 5, []int{4 * gib, 4 * gib}, "NUMA node 0: hugepages-2Mi"},
		{"no huge pages", 0, []int{4 * gib, 4 * gib}, "NUMA node 0: hugepages-2Mi"},
		{"a node more", 4, []int{4 * gib, 4 * gib, gib}, "2 NUMA nodes, want 3"},
	} {
		for _, used := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, used %v", c.name, used), func(t *testing.T) {
				f := newFixture(t)
				f.cfg.Machine, f.cfg.Dir = sized(t, 4, 4*gib, 4*gib), t.TempDir()
				var err error
				if f.Manager, err = New(f.cfg); err != nil {
					t.Fatal(err)
				}
				if used {
					f.admit(t, pod("p", "a=1Gi"), true)
				}
				f.cfg.Machine = sized(t, c.pages, c.kib...)
				again, err := New(f.cfg)
				switch {
				case c.want == "" && (err != nil || used && again.Nodes("p", "a") != "0"):
					t.Errorf("%v", err)
				case c.want != "" && (err == nil || !strings.Contains(err.Error(), "the expected machine state is different from the real one: "+c.want)):
					t.Errorf("%v, want %s", err, c.want)
				}
			})
		}
	}
}
