package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Only CPUs that have the directory count: a CPU that is offline has none, and a virtual machine has none at all.
func TestThermalThrottles(t *testing.T) {
	sys := t.TempDir()
	if got := thermalThrottles(sys); len(got) > 0 {
		t.Errorf("of a machine without any: %q", got)
	}
	at := func(name string) string { return filepath.Join(sys, "devices/system/cpu", name, "thermal_throttle") }
	for _, dir := range []string{at("cpu10"), at("cpu2"), at("cpu0"), at("cpu1x"), at("cpufreq"), filepath.Dir(at("cpu3"))} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]string{at("cpu0"), at("cpu2"), at("cpu10")}, thermalThrottles(sys)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
