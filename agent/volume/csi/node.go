package csi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
)

// nodeIDs is the node's annotation with its IDs for drivers.
const nodeIDs = "csi.volume.kubernetes.io/nodeid"

// migratedPlugins are the plugins of the kubelet's tree whose volumes CSI drivers have now, sorted, in the annotation of the CSINode object
// that schedulers and controllers read.
//
// Upstream: pkg/volume/csi/csi_plugin.go, Init.
const migratedPlugins = "kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/azure-file,kubernetes.io/cinder,kubernetes.io/gce-pd," +
	"kubernetes.io/portworx-volume,kubernetes.io/vsphere-volume"

// tries are the delays between attempts to change objects that others change too.
var tries = [...]time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 250 * time.Millisecond, 1250 * time.Millisecond}

// Run creates the CSINode object when the node exists, and keeps the numbers of volumes in it up to date until ctx ends. Without the object,
// schedulers do not know that there are no drivers yet. It returns nil.
//
// Upstream: pkg/volume/csi/csi_plugin.go, initializeCSINode.
func (p *Plugin) Run(ctx context.Context) error {
	for pauses := backoff.Doubling(time.Second, time.Minute); ; {
		err := p.again(ctx, func() error {
			return p.updateCSINode(ctx, func([]storagev1.CSINodeDriver) []storagev1.CSINodeDriver { return nil })
		})
		p.initialized(err)
		if err == nil {
			p.keepCounts(ctx)
			return nil
		}
		t := time.NewTimer(pauses.Step())
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-t.C:
		}
	}
}

// ErrNoNode says that the CSINode object is not known to exist yet.
var ErrNoNode = errors.New("CSINode is not yet initialized")

// NotReady returns why the node is not ready: ErrNoNode at first, then why the object could not be created; nil if it exists. Schedulers place
// pods by this object.
//
// Upstream: pkg/volume/csi/csi_plugin.go, initializeCSINode.
func (p *Plugin) NotReady() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.notReady
}

// initialized stores the result of an attempt to create the CSINode object.
func (p *Plugin) initialized(err error) {
	if err != nil {
		err = fmt.Errorf("failed to initialize CSINode: %w", err)
	}
	p.mu.Lock()
	p.notReady = err
	p.mu.Unlock()
	if p.cfg.ReadyChanged != nil {
		p.cfg.ReadyChanged()
	}
}

// install registers a driver in the API: labels and annotation of the node, then the CSINode object.
//
// Upstream: pkg/volume/csi/nodeinfomanager, InstallCSIDriver.
func (p *Plugin) install(ctx context.Context, name string, resp *csipb.NodeGetInfoResponse) error {
	entry, err := entryOf(name, resp)
	if err != nil {
		return err
	}
	err = p.again(ctx, func() error {
		return p.patchNode(ctx, resp.GetAccessibleTopology().GetSegments(), func(ids map[string]string) { ids[name] = entry.NodeID })
	})
	if err != nil {
		return fmt.Errorf("error updating Node object with CSI driver node info: %w", err)
	}
	err = p.again(ctx, func() error {
		return p.updateCSINode(ctx, func(all []storagev1.CSINodeDriver) []storagev1.CSINodeDriver { return withDriver(all, entry) })
	})
	if err != nil {
		return fmt.Errorf("error updating CSINode object with CSI driver node info: %w", err)
	}
	return nil
}

// entryOf returns a driver's entry in the CSINode object.
//
// Upstream: pkg/volume/csi/nodeinfomanager, installDriverToCSINode.
func entryOf(name string, resp *csipb.NodeGetInfoResponse) (storagev1.CSINodeDriver, error) {
	if resp.GetNodeId() == "" {
		return storagev1.CSINodeDriver{}, fmt.Errorf("CSI driver %s gives the node no id", name)
	}
	entry := storagev1.CSINodeDriver{Name: name, NodeID: resp.GetNodeId(), TopologyKeys: slices.Sorted(maps.Keys(resp.GetAccessibleTopology().GetSegments()))}
	if n := resp.GetMaxVolumesPerNode(); n > 0 {
		entry.Allocatable = &storagev1.VolumeNodeResources{Count: new(int32(min(n, math.MaxInt32)))}
	}
	return entry, nil
}

// uninstall is the reverse of install.
func (p *Plugin) uninstall(ctx context.Context, name string) error {
	err := p.again(ctx, func() error {
		return p.updateCSINode(ctx, func(all []storagev1.CSINodeDriver) []storagev1.CSINodeDriver { return withoutDriver(all, name) })
	})
	if err != nil {
		return err
	}
	return p.again(ctx, func() error {
		return p.patchNode(ctx, nil, func(ids map[string]string) { delete(ids, name) })
	})
}

func (p *Plugin) again(ctx context.Context, do func() error) error {
	p.nodeMu.Lock()
	defer p.nodeMu.Unlock()
	for i := 0; ; i++ {
		err := do()
		if err == nil || i == len(tries) {
			return err
		}
		t := time.NewTimer(tries[i])
		select {
		case <-ctx.Done():
			t.Stop()
			return err
		case <-t.C:
		}
	}
}

