package node

import (
	"context"
	"net"
	"strings"

	v1 "k8s.io/api/core/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// AddressesOf returns the addresses by which a node's pods know it: the first of its object that is internal, or external if none is, and the
// first one of the other IP family. It returns none if the object has none.
//
// Upstream: pkg/util/node/node.go, GetNodeHostIPs.
func AddressesOf(n *v1.Node) (out []string) {
	var first net.IP
	for _, kind := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
		for _, a := range n.Status.Addresses {
			switch ip := net.ParseIP(a.Address); {
			case a.Type != kind || ip == nil:
			case first == nil:
				first, out = ip, []string{ip.String()}
			case (ip.To4() == nil) != (first.To4() == nil):
				return append(out, ip.String())
			}
		}
	}
	return out
}

// HostIPs returns the configured addresses; otherwise the source address of the default route, the first address that
// others could reach, or localhost. It is never empty. The configured 0.0.0.0 and :: only select a family.
//
// Upstream: pkg/kubelet/nodestatus/setters.go, NodeAddress.
func HostIPs(configured []string) []string {
	var family net.IP
	if len(configured) > 0 {
		if family = net.ParseIP(configured[0]); !family.IsUnspecified() {
			return configured
		}
	}
	if ip, err := utilnet.ResolveBindAddress(family); err == nil {
		return []string{ip.String()}
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return []string{"127.0.0.1"}
	}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() && ip.IP.To4() != nil {
			return []string{ip.IP.String()}
		}
	}
	return []string{"127.0.0.1"}
}

// RuntimeOf combines what the runtime reports about itself: its version, its handlers and its features; nil if it reports none. The handlers are
// sorted by name: a runtime may list them in any order, which is no change of the node.
func RuntimeOf(info *runtimeapi.VersionResponse, handlers []*runtimeapi.RuntimeHandler, features *runtimeapi.RuntimeFeatures) Runtime {
	r := Runtime{Name: info.GetRuntimeName(), Version: strings.TrimPrefix(info.GetRuntimeVersion(), "v")}
	for _, h := range handlers {
		r.Handlers = append(r.Handlers, v1.NodeRuntimeHandler{Name: h.GetName(), Features: &v1.NodeRuntimeHandlerFeatures{
			RecursiveReadOnlyMounts: new(h.GetFeatures().GetRecursiveReadOnlyMounts()),
			UserNamespaces:          new(h.GetFeatures().GetUserNamespaces()),
		}})
	}
	sorting.Stable(r.Handlers, func(a, b *v1.NodeRuntimeHandler) int { return strings.Compare(a.Name, b.Name) })
	if features != nil {
		r.Features = &v1.NodeFeatures{SupplementalGroupsPolicy: new(features.GetSupplementalGroupsPolicy())}
	}
	return r
}

// ListImages lists the images of the node's status.
func ListImages(ctx context.Context, images runtimeapi.ImageServiceClient) ([]Image, error) {
	res, err := images.ListImages(ctx, &runtimeapi.ListImagesRequest{})
	if err != nil {
		return nil, err
	}
	var out []Image
	for _, i := range res.GetImages() {
		out = append(out, Image{Digests: i.GetRepoDigests(), Tags: i.GetRepoTags(), Size: int64(i.GetSize())})
	}
	return out, nil
}
