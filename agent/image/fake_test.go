package image

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// node is a runtime's image store with a registry.
type node struct {
	mu       sync.Mutex
	registry map[string]*runtimeapi.Image // by name with tag
	secrets  map[string]string            // name → password that the registry requires
	present  map[string]*runtimeapi.Image
	latency  time.Duration
	down     error // the error of every pull
	blind    error // the error of every status call
	statuses int
	pulls    int
	active   int
	most     int                            // the maximum number of concurrent pulls
	sent     []*runtimeapi.PodSandboxConfig // with each pull
	handlers []string                       // of each pull
	begun    []time.Time
	ended    []error
}

func newNode(names ...string) *node {
	n := &node{registry: map[string]*runtimeapi.Image{}, present: map[string]*runtimeapi.Image{}, secrets: map[string]string{}, latency: time.Second}
	for i, name := range names {
		n.registry[name] = &runtimeapi.Image{Id: fmt.Sprintf("sha256:%d", i+1), RepoTags: []string{name}, Size: uint64(i+1) * 1000, Username: "web"}
	}
	return n
}

func (n *node) has(name string) { n.present[name] = n.registry[name] }

func (n *node) ImageStatus(_ context.Context, req *runtimeapi.ImageStatusRequest, _ ...grpc.CallOption) (*runtimeapi.ImageStatusResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.statuses++
	if n.blind != nil {
		return nil, n.blind
	}
	return &runtimeapi.ImageStatusResponse{Image: n.present[req.Image.Image]}, nil
}

func (n *node) PullImage(ctx context.Context, req *runtimeapi.PullImageRequest, _ ...grpc.CallOption) (*runtimeapi.PullImageResponse, error) {
	n.mu.Lock()
	n.pulls++
	n.active++
	n.most = max(n.most, n.active)
	n.begun, n.sent = append(n.begun, time.Now()), append(n.sent, req.GetSandboxConfig())
	n.handlers = append(n.handlers, req.GetImage().GetRuntimeHandler())
	n.mu.Unlock()

	resp, err := n.download(ctx, req)

	n.mu.Lock()
	defer n.mu.Unlock()
	n.active--
	n.ended = append(n.ended, err)
	return resp, err
}

func (n *node) download(ctx context.Context, req *runtimeapi.PullImageRequest) (*runtimeapi.PullImageResponse, error) {
	t := time.NewTimer(n.latency)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down != nil {
		return nil, n.down
	}
	name := req.Image.Image
	img, ok := n.registry[name]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "failed to pull and unpack image %q: not found", name)
	}
	if want := n.secrets[name]; want != req.GetAuth().GetPassword() {
		return nil, status.Errorf(codes.Unknown, "failed to pull image %q: 401 Unauthorized", name)
	}
	n.present[name] = img
	return &runtimeapi.PullImageResponse{ImageRef: img.Id}, nil
}
