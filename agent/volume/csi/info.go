package csi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How long an answer about a CSIDriver object is valid. No request is sent while no pod needs it.
const (
	infoGood    = time.Minute
	missingGood = 5 * time.Second
	// askTime is the timeout of a request to the API server.
	askTime = 10 * time.Second
	// maxInfos limits the number of drivers whose answers are kept: authors of pods can name any driver.
	maxInfos = 256
)

// csiDriver is a CSIDriver object; nil if there is none.

type csiDriver struct{ *storagev1.CSIDriver }

// infos caches CSIDriver objects.
type infos struct {
	asking singleflight.Group // by driver: no request is sent with mu held

	mu    sync.Mutex
	known map[string]known
}

type known struct {
	info *csiDriver
	at   time.Time
}

// info returns the API server's object for a driver, nil if there is none. While the API server does not respond, an
// earlier answer is used.
func (p *Plugin) info(ctx context.Context, driver string) (*csiDriver, error) {
	had, ok := p.infos.get(driver)
	if ok && had.good(time.Now()) {
		return had.info, nil
	}
	answer := p.infos.asking.DoChan(driver, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
		defer cancel()
		got, err := p.cfg.API.StorageV1().CSIDrivers().Get(ctx, driver, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return p.infos.put(driver, nil), nil
		case err == nil:
			info := p.infos.put(driver, &csiDriver{got})
			if info.republishes() && !had.info.republishes() && p.cfg.Republish != nil {
				p.cfg.Republish()
			}
			return info, nil
		case ok:
			return had.info, nil
		}
		return nil, fmt.Errorf("get CSIDriver %s: %w", driver, err)
	})
	select {
	case r := <-answer:
		info, _ := r.Val.(*csiDriver)
		return info, r.Err
	case <-ctx.Done():
		return nil, fmt.Errorf("get CSIDriver %s: %w", driver, context.Cause(ctx))
	}
}

func (i *infos) get(driver string) (known, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	k, ok := i.known[driver]
	return k, ok
}

// put stores an answer. To make room, it removes expired answers that a driver has no object, then the oldest answer.
func (i *infos) put(driver string, info *csiDriver) *csiDriver {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(i.known, func(_ string, k known) bool { return k.info == nil && !k.good(now) })
	if i.known == nil {
		i.known = map[string]known{}
	}
	if _, ok := i.known[driver]; !ok && len(i.known) >= maxInfos {
		oldest := driver
		for name, k := range i.known {
			if oldest == driver || k.at.Before(i.known[oldest].at) {
				oldest = name
			}
		}
		delete(i.known, oldest)
	}
	i.known[driver] = known{info: info, at: now}
	return info
}

func (k known) good(now time.Time) bool {
	if k.info == nil {
		return now.Sub(k.at) < missingGood
	}
	return now.Sub(k.at) < infoGood
}

// attached reports whether a controller attaches the driver's volumes: yes, unless the object says no.
//
// Upstream: pkg/volume/csi/csi_plugin.go, skipAttach.
func (i *csiDriver) attached() bool {
	return i == nil || i.Spec.AttachRequired == nil || *i.Spec.AttachRequired
}

// updatePeriod is how often the number of the driver's volumes is updated in the CSINode object; 0 for only when the driver registers.
//
// Upstream: pkg/volume/csi/csi_node_updater.go, getNodeAllocatableUpdatePeriod. The API server requires 10 s at least.
func (i *csiDriver) updatePeriod() time.Duration {
	if i == nil || i.Spec.NodeAllocatableUpdatePeriodSeconds == nil || *i.Spec.NodeAllocatableUpdatePeriodSeconds <= 0 {
		return 0
	}
	return max(time.Duration(*i.Spec.NodeAllocatableUpdatePeriodSeconds)*time.Second, shortestUpdate)
}

// republishes reports whether the driver's volumes must be published again periodically.
func (i *csiDriver) republishes() bool {
	return i != nil && i.Spec.RequiresRepublish != nil && *i.Spec.RequiresRepublish
}

func (i *csiDriver) podInfo() bool {
	return i != nil && i.Spec.PodInfoOnMount != nil && *i.Spec.PodInfoOnMount
}

// supports returns an error if the driver does not support volumes of this lifecycle.
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

// groupPolicy returns who sets the group of files.
func (i *csiDriver) groupPolicy() storagev1.FSGroupPolicy {
	if i == nil || i.Spec.FSGroupPolicy == nil || *i.Spec.FSGroupPolicy == "" {
		return storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy
	}
	return *i.Spec.FSGroupPolicy
}

// groups reports whether the agent sets the group of the volume's files to the pod's.
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
