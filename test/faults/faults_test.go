package main

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/ownnet"
	"github.com/kubeloupe/kubeloupe/test/product"
)

func TestMain(m *testing.M) {
	denyMain()
	ownnet.Main(m.Run, lab.Build, product.Fetch)
}

// TestFaults brings the faults about that take seconds. How much longer starts take is for `make faults`, on a machine of its own.
func TestFaults(t *testing.T) {
	ownnet.Need(t)
	s, err := newStage(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	for _, f := range all() {
		if !f.quick {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			f.samples, f.rounds = 1, 1
			r := measure(t.Context(), s.Lab, s.binary, s.dir, f)
			table(t.Output(), []result{r})
			if err := r.verdict(false); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDenied needs no lab: a program runs as ever but for the system calls that it is to be without.
func TestDenied(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a filter of system calls is Linux's")
	}
	sync := func() *exec.Cmd { return exec.Command("/bin/sync", t.TempDir()) }
	if said, err := sync().CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if said, err := denied(sync(), "eio").CombinedOutput(); err == nil || !strings.Contains(string(said), "Input/output error") {
		t.Errorf("%v: %s", err, said)
	}
	if said, err := denied(sync(), "inotify").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

func TestMedian(t *testing.T) {
	if got := median([]float64{3, 1, 2}); got != 2 {
		t.Error(got)
	}
	if got := median([]float64{}); got != 0 {
		t.Error(got)
	}
}
