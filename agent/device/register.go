package device

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// registry is the registration service.
type registry struct {
	pluginapi.UnimplementedRegistrationServer
	m          *Manager
	ctx        context.Context //nolint:containedctx // of Run: plugins stay connected after their registration's call has ended
	under      *sync.WaitGroup
	connecting chan struct{}
}

// Register implements the registration service. A plugin that registers again replaces its earlier registration. The messages are
// upstream's.
func (g *registry) Register(ctx context.Context, req *pluginapi.RegisterRequest) (*pluginapi.Empty, error) {
	select {
	case g.connecting <- struct{}{}:
		defer func() { <-g.connecting }()
	default:
		return nil, status.Error(codes.ResourceExhausted, "too many device plugins register at the same time: try again")
	}
	socket := filepath.Join(g.m.cfg.Dir, req.GetEndpoint())
	err := g.register(ctx, req, socket)
	if err != nil {
		g.m.publish(g.ctx, trace.DevicePlugin{Op: trace.PluginRefused, Resource: clip(req.GetResourceName()), Socket: clip(socket), Err: err.Error()})
		return nil, err
	}
	return &pluginapi.Empty{}, nil
}

func (g *registry) register(ctx context.Context, req *pluginapi.RegisterRequest, socket string) error {
	if !slices.Contains(pluginapi.SupportedVersions[:], req.GetVersion()) {
		return fmt.Errorf("requested API version %q is not supported by kubelet. Supported version is %q", req.GetVersion(), pluginapi.SupportedVersions)
	}
	if !extendedName(req.GetResourceName()) {
		return fmt.Errorf("the ResourceName %q is invalid", clip(req.GetResourceName()))
	}
	if !filepath.IsLocal(req.GetEndpoint()) {
		return fmt.Errorf("the endpoint %q is invalid: want the name of a socket in %s", clip(req.GetEndpoint()), g.m.cfg.Dir)
	}
	return g.add(ctx, req.GetResourceName(), socket)
}

// add connects a plugin and follows it.
func (g *registry) add(ctx context.Context, resource, socket string) error {
	if !g.m.room(resource) {
		return fmt.Errorf("there are %d resources already, the limit", maxResources)
	}
	p, err := connect(ctx, resource, socket)
	if err != nil {
		return err
	}
	if !g.begin(p) {
		_ = p.conn.Close()
		return errEnding
	}
	return nil
}

// begin follows a plugin, unless Run has ended.
func (g *registry) begin(p *plugin) bool {
	g.m.mu.Lock()
	on := g.m.registry == g
	if on {
		g.under.Add(1)
	}
	g.m.mu.Unlock()
	if !on {
		return false
	}
	g.m.connected(g.ctx, p)
	go func() {
		defer g.under.Done()
		g.m.follow(g.ctx, p)
	}()
	return true
}

var errEnding = errors.New("the kubelet does not serve device plugins now: try again")

// clip shortens what a plugin sent, for a message.
func clip(s string) string {
	const most = 256
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