// patchNode changes the IDs in the node's annotation and adds labels. It is an error if a label has another value.
//
// Upstream: pkg/volume/csi/nodeinfomanager, updateNodeIDInNode, updateTopologyLabels.
func (p *Plugin) patchNode(ctx context.Context, labels map[string]string, change func(ids map[string]string)) error {
	node, err := p.cfg.API.CoreV1().Nodes().Get(ctx, p.cfg.NodeName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	patch, err := nodePatch(node, labels, change)
	if err != nil || patch == nil {
		return err
	}
	_, err = p.cfg.API.CoreV1().Nodes().Patch(ctx, p.cfg.NodeName, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// nodePatch returns the patch; nil if nothing changes.
func nodePatch(node *v1.Node, labels map[string]string, change func(ids map[string]string)) ([]byte, error) {
	ids := map[string]string{}
	had := node.Annotations[nodeIDs]
	if had != "" {
		if err := json.Unmarshal([]byte(had), &ids); err != nil {
			return nil, fmt.Errorf("failed to parse node's %q annotation value (%q): %w", nodeIDs, had, err)
		}
		if ids == nil { // of "null"
			ids = map[string]string{}
		}
	}
	before := maps.Clone(ids)
	change(ids)
	meta := map[string]any{"resourceVersion": node.ResourceVersion}
	if !maps.Equal(before, ids) {
		var value any // null removes it
		if len(ids) > 0 {
			text, err := json.Marshal(ids)
			if err != nil {
				return nil, err
			}
			value = string(text)
		}
		meta["annotations"] = map[string]any{nodeIDs: value}
	}
	news := map[string]string{}
	for k, v := range labels {
		now, ok := node.Labels[k]
		if ok && now != v {
			return nil, fmt.Errorf("detected topology value collision: driver reported %q:%q but existing label is %q:%q", k, v, k, now)
		}
		if !ok {
			news[k] = v
		}
	}
	if len(news) > 0 {
		meta["labels"] = news
	}
	if len(meta) == 1 {
		return nil, nil
	}
	return json.Marshal(map[string]any{"metadata": meta})
}

// updateCSINode changes the drivers in the CSINode object, and adds the annotation about migrated plugins if it lacks it. change returns nil
// if the drivers stay.
func (p *Plugin) updateCSINode(ctx context.Context, change func([]storagev1.CSINodeDriver) []storagev1.CSINodeDriver) error {
	obj, err := p.csiNode(ctx)
	if err != nil {
		return err
	}
	drivers := change(slices.Clone(obj.Spec.Drivers))
	if drivers == nil && obj.Annotations[v1.MigratedPluginsAnnotationKey] == migratedPlugins {
		return nil
	}
	obj = obj.DeepCopy()
	if drivers != nil {
		obj.Spec.Drivers = drivers
	}
	metav1.SetMetaDataAnnotation(&obj.ObjectMeta, v1.MigratedPluginsAnnotationKey, migratedPlugins)
	_, err = p.cfg.API.StorageV1().CSINodes().Update(ctx, obj, metav1.UpdateOptions{})
	return err
}

// csiNode returns the node's CSINode object, creating it if necessary. It replaces one that belongs to an earlier node
// of the name.
//
// Upstream: pkg/volume/csi/nodeinfomanager, tryInitializeCSINodeWithAnnotation, ensureNodeOwnsCSINode.
func (p *Plugin) csiNode(ctx context.Context) (*storagev1.CSINode, error) {
	node, err := p.cfg.API.CoreV1().Nodes().Get(ctx, p.cfg.NodeName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	nodes := p.cfg.API.StorageV1().CSINodes()
	obj, err := nodes.Get(ctx, p.cfg.NodeName, metav1.GetOptions{})
	owned := func(o metav1.OwnerReference) bool {
		return o.Kind == "Node" && o.Name == node.Name && o.UID == node.UID
	}
	switch {
	case err == nil && slices.ContainsFunc(obj.OwnerReferences, owned):
		return obj, nil
	case err == nil:
		if err := nodes.Delete(ctx, p.cfg.NodeName, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("replace CSINode of an earlier node: %w", err)
		}
	case !apierrors.IsNotFound(err):
		return nil, err
	}
	return nodes.Create(ctx, &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{
			Name:            node.Name,
			Annotations:     map[string]string{v1.MigratedPluginsAnnotationKey: migratedPlugins},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}},
		},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{}},
	}, metav1.CreateOptions{})
}

// withDriver returns the list with an entry; nil if the list has the same entry.
func withDriver(all []storagev1.CSINodeDriver, entry storagev1.CSINodeDriver) []storagev1.CSINodeDriver {
	same := func(d storagev1.CSINodeDriver) bool {
		return d.Name == entry.Name && d.NodeID == entry.NodeID && slices.Equal(slices.Sorted(slices.Values(d.TopologyKeys)), entry.TopologyKeys) &&
			count(d) == count(entry)
	}
	if slices.ContainsFunc(all, same) {
		return nil
	}
	return append(slices.DeleteFunc(all, func(d storagev1.CSINodeDriver) bool { return d.Name == entry.Name }), entry)
}

// withoutDriver returns the list without a driver; nil if the list does not have it.
func withoutDriver(all []storagev1.CSINodeDriver, name string) []storagev1.CSINodeDriver {
	n := len(all)
	left := slices.DeleteFunc(all, func(d storagev1.CSINodeDriver) bool { return d.Name == name })
	if len(left) == n {
		return nil
	}
	return append([]storagev1.CSINodeDriver{}, left...)
}

func count(d storagev1.CSINodeDriver) int32 {
	if d.Allocatable == nil || d.Allocatable.Count == nil {
		return 0
	}
	return *d.Allocatable.Count
}
