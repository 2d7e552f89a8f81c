package node

import (
	"context"
	"net"
	"strings"

	v1 "k8s.io/api/core/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// HostIPs returns the configured addresses; otherwise the source address of the default route, the first address that
// others could reach, or localhost. It is never empty.
//
// Upstream: pkg/kubelet/nodestatus/setters.go, NodeAddress.
func HostIPs(configured []string) []string {
	if len(configured) > 0 {
		return configured
	}
	if ip, err := utilnet.ResolveBindAddress(nil); err == nil {
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

// RuntimeOf combines what the runtime reports about itself: its version, its handlers and its features; nil if it reports none.
func RuntimeOf(info *runtimeapi.VersionResponse, handlers []*runtimeapi.RuntimeHandler, features *runtimeapi.RuntimeFeatures) Runtime {
	r := Runtime{Name: info.GetRuntimeName(), Version: strings.TrimPrefix(info.GetRuntimeVersion(), "v")}
	for _, h := range handlers {
		r.Handlers = append(r.Handlers, v1.NodeRuntimeHandler{Name: h.GetName(), Features: &v1.NodeRuntimeHandlerFeatures{
			RecursiveReadOnlyMounts: new(h.GetFeatures().GetRecursiveReadOnlyMounts()),
			UserNamespaces:          new(h.GetFeatures().GetUserNamespaces()),
		}})
	}
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
