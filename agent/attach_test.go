package agent_test

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/trace"
)

// attachable changes what claimed has added: a controller attaches the volume, and its VolumeAttachment says that it has.
func (a *apiServer) attachable() v1.UniqueVolumeName {
	a.put("/apis/storage.k8s.io/v1/csidrivers/"+disks, &storagev1.CSIDriver{
		TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSIDriver"}, ObjectMeta: metav1.ObjectMeta{Name: disks},
		Spec: storagev1.CSIDriverSpec{VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}},
	})
	// sha256 of "h-1", the driver's name and "node"
	const name = "csi-1308282db751a63ad7a78bab482c75301c6a3b8d80de9304f57b2200e090cd90"
	a.put("/apis/storage.k8s.io/v1/volumeattachments/"+name, &storagev1.VolumeAttachment{
		TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "VolumeAttachment"}, ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: storagev1.VolumeAttachmentStatus{Attached: true},
	})
	return "kubernetes.io/csi/" + disks + "^h-1"
}

// A CSI volume is not used while the node's status does not list it as attached: the controller may be detaching it.
func TestCSIVolumeIsAttachedByTheNodesStatus(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	api, flags := h.api()
	p, name := api.claimed(), api.attachable()
	n := run(t, h.config(append(flags, "--kube-api-content-type", "application/json")...))
	d := &diskDriver{}
	d.serve(h)
	node := &v1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "uid-node", ResourceVersion: "5"},
		Status: v1.NodeStatus{VolumesInUse: []v1.UniqueVolumeName{name}},
	}
	api.nodes <- node
	n.source.Set(p)
	n.until("the wait", func(r *trace.Record) bool {
		w, ok := r.Event.(*trace.Wait)
		return ok && w.For == trace.WaitAttach && strings.Contains(w.Note, "the attach-detach controller has to attach "+string(name))
	})
	node = node.DeepCopy()
	node.ResourceVersion, node.Status.VolumesAttached = "6", []v1.AttachedVolume{{Name: name}}
	api.nodes <- node
	n.until("start", milestone("started", p))
	n.end()
}

// A new node is not ready before its CSINode object exists: schedulers would not know how many volumes it can have.
func TestNodeIsReadyWithItsCSINode(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	api, flags := h.api()
	api.refused = "/apis/storage.k8s.io/v1/csinodes"
	n := run(t, h.config(append(flags, "--kube-api-content-type", "application/json")...))
	ready := func(is bool) func(r *trace.Record) bool {
		return func(r *trace.Record) bool {
			e, ok := r.Event.(*trace.NodeStatus)
			return ok && r.Edge == trace.EdgeEnd && e.Op == trace.NodePatch && e.Ready == is
		}
	}
	n.until("the node to be not ready", ready(false))
	n.until("the reason", func(*trace.Record) bool {
		info, err := n.Query(t.Context(), "node", nil)
		return err == nil && strings.Contains(fmt.Sprint(info), "failed to initialize CSINode: not allowed")
	})
	api.mu.Lock()
	api.refused = ""
	api.mu.Unlock()
	n.until("the node to be ready", ready(true))
	n.end()
}
