package sim_test

import (
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/agent/cri/sim/simtest"
	"github.com/kubeloupe/kubeloupe/test/crisuite"
)

// TestSuite runs the suite that containerd also passes.
func TestSuite(t *testing.T) {
	images := sim.DefaultImages()
	srv, err := sim.New(sim.Config{Images: images, PullBandwidth: -1})
	if err != nil {
		t.Fatal(err)
	}
	conn := simtest.Serve(t, srv)
	crisuite.Run(t, crisuite.Target{
		Runtime: runtimeapi.NewRuntimeServiceClient(conn),
		Image:   runtimeapi.NewImageServiceClient(conn),
		Busybox: "docker.io/library/busybox:1.37",
		Spare:   "docker.io/library/nginx:latest",
		LogDir:  t.TempDir(),
	})
}
