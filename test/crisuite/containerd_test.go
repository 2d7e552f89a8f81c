package crisuite_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/test/crisuite"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/ownnet"
)

func TestMain(m *testing.M) { ownnet.Main(m.Run, lab.Build) }

// TestContainerd runs the suite against a lab of its own. The simulated runtime passes it too: see agent/cri/sim.
func TestContainerd(t *testing.T) {
	ownnet.Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	l, err := lab.Up(ctx, lab.Config{Dir: filepath.Join(t.TempDir(), "lab"), Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	conn, err := l.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	// A group, so that the lab outlives the parallel tests.
	t.Run("suite", func(t *testing.T) {
		crisuite.Run(t, crisuite.Target{
			Runtime:      runtimeapi.NewRuntimeServiceClient(conn),
			Image:        runtimeapi.NewImageServiceClient(conn),
			Busybox:      l.Image(lab.ImageBusybox),
			Spare:        l.Image(lab.ImageHTTP),
			CgroupParent: l.CgroupRoot + "/suite",
			LogDir:       t.TempDir(),
		})
	})
}
