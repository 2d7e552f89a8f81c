package stats

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The runtime says that 0 bytes are available of a container or a pod at its limit, and of one without a limit.
func TestAvailableMemory(t *testing.T) {
	for _, c := range allCgroups() {
		file, none, of := "memory.max", "max\n", ""
		if c.v1() {
			file, none, of = "memory.limit_in_bytes", "9223372036854771712\n", "memory"
		}
		for name, tc := range map[string]struct {
			container, pod         string // the limits
			said                   *uint64
			wantContainer, wantPod *uint64
		}{
			"both at their limits":         {"1000\n", "2000\n", new(uint64(0)), new(uint64(0)), new(uint64(0))},
			"no limits":                    {none, none, new(uint64(0)), nil, nil},
			"a limit of the container":     {"1000\n", none, new(uint64(0)), new(uint64(0)), nil},
			"a limit of the pod":           {none, "2000\n", new(uint64(0)), nil, new(uint64(0))},
			"below the limits":             {"9000\n", "9000\n", new(uint64(5)), new(uint64(5)), new(uint64(5))},
			"the runtime does not know":    {"1000\n", "2000\n", nil, nil, nil},
			"the limits cannot be read":    {"?\n", "?\n", new(uint64(0)), nil, nil},
			"only the runtime has a limit": {none, none, new(uint64(5)), new(uint64(5)), new(uint64(5))},
		} {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				s, runtime, root := c.on(t)
				write(t, root, map[string]string{of + c.container + "/" + file: tc.container, of + c.pod + "/" + file: tc.pod})
				linux := runtime.pods[0].Linux
				if tc.said != nil {
					linux.Memory.AvailableBytes, linux.Containers[0].Memory.AvailableBytes = u64(*tc.said), u64(*tc.said)
				}
				sum, err := s.Summary(t.Context(), true)
				if err != nil {
					t.Fatal(err)
				}
				p := sum.Pods[0]
				if d := cmp.Diff(tc.wantContainer, p.Containers[0].Memory.AvailableBytes); d != "" {
					t.Errorf("of the container (-want +got):\n%s", d)
				}
				if d := cmp.Diff(tc.wantPod, p.Memory.AvailableBytes); d != "" {
					t.Errorf("of the pod (-want +got):\n%s", d)
				}
			})
		}
	}
}

// Whose cgroup is not known has no limit that is known.
func TestAvailableMemoryWithoutCgroup(t *testing.T) {
	c := allCgroups()[0]
	c.pod = ""
	s, runtime, _ := c.on(t)
	runtime.pods[0].Linux.Memory.AvailableBytes, runtime.pods[0].Linux.Containers[0].Memory.AvailableBytes = u64(0), u64(0)
	sum, err := s.Summary(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if p := sum.Pods[0]; p.Memory.AvailableBytes != nil || p.Containers[0].Memory.AvailableBytes != nil {
		t.Errorf("of the pod %+v, of the container %+v", p.Memory, p.Containers[0].Memory)
	}
}
