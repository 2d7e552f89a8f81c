package allocatable

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

func words(list v1.ResourceList) map[string]string {
	out := map[string]string{}
	for name, q := range list {
		out[string(name)] = q.String()
	}
	return out
}

const gi = 1 << 30

func TestCompute(t *testing.T) {
	m := Machine{CPUs: 4, Memory: 8 * gi, Disk: 100 * gi, HugePages: map[int64]int64{2 << 20: 1 * gi, gi: 0}}
	got, err := Compute(m, Config{
		MaxPods: 110, PodsPerCore: 10,
		KubeReserved:   map[string]string{"cpu": "500m", "memory": "512Mi", "pid": "100"},
		SystemReserved: map[string]string{"memory": "512Mi", "ephemeral-storage": "1Gi"},
		EvictionHard:   map[string]string{"memory.available": "256Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{
		"cpu": "4", "memory": "8Gi", "pods": "40", "ephemeral-storage": "100Gi", "hugepages-2Mi": "1Gi", "hugepages-1Gi": "0",
	}, words(got.Capacity)); diff != "" {
		t.Error("capacity", diff)
	}
	if diff := cmp.Diff(map[string]string{
		"cpu": "3500m", "memory": "5888Mi", "pods": "40", "ephemeral-storage": "95563022176", "hugepages-2Mi": "1Gi", "hugepages-1Gi": "0",
	}, words(got.Allocatable)); diff != "" {
		t.Error("allocatable", diff)
	}
	if q := got.Enforced[v1.ResourceMemory]; q.String() != "7Gi" {
		t.Errorf("enforced memory %s", q.String())
	}
}

func TestComputeRefuses(t *testing.T) {
	m := Machine{CPUs: 1, Memory: gi, Disk: gi}
	for name, c := range map[string]struct {
		cfg  Config
		want string
	}{
		"quantity": {Config{KubeReserved: map[string]string{"cpu": "lots"}}, `kubeReserved["cpu"]: "lots"`},
		"percent":  {Config{EvictionHard: map[string]string{"memory.available": "x%"}}, `evictionHard["memory.available"]`},
		"over":     {Config{SystemReserved: map[string]string{"cpu": "2"}}, "cpu: kubeReserved, systemReserved and evictionHard together are more than the capacity of 1"},
	} {
		if _, err := Compute(m, c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadMachine(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"proc/cpuinfo": "processor\t: 0\nmodel name\t: processor x\nprocessor\t: 1\n",
		"proc/meminfo": "MemTotal:  2048 kB\nSwapTotal: 4 kB\n",
		"sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "3\n",
	} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadMachine(root, root)
	if err != nil || got.Disk <= 0 {
		t.Fatal(got, err)
	}
	got.Disk = 0
	if diff := cmp.Diff(Machine{CPUs: 2, Memory: 2 << 20, Swap: 4096, HugePages: map[int64]int64{2 << 20: 6 << 20}}, got); diff != "" {
		t.Error(diff)
	}
}
