package node

import (
	"slices"
	"strings"
	"testing"
)

// Sockets share processors and memory evenly, each as a NUMA node, and the kernel does not read a slow clock then.
func TestTopology(t *testing.T) {
	got := strings.Join(topology(Config{CPUs: 8, Memory: 6144, Sockets: 2}), " ")
	want := "-smp 8,sockets=2,cores=4,threads=1 -m 6144 " +
		"-object memory-backend-ram,id=ram0,size=3072M -numa node,nodeid=0,cpus=0-3,memdev=ram0 " +
		"-object memory-backend-ram,id=ram1,size=3072M -numa node,nodeid=1,cpus=4-7,memdev=ram1"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := strings.Join(topology(Config{}), " "), "-smp 2 -m 3072"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	m := &Machine{dir: "/m", port: "1"}
	for sockets, want := range map[int]string{0: kernelArgs + " net.ifnames=0", 2: kernelArgs + " tsc=reliable net.ifnames=0"} {
		args := m.qemu(Config{Sockets: sockets, KernelArgs: "net.ifnames=0"})
		if i := slices.Index(args, "-append"); i < 0 || args[i+1] != want {
			t.Errorf("%d sockets: %q, want the kernel's arguments %q", sockets, args, want)
		}
	}
}

// Processors that cannot be divided are refused before anything is made.
func TestStartUndividable(t *testing.T) {
	for _, cfg := range []Config{{CPUs: 3, Sockets: 2}, {CPUs: 4, Memory: 3073, Sockets: 2}} {
		cfg.Dir, cfg.Agent = t.TempDir(), None
		if _, err := Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "cannot be divided among 2 sockets") {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}
