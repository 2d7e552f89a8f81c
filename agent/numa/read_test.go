package numa

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/cpuset"
)

// tree writes files below a root, as the kernel has them.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, "sys/devices/system", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// cpu adds the files of a CPU.
func cpu(files map[string]string, id, socket, core int) {
	dir := fmt.Sprintf("cpu/cpu%d/topology/", id)
	files[dir+"physical_package_id"], files[dir+"core_id"] = fmt.Sprint(socket), fmt.Sprint(core)
}

// cache adds the files of a cache.
func cache(files map[string]string, cpu, index, level, id int, shared string) {
	dir := fmt.Sprintf("cpu/cpu%d/cache/index%d/", cpu, index)
	files[dir+"level"], files[dir+"id"], files[dir+"shared_cpu_map"] = fmt.Sprint(level), fmt.Sprint(id), shared
}

// twoNodes is a machine of 2 sockets, each a NUMA node with 2 cores of 2 threads; CPU 7 is offline. The cores of a socket have the same
// numbers as those of the other.
func twoNodes() map[string]string {
	files := map[string]string{
		"node/online": "0-1", "node/node0/cpulist": "0-1,4-5", "node/node1/cpulist": "2-3,6",
		"node/node0/meminfo": "Node 0 MemTotal:       1024 kB\nNode 0 MemFree: 5 kB", "node/node1/meminfo": "Node 1 MemTotal: 2048 kB",
		"node/node0/distance": "10 21", "node/node1/distance": "21 10",
		"node/node0/hugepages/hugepages-2048kB/nr_hugepages": "3", "node/node0/hugepages/hugepages-1048576kB/nr_hugepages": "0",
		"node/node0/hugepages/other/nr_hugepages": "x",
	}
	for id, at := range [][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {0, 0}, {0, 1}, {1, 0}, {1, 1}} {
		cpu(files, id, at[0], at[1])
	}
	return files
}

func TestRead(t *testing.T) {
	got, err := Read(tree(t, twoNodes()))
	want := Machine{
		CPUs: map[int]CPU{0: {Core: 0}, 4: {Core: 0}, 1: {Core: 1}, 5: {Core: 1}, 2: {2, 1, 1, 1}, 6: {2, 1, 1, 1}, 3: {3, 1, 1, 1}},
		Nodes: []Node{
			{ID: 0, Memory: 1 << 20, HugePages: []HugePages{{2 << 20, 6 << 20}, {1 << 30, 0}}, Distances: []uint64{10, 21}},
			{ID: 1, Memory: 2 << 20, Distances: []uint64{21, 10}},
		},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if nodes := got.NodesOf(cpuset.New(3, 0, 99)); !cmp.Equal(nodes, []int{0, 1}) || !got.All().Equals(cpuset.New(0, 1, 2, 3, 4, 5, 6)) {
		t.Errorf("%v, %v", nodes, got.All())
	}
}

// Two last-level caches in one NUMA node: the cores of each belong together. A cache that all share is none.
func TestUncore(t *testing.T) {
	files := map[string]string{"node/online": "0", "node/node0/cpulist": "0-3", "node/node0/meminfo": "Node 0 MemTotal: 1 kB"}
	for id := range 4 {
		cpu(files, id, 0, id)
		cache(files, id, 0, 2, id, fmt.Sprintf("%x", 1<<id))
		cache(files, id, 1, 3, 7+id/2, []string{"0003", "0000,0000000c"}[id/2])
	}
	for name, c := range map[string]struct {
		change func(map[string]string)
		want   [4]int
	}{
		"two": {func(map[string]string) {}, [4]int{7, 7, 8, 8}},
		"one for all": {func(f map[string]string) {
			for id := range 4 {
				cache(f, id, 1, 3, 0, "f")
			}
		}, [4]int{}},
		"without ids": {func(f map[string]string) {
			for id := range 4 {
				delete(f, fmt.Sprintf("cpu/cpu%d/cache/index1/id", id))
			}
		}, [4]int{}},
		"unreadable": {func(f map[string]string) {
			for id := range 4 {
				f[fmt.Sprintf("cpu/cpu%d/cache/index1/shared_cpu_map", id)] = "none"
			}
		}, [4]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			f := maps.Clone(files)
			c.change(f)
			m, err := Read(tree(t, f))
			got := [4]int{m.CPUs[0].Uncore, m.CPUs[1].Uncore, m.CPUs[2].Uncore, m.CPUs[3].Uncore}
			if err != nil || got != c.want {
				t.Errorf("%v, %v, want %v", got, err, c.want)
			}
		})
	}
}

