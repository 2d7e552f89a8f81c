package trace

import "testing"

func TestPodRestarts(t *testing.T) {
	all := []ContainerStatus{
		{Name: "init", Init: true, Restarts: 1}, {Name: "sidecar", Init: true, Restarts: 10}, {Name: "main", Restarts: 100}, {Name: "debug", Ephemeral: true, Restarts: 1000},
	}
	sidecar := func(name string) bool { return name == "sidecar" }
	for initialized, want := range map[bool]int{false: 11, true: 110} {
		if got := PodRestarts(all, initialized, sidecar); got != want {
			t.Errorf("initialized %t: %d, want %d", initialized, got, want)
		}
	}
}
