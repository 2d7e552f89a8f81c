// Package podcidr sends the addresses that the node has for its pods to the container runtime: containerd writes a CNI configuration from its
// template (conf_template) with them, and cri-dockerd configures kubenet. Other runtimes ignore them.
//
// It owns what the runtime was told last. It never chooses addresses, and never delays pods: until a CNI configuration exists, the runtime's
// network is not ready.
//
// Run is one goroutine. It publishes log if the runtime refuses.
//
// Upstream: pkg/kubelet/kubelet_network.go, updatePodCIDR.
package podcidr

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// retry is how long after a failure the runtime is told again, timeout how long it may take.
const (
	retry   = 10 * time.Second
	timeout = 10 * time.Second
)

// Runtime takes the addresses of pods.
type Runtime interface {
	UpdateRuntimeConfig(context.Context, *runtimeapi.UpdateRuntimeConfigRequest, ...grpc.CallOption) (*runtimeapi.UpdateRuntimeConfigResponse, error)
}

// Config is what a Sender needs.
type Config struct {
	Runtime Runtime
	// Configured is podCIDR: it counts until the node's object has others. "" for none.
	Configured string
	// Sent is called after the runtime has taken new addresses. It must not block; may be nil.
	Sent func()
	Bus  *trace.Bus
}

// Sender tells the runtime the addresses. Safe for concurrent use.
type Sender struct {
	cfg  Config
	wake chan struct{}

	mu   sync.Mutex
	want string // as the CRI has it: the CIDRs with commas; "" for none
}

// New returns a Sender that does not run.
func New(cfg Config) (*Sender, error) {
	if cfg.Runtime == nil {
		return nil, errors.New("podcidr: Config needs Runtime")
	}
	return &Sender{cfg: cfg, wake: make(chan struct{}, 1), want: cfg.Configured}, nil
}

// Set takes spec.podCIDRs of the node's object. It does not wait. None changes nothing: the node may not have them yet.
func (s *Sender) Set(cidrs []string) {
	want := strings.Join(cidrs, ",")
	s.mu.Lock()
	defer s.mu.Unlock()
	if want == "" || want == s.want {
		return
	}
	s.want = want
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run tells the runtime the addresses when they are known and when they change, until ctx ends. It returns nil.
func (s *Sender) Run(ctx context.Context) error {
	var sent, problem string
	for {
		var again <-chan time.Time
		if want := s.wanted(); want != sent {
			if err := s.send(ctx, want); err == nil {
				sent, problem = want, ""
			} else {
				again = time.After(retry)
				s.report(ctx, want, &problem, err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		case <-again:
		}
	}
}

func (s *Sender) wanted() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.want
}

func (s *Sender) send(ctx context.Context, cidr string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := s.cfg.Runtime.UpdateRuntimeConfig(ctx, &runtimeapi.UpdateRuntimeConfigRequest{
		RuntimeConfig: &runtimeapi.RuntimeConfig{NetworkConfig: &runtimeapi.NetworkConfig{PodCidr: cidr}},
	})
	if err == nil && s.cfg.Sent != nil {
		s.cfg.Sent()
	}
	return err
}

// report publishes a failure, unless it is the last one again.
func (s *Sender) report(ctx context.Context, cidr string, last *string, err error) {
	if ctx.Err() != nil || *last == err.Error() {
		return
	}
	*last = err.Error()
	trace.Point(s.cfg.Bus, trace.FromContext(ctx), trace.Log{
		Level: trace.LevelWarn, Message: "the container runtime does not take the node's addresses for pods",
		Attrs: []trace.KV{{K: "podCIDR", V: cidr}, {K: "error", V: err.Error()}},
	})
}
