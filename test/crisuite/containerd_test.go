package crisuite_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/test/crisuite"
	"github.com/kubeloupe/kubeloupe/test/lab"
)

// TestContainerd runs the suite against a lab of its own. The simulated runtime passes it too: see agent/cri/sim.
func TestContainerd(t *testing.T) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("a lab starts containers: this test needs Linux and root")
	}
	if testing.Short() {
		t.Skip("a lab takes its time: not with -short")
	}
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
