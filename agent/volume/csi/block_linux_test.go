package csi

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// untidy is a driver that leaves files in the staging directory.
type untidy struct {
	csipb.NodeClient
	unstages int
}

func (*untidy) NodeUnpublishVolume(context.Context, *csipb.NodeUnpublishVolumeRequest, ...grpc.CallOption) (*csipb.NodeUnpublishVolumeResponse, error) {
	return &csipb.NodeUnpublishVolumeResponse{}, nil
}

func (u *untidy) NodeUnstageVolume(context.Context, *csipb.NodeUnstageVolumeRequest, ...grpc.CallOption) (*csipb.NodeUnstageVolumeResponse, error) {
	u.unstages++
	return &csipb.NodeUnstageVolumeResponse{}, nil
}

// stagedBlock is a pod's block volume that is staged, with a file of the driver beside it.
func stagedBlock(t *testing.T) (p *Plugin, u *untidy, at volume.Place) {
	t.Helper()
	p, u = newPlugin(t, fake.NewClientset()), &untidy{}
	p.drivers["d"] = &driver{name: "d", node: u, caps: map[csipb.NodeServiceCapability_RPC_Type]bool{canStage: true}}
	at = volume.Place{Dir: filepath.Join(p.cfg.RootDir, "pods", "u", "volumeDevices", "kubernetes.io~csi", "pv"), PodUID: "u", Name: "pv"}
	err := errors.Join(
		saveData(p.blockData("pv"), volData{Name: "pv", Handle: "h", Driver: "d"}),
		os.MkdirAll(filepath.Join(p.blockStaging("pv"), "deep", "er"), 0o750), os.WriteFile(filepath.Join(p.blockStaging("pv"), "image-meta.json"), nil, 0o600),
		os.MkdirAll(p.blockPublish("pv"), 0o750), os.MkdirAll(p.blockGlobal("pv"), 0o750), os.WriteFile(filepath.Join(filepath.Dir(p.blockGlobal("pv")), "more"), nil, 0o600),
		os.MkdirAll(filepath.Dir(at.Dir), 0o750), os.Symlink("/dev/x", at.Dir))
	if err != nil {
		t.Fatal(err)
	}
	return p, u, at
}

// What a driver leaves behind does not keep the pod from terminating.
func TestLeftoversOfBlockVolumes(t *testing.T) {
	p, u, at := stagedBlock(t)
	for range 2 {
		if err := p.TearDownBlock(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{at.Dir, p.blockStaging("pv"), p.blockPublish("pv"), filepath.Join(p.blockDir(), "pv")} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	if u.unstages != 1 {
		t.Errorf("unstaged %d times", u.unstages)
	}
}

// Nothing is removed behind a mount.
func TestMountInStagingOfBlockVolumes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	p, _, at := stagedBlock(t)
	path, data := filepath.Join(p.blockStaging("pv"), "deep"), t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(data, "precious"), nil, 0o600), unix.Mount(data, path, "", unix.MS_BIND, "")); err != nil {
		t.Fatal(err)
	}
	if err := p.TearDownBlock(t.Context(), at); err == nil || !strings.Contains(err.Error(), path+" is still mounted") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Lstat(filepath.Join(data, "precious")); err != nil {
		t.Error(err)
	}
	if err := unix.Unmount(path, 0); err != nil {
		t.Fatal(err)
	}
	if err := p.TearDownBlock(t.Context(), at); err != nil {
		t.Errorf("after the unmount: %v", err)
	}
}
