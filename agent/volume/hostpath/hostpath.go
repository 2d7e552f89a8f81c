// Package hostpath is the volume plugin kubernetes.io/host-path: a path of the node itself.
//
// It checks that the path has the type of the pod's spec, and creates it if the type requires it. It never removes or changes
// existing files. It runs no goroutine and publishes no event; the manager does.
//
// Upstream: pkg/volume/hostpath/host_path.go.
package hostpath

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// Name is the plugin's name.
const Name = "kubernetes.io/host-path"

// Plugin is the plugin.
type Plugin struct{}

// New returns the plugin.
func New() *Plugin { return &Plugin{} }

// Name implements volume.Plugin.
func (*Plugin) Name() string { return Name }

// CanSupport implements volume.Plugin.
func (*Plugin) CanSupport(v *v1.Volume) bool { return v.HostPath != nil }

// NoMountOptions implements volume.Fixed.
func (*Plugin) NoMountOptions() {}

// Version implements volume.Plugin: the path and its type.
func (*Plugin) Version(s volume.Spec) (string, error) {
	src := s.Volume.HostPath
	if slices.Contains(strings.Split(filepath.ToSlash(src.Path), "/"), "..") {
		return "", fmt.Errorf("hostPath.path %q must not contain '..'", src.Path)
	}
	if src.Path == "" {
		return "", errors.New("hostPath.path must not be empty")
	}
	return string(typeOf(src)) + " " + src.Path, nil
}

// SetUp implements volume.Plugin.
func (*Plugin) SetUp(_ context.Context, s volume.Spec) (criconfig.Volume, error) {
	src := s.Volume.HostPath
	if err := check(src.Path, typeOf(src)); err != nil {
		return criconfig.Volume{}, err
	}
	return criconfig.Volume{HostPath: src.Path}, nil
}

// TearDown implements volume.Plugin: the node's files are not changed.
func (*Plugin) TearDown(context.Context, volume.Place) error { return nil }

func typeOf(src *v1.HostPathVolumeSource) v1.HostPathType {
	if src.Type == nil {
		return v1.HostPathUnset
	}
	return *src.Type
}
