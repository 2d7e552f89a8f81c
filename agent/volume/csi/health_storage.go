package csi

import (
	"context"
	"maps"
	"slices"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// backend is what is known of a driver's storage backend.
type backend struct {
	conditions []storagev1.StorageHealthCondition
	stored     bool   // the API server has the conditions
	failed     string // the last error about it that was published
}

// identity is what makes a condition another one: not its message.
//
// Upstream: pkg/volume/csi/nodeinfomanager, storageHealthIdentity.
type identity struct{ status, reason, access, mode string }

func identify(c *storagev1.StorageHealthCondition) identity {
	id := identity{status: string(c.Status), reason: c.Reason}
	if c.AccessMode != nil {
		id.access = string(*c.AccessMode)
	}
	if c.VolumeMode != nil {
		id.mode = string(*c.VolumeMode)
	}
	return id
}

func identities(list []storagev1.StorageHealthCondition) map[identity]bool {
	set := map[identity]bool{}
	for i := range list {
		set[identify(&list[i])] = true
	}
	return set
}

// askBackend asks about the driver's backend. If the call fails, what is known stays.
func (h *Health) askBackend(ctx context.Context, d *driver) {
	limit, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := d.node.NodeGetStorageHealth(limit, &csipb.NodeGetStorageHealthRequest{}, grpc.MaxCallRecvMsgSize(maxAnswer))
	if err != nil {
		return // the record of the call has the error
	}
	conditions, err := storageConditions(resp.GetBackendHealth())
	h.mu.Lock()
	was := h.backends[d.name]
	h.mu.Unlock()
	now := was
	if err == nil {
		now = h.learn(ctx, d.name, was, conditions)
		if !now.stored || len(conditions) > 0 { // a backend that stays healthy needs no request
			err = h.cfg.Plugin.storeHealth(ctx, d.name, conditions)
			now.stored = err == nil
		}
	}
	now.failed = ""
	if err != nil {
		now.failed = err.Error()
		if now.failed != was.failed && ctx.Err() == nil {
			trace.Point(h.cfg.Plugin.cfg.Bus, trace.FromContext(ctx), trace.Log{
				Level: trace.LevelWarn, Message: "health of the storage backend of CSI driver " + d.name + ": " + now.failed,
			})
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.backends[d.name] = now
}

// learn publishes the health of a backend if it has changed.
func (h *Health) learn(ctx context.Context, driver string, b backend, conditions []storagev1.StorageHealthCondition) backend {
	same := maps.Equal(identities(b.conditions), identities(conditions))
	b.stored = b.stored && same
	b.conditions = conditions
	h.mu.Lock()
	h.backends[driver] = b // the metric does not wait for the API server
	h.mu.Unlock()
	if same {
		return b
	}
	texts := make([]string, len(conditions))
	for i, c := range conditions {
		texts[i] = condition(string(c.Status), c.Reason, c.Message)
	}
	h.decide(ctx, trace.Decision{Subject: "storage backend of " + driver}, texts)
	return b
}

// BackendHealth is a condition of a driver's storage backend.
type BackendHealth struct{ Driver, Status, Reason string }

// Backends returns the current conditions of all backends, each once; for a driver at most 16.
//
// Upstream: pkg/kubelet/volumemanager/volumehealth/metrics.go, csi_node_storage_health_status.
func (h *Health) Backends() map[BackendHealth]bool {
	out := map[BackendHealth]bool{}
	h.mu.Lock()
	defer h.mu.Unlock()
	for driver, b := range h.backends {
		for i := range b.conditions {
			out[BackendHealth{driver, string(b.conditions[i].Status), b.conditions[i].Reason}] = true
		}
	}
	return out
}

// storeHealth writes the conditions of a driver's backend into the status of the CSINode object, unless it has them.
//
// Upstream: pkg/volume/csi/nodeinfomanager, UpdateCSINodeStorageHealth. Upstream leaves lastTransitionTime empty.
func (p *Plugin) storeHealth(ctx context.Context, driver string, conditions []storagev1.StorageHealthCondition) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return p.again(ctx, func() error {
		obj, err := p.csiNode(ctx)
		if err != nil {
			return err
		}
		all, changed := withHealth(obj.Status.StorageHealth, driver, conditions, metav1.Now())
		if !changed {
			return nil
		}
		obj = obj.DeepCopy()
		obj.Status.StorageHealth = all
		_, err = p.cfg.API.StorageV1().CSINodes().UpdateStatus(ctx, obj, metav1.UpdateOptions{})
		return err
	})
}

// withHealth returns the list with the conditions of a driver, and whether that is another list. Conditions that the list has keep
// their time.
func withHealth(all []storagev1.StorageHealth, driver string, conditions []storagev1.StorageHealthCondition, now metav1.Time) ([]storagev1.StorageHealth, bool) {
	var out []storagev1.StorageHealth
	since := map[identity]metav1.Time{}
	for i := range all {
		if all[i].Name != driver {
			out = append(out, all[i])
			continue
		}
		for j := range all[i].HealthConditions {
			c := &all[i].HealthConditions[j]
			since[identify(c)] = c.LastTransitionTime
		}
	}
	same := len(since) == len(conditions) // conditions have each identity once
	conditions = slices.Clone(conditions)
	for i := range conditions {
		at, known := since[identify(&conditions[i])]
		if same = same && known; at.IsZero() {
			at = now
		}
		conditions[i].LastTransitionTime = at
	}
	if len(conditions) > 0 {
		out = append(out, storagev1.StorageHealth{Name: driver, HealthConditions: conditions})
	}
	return out, !same
}
