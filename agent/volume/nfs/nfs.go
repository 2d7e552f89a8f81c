// Package nfs is the volume plugin kubernetes.io/nfs: a directory of an NFS server.
//
// It owns the mount, which the node's mount.nfs creates. It never removes data. It runs no goroutine and publishes no
// event; the manager does.
//
// Upstream: pkg/volume/nfs/nfs.go.
package nfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/mount-utils"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// Name is the plugin's name.
const Name = "kubernetes.io/nfs"

// unmountPatience is how long an unmount may take before it is forced: the server may be gone.
const unmountPatience = time.Minute

// Plugin is the plugin.
type Plugin struct{ mounter mount.Interface }

// New returns the plugin.
func New(mounter mount.Interface) (*Plugin, error) {
	if mounter == nil {
		return nil, errors.New("nfs: mounter is missing")
	}
	return &Plugin{mounter}, nil
}

// Name implements volume.Plugin.
func (*Plugin) Name() string { return Name }

// CanSupport implements volume.Plugin.
func (*Plugin) CanSupport(v *v1.Volume) bool { return v.NFS != nil }

// Version implements volume.Plugin.
func (*Plugin) Version(s volume.Spec) (string, error) {
	src := s.Volume.NFS
	if src.Server == "" || src.Path == "" {
		return "", fmt.Errorf("volume %s: nfs needs server and path", s.Volume.Name)
	}
	return source(src), nil
}

// SetUp implements volume.Plugin.
func (p *Plugin) SetUp(_ context.Context, s volume.Spec) (criconfig.Volume, error) {
	readOnly := s.ReadOnly || s.PV == nil && s.Volume.NFS.ReadOnly
	out := criconfig.Volume{HostPath: s.Dir, ReadOnly: readOnly}
	mounted, err := p.mounter.IsMountPoint(s.Dir)
	if err != nil && !os.IsNotExist(err) || mounted {
		return out, err
	}
	if err := os.MkdirAll(s.Dir, 0o750); err != nil {
		return out, err
	}
	var more []string
	if readOnly {
		more = []string{"ro"}
	}
	if err := p.mounter.MountSensitiveWithoutSystemd(source(s.Volume.NFS), s.Dir, "nfs", volume.MountOptions(s, more...), nil); err != nil {
		_ = mount.CleanupMountPoint(s.Dir, p.mounter, true)
		return out, err
	}
	return out, nil
}

// source returns what to mount, as server:path. An IPv6 address is in brackets.
func source(src *v1.NFSVolumeSource) string {
	server := src.Server
	if strings.Contains(server, ":") && !strings.HasPrefix(server, "[") {
		server = "[" + server + "]"
	}
	return server + ":" + src.Path
}

// TearDown implements volume.Plugin.
func (p *Plugin) TearDown(_ context.Context, at volume.Place) error {
	if force, ok := p.mounter.(mount.MounterForceUnmounter); ok {
		return mount.CleanupMountWithForce(at.Dir, force, true, unmountPatience)
	}
	return mount.CleanupMountPoint(at.Dir, p.mounter, true)
}
