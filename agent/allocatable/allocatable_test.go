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
	m := Machine{CPUs: 4, MaxPIDs: 32768, Memory: 8 * gi, Disk: 100 * gi, HugePages: map[int64]int64{2 << 20: 1 * gi, gi: 0}}
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
	if diff := cmp.Diff(map[string]string{
		"cpu": "3500m", "memory": "7Gi", "pods": "40", "ephemeral-storage": "99Gi", "hugepages-2Mi": "1Gi", "hugepages-1Gi": "0", "pid": "32668",
	}, words(got.Enforced)); diff != "" {
		t.Error("enforced", diff)
	}
	if diff := cmp.Diff(map[string]string{"cpu": "500m", "memory": "1280Mi", "ephemeral-storage": "11811160224"}, words(got.Kept())); diff != "" {
		t.Error("kept", diff)
	}
}

// A reservation of CPU is rounded to thousandths.
func TestCPURounded(t *testing.T) {
	for text, want := range map[string]string{"0.0605": "61m", "60499u": "60m", "1n": "0", "1500m": "1500m"} {
		got, err := Compute(Machine{CPUs: 4, Memory: gi, Disk: gi}, Config{SystemReserved: map[string]string{"cpu": text}})
		if err != nil {
			t.Fatal(err)
		}
		if q := got.SystemReserved.Cpu().String(); q != want {
			t.Errorf("%s: %s, want %s", text, q, want)
		}
	}
}

// The number of CPUs replaces the CPU of both reservations.
func TestReservedCPUs(t *testing.T) {
	m := Machine{CPUs: 4, CPUList: "0-3", Memory: gi, Disk: gi}
	got, err := Compute(m, Config{
		ReservedCPUs: "0-1,3", KubeReserved: map[string]string{"cpu": "500m", "memory": "1Mi"}, SystemReserved: map[string]string{"cpu": "500m"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if cpu := got.Allocatable.Cpu(); cpu.String() != "1" {
		t.Errorf("allocatable CPU %s", cpu)
	}
	if diff := cmp.Diff(map[string]string{"memory": "1Mi"}, words(got.KubeReserved)); diff != "" {
		t.Error("kubeReserved", diff)
	}
	if diff := cmp.Diff(map[string]string{"cpu": "3"}, words(got.SystemReserved)); diff != "" {
		t.Error("systemReserved", diff)
	}
}

// A threshold of 0% or 100% is none: nothing is kept free for it.
func TestNoThreshold(t *testing.T) {
	for _, none := range []string{"0%", "100%"} {
		got, err := Compute(Machine{CPUs: 4, Memory: 8 * gi, Disk: 100 * gi}, Config{
			MaxPods: 110, KubeReserved: map[string]string{"memory": "1Gi"},
			EvictionHard: map[string]string{"memory.available": none, "nodefs.available": none},
		})
		if err != nil {
			t.Fatalf("%s: %v", none, err)
		}
		if memory, disk := got.Allocatable.Memory(), got.Allocatable.StorageEphemeral(); memory.String() != "7Gi" || disk.String() != "100Gi" {
			t.Errorf("%s: allocatable memory %s, storage %s", none, memory, disk)
		}
		if len(got.EvictionReserved) > 0 {
			t.Errorf("%s: %v is kept free", none, words(got.EvictionReserved))
		}
	}
}

func TestComputeRefuses(t *testing.T) {
	m := Machine{CPUs: 1, CPUList: "0", MaxPIDs: 100, Memory: gi, Disk: gi}
	for name, c := range map[string]struct {
		cfg  Config
		want string
	}{
		"quantity": {Config{KubeReserved: map[string]string{"cpu": "lots"}}, `kubeReserved["cpu"]: "lots"`},
		"percent":  {Config{EvictionHard: map[string]string{"memory.available": "x%"}}, `evictionHard["memory.available"]`},
		"over":     {Config{SystemReserved: map[string]string{"cpu": "2"}}, "cpu: kubeReserved, systemReserved and evictionHard together are more than the capacity of 1"},
		"pids":     {Config{SystemReserved: map[string]string{"pid": "100"}}, "pid: kubeReserved and systemReserved together leave no process for pods; the kernel has 100"},
		"CPUs":     {Config{ReservedCPUs: "x"}, `reservedSystemCPUs: "x" is not a list of CPUs`},
		"huge":     {Config{ReservedCPUs: "0-99999999"}, "is not a list of CPUs"},
		"offline":  {Config{ReservedCPUs: "0-1"}, "reservedSystemCPUs: CPU 1 of 0-1 is not online; online are 0"},
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
		"sys/devices/system/cpu/online":                         "0-1\n",
		"proc/sys/kernel/pid_max":                               "4194304\n",
		"proc/sys/kernel/threads-max":                           "23456\n",
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
	if diff := cmp.Diff(Machine{CPUs: 2, CPUList: "0-1", MaxPIDs: 23456, Memory: 2 << 20, Swap: 4096, HugePages: map[int64]int64{2 << 20: 6 << 20}}, got); diff != "" {
		t.Error(diff)
	}
}

// With localStorageCapacityIsolation: false, local storage is not a resource.
func TestNoStorage(t *testing.T) {
	got, err := Compute(Machine{CPUs: 4, Memory: gi, Disk: gi}, Config{
		NoStorage: true, MaxPods: 1, SystemReserved: map[string]string{"ephemeral-storage": "1Gi"}, EvictionHard: map[string]string{"nodefs.available": "10%"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for what, list := range map[string]v1.ResourceList{"capacity": got.Capacity, "allocatable": got.Allocatable, "enforced": got.Enforced, "kept": got.Kept()} {
		if q, has := list[v1.ResourceEphemeralStorage]; has {
			t.Errorf("%s has %s of local storage", what, q.String())
		}
	}
}
