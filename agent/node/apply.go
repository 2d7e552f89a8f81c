package node

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// slowFactsAge is the maximum age of facts that need a call.
const slowFactsAge = 30 * time.Second

// imagesWait is how long a status waits for the list of images. A runtime that does not answer delays neither the node's conditions nor its
// registration: images that are listed later are in the next status.
const imagesWait = time.Second

// maxImageNames limits the names of an image in the status.
const maxImageNames = 5

// slowFacts are the facts that need a call.
type slowFacts struct {
	at        time.Time
	images    []v1.ContainerImage
	addresses []v1.NodeAddress
	problem   string // with the addresses, as last reported
}

// facts are the current facts about the node.
type facts struct {
	now                   metav1.Time
	capacity, allocatable v1.ResourceList
	info                  v1.NodeSystemInfo
	addresses             []v1.NodeAddress // nil keeps the existing ones
	images                []v1.ContainerImage
	runtime               Runtime
	port                  int32
	declared              []string
	pressure              Pressure
	notReady              []error
	warning               string
	volumes               []v1.UniqueVolumeName
	volumesKnown          bool
	noStorage             bool
}

// rebootedReason is the reason of the event about the first status after a reboot.
const rebootedReason = "Rebooted"

// told is an event to record when its status has been written.
type told struct{ eventType, reason, message string }

// apply collects the facts and sets node's status from them.
func (n *Node) apply(ctx context.Context, node *v1.Node) []told {
	c := &n.cfg
	n.refresh(ctx, node)
	f := facts{
		now: metav1.Now(), info: c.Info, addresses: n.slow.addresses, images: n.slow.images, runtime: c.Runtime(), port: c.Port, declared: c.Declared,
		pressure: c.Pressure(), notReady: c.NotReady(), warning: c.Warning, noStorage: c.NoStorage,
	}
	f.capacity, f.allocatable = c.Resources()
	f.volumes, f.volumesKnown = c.VolumesInUse()
	var provided []net.IP
	if c.ExternalCloud {
		provided = c.IPs
		if len(node.Status.Addresses) > 0 {
			f.addresses = nil // the cloud provider's
		}
	}
	if len(given(provided)) == 0 || n.slow.problem == "" { // a cloud provider does not learn of an address that the machine lacks
		setProvidedIPs(node, provided)
	}
	setPlatform(node)
	var out []told
	if was := node.Status.NodeInfo.BootID; was != "" && was != f.info.BootID && !n.rebooted {
		out = append(out, told{v1.EventTypeWarning, rebootedReason, fmt.Sprintf("Node %s has been rebooted, boot id: %s", c.Name, f.info.BootID)})
	}
	for _, reason := range setStatus(node, f) {
		out = append(out, told{v1.EventTypeNormal, reason, fmt.Sprintf("Node %s status is now: %s", c.Name, reason)})
	}
	n.tell(ctx, &node.Status)
	return out
}

// setPlatform sets the labels by which pods are scheduled to a platform. Somebody may have changed them since the registration.
//
// Upstream: pkg/kubelet/kubelet_node_status.go, updateNode.
func setPlatform(node *v1.Node) {
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	node.Labels[v1.LabelOSStable], node.Labels[v1.LabelArchStable] = runtime.GOOS, runtime.GOARCH
}

// refresh renews the facts that need a call, if they are too old.
func (n *Node) refresh(ctx context.Context, node *v1.Node) {
	n.takeImages(ctx)
	now := time.Now()
	if !n.slow.at.IsZero() && now.Sub(n.slow.at) < slowFactsAge {
		return
	}
	n.slow.at = now
	n.listImages(ctx)
	addresses, err := n.where.addresses(ctx, node)
	if err == nil {
		n.slow.addresses, n.slow.problem = addresses, ""
		return
	}
	if n.slow.problem != err.Error() {
		n.slow.problem = err.Error()
		n.log(ctx, trace.LevelError, "the node's addresses are not known", trace.KV{K: "error", V: err.Error()})
	}
}

// listing is a request for the list of images. images and err are set before done is closed.
type listing struct {
	done   chan struct{}
	images []Image
	err    error
}