func TestReadWithoutNodes(t *testing.T) {
	files := map[string]string{"cpu/online": "0-2"}
	cpu(files, 0, 0, 0)
	cpu(files, 1, 3, 0)
	m, err := Read(tree(t, files)) // CPU 2 has no place
	want := Machine{CPUs: map[int]CPU{0: {}, 1: {1, 3, 3, 3}}, Nodes: []Node{{ID: 0}, {ID: 3}}}
	if diff := cmp.Diff(want, m); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestReadErrors(t *testing.T) {
	for want, change := range map[string]func(map[string]string){
		"read the NUMA nodes":                   func(f map[string]string) { f["node/online"] = "x" },
		"read the CPUs of NUMA node 1":          func(f map[string]string) { f["node/node1/cpulist"] = "0-99999999" },
		"read the place of CPU 2":               func(f map[string]string) { f["cpu/cpu2/topology/core_id"] = "many" },
		"meminfo: has no MemTotal":              func(f map[string]string) { f["node/node1/meminfo"] = "Node 1 MemFree: 1 kB" },
		"distance: ":                            func(f map[string]string) { f["node/node1/distance"] = "10 x" },
		"huge pages hugepages-2048kB":           func(f map[string]string) { f["node/node0/hugepages/hugepages-2048kB/nr_hugepages"] = "-1" },
		"NUMA node 64: numbers up to 63":        func(f map[string]string) { f["node/online"], f["node/node64/cpulist"] = "0,64", "" },
		"the kernel lists none with a core":     func(f map[string]string) { f["node/node0/cpulist"], f["node/node1/cpulist"] = "", "" },
		"is larger than 65536 bytes, the limit": func(f map[string]string) { f["node/node0/distance"] = strings.Repeat("1", 70_000) },
	} {
		files := twoNodes()
		change(files)
		if _, err := Read(tree(t, files)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := Read(t.TempDir()); err == nil {
		t.Error("no error without files")
	}
}

func TestParseList(t *testing.T) {
	for text, want := range map[string]string{"": "", "0-2,5": "0-2,5", " 7\n": "7", "65535": "65535"} {
		if got, err := ParseList(text); err != nil || got.String() != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"a", "2-1", "1-", "-1", "1,,2", "65536", "0-4294967295", "1-2-3"} {
		if got, err := ParseList(text); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}

func TestMask(t *testing.T) {
	m := MaskOf(3, 0, 63, 64, -1)
	if m.Count() != 3 || !m.Has(3) || m.Has(1) || m.Has(64) || m.String() != "0,3,63" {
		t.Errorf("%v", m)
	}
	for _, c := range []struct {
		a, b Mask
		want bool
	}{{MaskOf(5), MaskOf(0, 1), true}, {MaskOf(0, 1), MaskOf(5), false}, {MaskOf(0, 2), MaskOf(1, 2), true}, {MaskOf(1), MaskOf(1), false}} {
		if got := c.a.Narrower(c.b); got != c.want {
			t.Errorf("%v narrower than %v: %t", c.a, c.b, got)
		}
	}
	var all []string
	Subsets([]int{0, 2, 3}, func(m Mask) { all = append(all, m.String()) })
	if got := strings.Join(all, " "); got != "0 2 3 0,2 0,3 2,3 0,2,3" {
		t.Error(got)
	}
}
