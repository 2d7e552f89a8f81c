package device

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// Deadlines of calls. Upstream has that of PreStartContainer, and none for the others.
const (
	optionsTimeout  = 10 * time.Second
	preferTimeout   = 10 * time.Second
	allocateTimeout = 2 * time.Minute
	preStartTimeout = pluginapi.KubeletPreStartContainerRPCTimeoutInSecs * time.Second
)

const (
	// maxMessage limits a message of a plugin, in bytes: the default of gRPC, which is upstream's limit.
	maxMessage = 4 << 20
	// maxError limits a plugin's error, which gRPC sends as headers; maxSaid is how much of it is kept. In bytes.
	maxError = 64 << 10
	maxSaid  = 1 << 10
)

// plugin is a connected plugin.
type plugin struct {
	resource, socket string
	conn             *grpc.ClientConn
	api              pluginapi.DevicePluginClient
	// preStart says that PreStartContainer must be called before each start of a container, prefers that the plugin has a preference
	// for devices.
	preStart, prefers bool
	// devices are its last list; nil before the first. Guarded by the manager's mu.
	devices list
}

// connect connects to the socket of a plugin and asks for its options.
//
// Upstream: pkg/kubelet/cm/devicemanager/plugin/v1beta1/client.go; manager.go, PluginConnected.
func connect(ctx context.Context, resource, socket string) (*plugin, error) {
	conn, err := grpc.NewClient("passthrough:///localhost",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithMaxHeaderListSize(maxError),
	)
	if err != nil {
		return nil, fmt.Errorf("failed to dial device plugin: %w", err)
	}
	p := &plugin{resource: resource, socket: socket, conn: conn, api: pluginapi.NewDevicePluginClient(conn)}
	ctx, cancel := context.WithTimeout(ctx, optionsTimeout)
	defer cancel()
	opts, err := p.api.GetDevicePluginOptions(ctx, &pluginapi.Empty{}, grpc.WaitForReady(true))
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("failed to get device plugin options: %w", said(err))
	}
	p.preStart, p.prefers = opts.GetPreStartRequired(), opts.GetGetPreferredAllocationAvailable()
	return p, nil
}

// allocate asks the plugin to allocate devices.
func (p *plugin) allocate(ctx context.Context, ids []string) (*pluginapi.AllocateResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, allocateTimeout)
	defer cancel()
	res, err := p.api.Allocate(ctx, &pluginapi.AllocateRequest{ContainerRequests: []*pluginapi.ContainerAllocateRequest{{DevicesIds: ids}}})
	return res, said(err)
}

// prefer asks the plugin which devices it prefers.
func (p *plugin) prefer(ctx context.Context, q question) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, preferTimeout)
	defer cancel()
	res, err := p.api.GetPreferredAllocation(ctx, &pluginapi.PreferredAllocationRequest{
		ContainerRequests: []*pluginapi.ContainerPreferredAllocationRequest{
			{AvailableDeviceIDs: q.available, MustIncludeDeviceIDs: q.must, AllocationSize: int32(q.size)},
		},
	})
	if err != nil {
		return nil, said(err)
	}
	if all := res.GetContainerResponses(); len(all) > 0 {
		return all[0].GetDeviceIDs(), nil
	}
	return nil, nil
}

// start reports to the plugin that a container with its devices is about to start.
func (p *plugin) start(ctx context.Context, ids []string) error {
	ctx, cancel := context.WithTimeout(ctx, preStartTimeout)
	defer cancel()
	_, err := p.api.PreStartContainer(ctx, &pluginapi.PreStartContainerRequest{DevicesIds: ids})
	return said(err)
}

// said shortens an error of a plugin: it becomes part of the pod's status and of Events.
func said(err error) error {
	if err == nil || len(err.Error()) <= maxSaid {
		return err
	}
	return errors.New(strings.ToValidUTF8(err.Error()[:maxSaid], "") + "...")
}