// listImages requests the list of images, unless an earlier request has no answer yet, and waits for it. An answer that comes later wakes the
// status.
func (n *Node) listImages(ctx context.Context) {
	if n.listing == nil {
		l := &listing{done: make(chan struct{})}
		n.listing = l
		began := time.Now()
		go func() {
			l.images, l.err = n.cfg.Images(ctx)
			close(l.done)
			if time.Since(began) >= imagesWait {
				n.Changed()
			}
		}()
	}
	timer := time.NewTimer(imagesWait)
	defer timer.Stop()
	select {
	case <-n.listing.done:
		n.takeImages(ctx)
	case <-timer.C:
		n.unlisted(ctx, fmt.Errorf("the runtime has not listed them within %s", imagesWait))
	}
}

// takeImages takes the answer to a request for the list of images, if there is one.
func (n *Node) takeImages(ctx context.Context) {
	l := n.listing
	if l == nil {
		return
	}
	select {
	case <-l.done:
	default:
		return
	}
	n.listing = nil
	if l.err != nil {
		n.unlisted(ctx, l.err)
		return
	}
	n.slow.images = imageList(l.images, n.cfg.MaxImages)
}

// unlisted publishes why the status has the images of an earlier list, or none.
func (n *Node) unlisted(ctx context.Context, err error) {
	n.log(ctx, trace.LevelWarn, "the images are not known for the node's status", trace.KV{K: "error", V: err.Error()})
}

// setStatus sets node's status from the facts and returns the reasons of the events to record. It is pure.
//
// Upstream: pkg/kubelet/nodestatus/setters.go.
func setStatus(node *v1.Node, f facts) (reasons []string) {
	s := &node.Status
	if f.addresses != nil {
		s.Addresses = f.addresses
	}
	setResources(s, f.capacity, f.allocatable)
	s.NodeInfo = f.info
	s.NodeInfo.ContainerRuntimeVersion = RuntimeVersion(f.runtime)
	s.DaemonEndpoints = v1.NodeDaemonEndpoints{KubeletEndpoint: v1.DaemonEndpoint{Port: f.port}}
	s.Images = f.images
	s.RuntimeHandlers = f.runtime.Handlers
	if f.runtime.Features != nil {
		s.Features = f.runtime.Features
	}
	s.DeclaredFeatures = f.declared
	if f.volumesKnown {
		s.VolumesInUse = f.volumes
	}
	return setConditions(s, f)
}

// setResources sets the machine's resources. Extended resources of other components are kept.
func setResources(s *v1.NodeStatus, capacity, allocatable v1.ResourceList) {
	was := s.Capacity
	s.Capacity = capacity.DeepCopy()
	if s.Capacity == nil {
		s.Capacity = v1.ResourceList{}
	}
	for name, q := range was {
		if _, ok := s.Capacity[name]; !ok {
			s.Capacity[name] = q
		}
	}
	s.Allocatable = v1.ResourceList{}
	for name, q := range s.Capacity {
		if a, ok := allocatable[name]; ok {
			q = a.DeepCopy()
		}
		s.Allocatable[name] = q
	}
}

// imageList returns the largest images first, with a few names each.
//
// Upstream: pkg/kubelet/nodestatus/setters.go, Images.
func imageList(images []Image, limit int32) []v1.ContainerImage {
	images = slices.Clone(images)
	sorting.Stable(images, func(a, b *Image) int {
		switch {
		case a.Size > b.Size:
			return -1
		case a.Size < b.Size:
			return 1
		}
		return slices.Compare(append(slices.Clone(a.Digests), a.Tags...), append(slices.Clone(b.Digests), b.Tags...))
	})
	if limit >= 0 && int(limit) < len(images) {
		images = images[:limit]
	}
	out := make([]v1.ContainerImage, 0, len(images))
	for _, i := range images {
		names := slices.Concat(i.Digests, i.Tags)
		out = append(out, v1.ContainerImage{Names: names[:min(len(names), maxImageNames)], SizeBytes: i.Size})
	}
	return out
}
