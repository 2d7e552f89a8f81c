package csi

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How long an answer about a CSIDriver object is good for. Nothing is asked while no pod needs it.
const (
	infoGood    = time.Minute
	missingGood = 5 * time.Second
)

// csiDriver is a CSIDriver object; nil when there is none.

type csiDriver struct{ *storagev1.CSIDriver }

// infos remembers CSIDriver objects.
type infos struct {
	mu    sync.Mutex
	known map[string]known
}

type known struct {
	info *csiDriver
	at   time.Time
}

// info returns what the API says of a driver, nil if there is no object. While the API server does not
// answer, an earlier answer is good.
func (p *Plugin) info(ctx context.Context, driver string) (*csiDriver, error) {
	p.infos.mu.Lock()
	defer p.infos.mu.Unlock()
	had, ok := p.infos.known[driver]
	good := infoGood
	if had.info == nil {
		good = missingGood
	}
	if ok && time.Since(had.at) < good {
		return had.info, nil
	}
	got, err := p.cfg.API.StorageV1().CSIDrivers().Get(ctx, driver, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		had = known{at: time.Now()}
	case err == nil:
		had = known{info: &csiDriver{got}, at: time.Now()}
	case ok:
		return had.info, nil
	default:
		return nil, fmt.Errorf("get CSIDriver %s: %w", driver, err)
	}
	if p.infos.known == nil {
		p.infos.known = map[string]known{}
	}
	p.infos.known[driver] = had
	return had.info, nil
}

// attached reports whether a controller attaches the driver's volumes: yes, unless it says otherwise.
//
// Upstream: pkg/volume/csi/csi_plugin.go, skipAttach.
func (i *csiDriver) attached() bool {
	return i == nil || i.Spec.AttachRequired == nil || *i.Spec.AttachRequired
}

func (i *csiDriver) podInfo() bool {
	return i != nil && i.Spec.PodInfoOnMount != nil && *i.Spec.PodInfoOnMount
}

// supports reports whether the driver does volumes of this lifecycle.
//
// Upstream: pkg/volume/csi/csi_mounter.go, supportsVolumeLifecycleMode.
func (i *csiDriver) supports(v vol) error {
	switch {
	case i == nil && !v.ephemeral:
		return nil
	case i == nil:
		return fmt.Errorf("volume mode %q not supported by driver %s (no CSIDriver object)", v.lifecycle(), v.driver)
	case !slices.Contains(i.Spec.VolumeLifecycleModes, storagev1.VolumeLifecycleMode(v.lifecycle())):
		return fmt.Errorf("volume mode %q not supported by driver %s (only supports %q)", v.lifecycle(), v.driver, i.Spec.VolumeLifecycleModes)
	}
	return nil
}

// groupPolicy says who gives files to the pod's group.
func (i *csiDriver) groupPolicy() storagev1.FSGroupPolicy {
	if i == nil || i.Spec.FSGroupPolicy == nil || *i.Spec.FSGroupPolicy == "" {
		return storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy
	}
	return *i.Spec.FSGroupPolicy
}

// groups reports whether the agent is to give the volume's files to the pod's group.
//
// Upstream: pkg/volume/csi/csi_mounter.go, supportsFSGroup.
func (i *csiDriver) groups(v vol) bool {
	policy := i.groupPolicy()
	switch {
	case policy == storagev1.NoneFSGroupPolicy, v.readOnly:
		return false
	case policy == storagev1.FileFSGroupPolicy:
		return true
	case v.fsType == "":
		return false
	}
	return v.ephemeral || slices.Contains(v.modes, v1.ReadWriteOnce) || slices.Contains(v.modes, v1.ReadWriteOncePod)
}
