package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestIsolatesStorage(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{{"", true}, {"localStorageCapacityIsolation: true\n", true}, {"localStorageCapacityIsolation: false\n", false}} {
		file := filepath.Join(t.TempDir(), "kubelet.yaml")
		if err := os.WriteFile(file, []byte("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"+c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		p := partsOn(t, "--config", file)
		p.cfg.Simulated, p.cfg.Kubelet.Node.RootDir = true, t.TempDir()
		if err := p.readMachine(); err != nil {
			t.Fatal(err)
		}
		if _, has := p.host.resources.Capacity[v1.ResourceEphemeralStorage]; has != c.want {
			t.Errorf("%q: ephemeral-storage %t", c.text, has)
		}
	}
}

// The errors of the Ready condition's message are in upstream's order.
func TestOrderOfUnready(t *testing.T) {
	u := unready{
		shutdown: errors.New("shutdown"), storage: errors.New("storage"), network: errors.New("network"), pleg: errors.New("PLEG"), runtime: errors.New("runtime"),
	}
	if got := fmt.Sprint(u.errs()); got != "[runtime PLEG network storage shutdown]" {
		t.Errorf("errors %s", got)
	}
	if got := (unready{network: errors.New("network")}).errs(); len(got) != 1 {
		t.Errorf("errors %v", got)
	}
}
