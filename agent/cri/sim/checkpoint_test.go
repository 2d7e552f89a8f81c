package sim_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
)

func TestCheckpointContainer(t *testing.T) {
	srv := newServer(t, sim.Config{})
	_, running := startPod(t, srv, "a", "app:1", "server")
	_, stopped := startPod(t, srv, "b", "app:1", "server")
	_, err := srv.StopContainer(t.Context(), &runtimeapi.StopContainerRequest{ContainerId: stopped})
	check(t, err)
	dir := t.TempDir()
	for _, c := range []struct {
		name, id, location string
		code               codes.Code
	}{
		{"running", running, filepath.Join(dir, "a.tar"), codes.OK},
		{"no directory", running, filepath.Join(dir, "none", "a.tar"), codes.Unknown},
		{"stopped", stopped, filepath.Join(dir, "b.tar"), codes.Unknown},
		{"unknown", "none", filepath.Join(dir, "c.tar"), codes.NotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := srv.CheckpointContainer(t.Context(), &runtimeapi.CheckpointContainerRequest{ContainerId: c.id, Location: c.location})
			if status.Code(err) != c.code {
				t.Errorf("error %v, want code %s", err, c.code)
			}
			text, err := os.ReadFile(c.location)
			if written := err == nil && strings.Contains(string(text), c.id); written != (c.code == codes.OK) {
				t.Errorf("the file has %q, %v", text, err)
			}
		})
	}
}
