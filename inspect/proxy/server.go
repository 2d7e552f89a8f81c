package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // a client may compress
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// maxMessage is upstream's limit for one CRI message. Upstream: cri-client/pkg/remote_runtime.go.
	maxMessage = 16 << 20
	// window is how much of a message that nobody takes yet may be sent. It must not grow by itself.
	window = 64 << 10
	// drainTime is how long calls that are under way may take to end when the proxy ends.
	drainTime = 30 * time.Second
)

// Describer says what people may see of calls. Its methods are called from many goroutines.
type Describer interface {
	// Request describes a request, without secrets. It may learn from it what is secret of the pod.
	Request(pod trace.Pod, method string, req proto.Message) trace.CRICall
	// Reply adds what an answer says; reply may be nil.
	Reply(pod trace.Pod, call *trace.CRICall, reply proto.Message, err error)
	// Readable renders a whole request, without secrets.
	Readable(pod trace.Pod, req proto.Message) json.Marshaler
	// Forget says that nothing is left of a pod.
	Forget(pod trace.Pod)
}

// Config says what is relayed, and to whom it is told. All but Gate and Drain are required.
type Config struct {
	// Listener is where the kubelet connects. Run closes it.
	Listener net.Listener
	// Runtime is the path of the runtime's socket.
	Runtime string
	Bus     *trace.Bus
	Calls   Describer
	// Gate may hold the calls of a pod; may be nil.
	Gate Gate
	// Node is the node's name and Version this program's, for what is published of the proxy itself.
	Node, Version string
	// Drain is how long calls that are under way may take to end when Run ends; 30 s.
	Drain time.Duration
}

// Proxy is a relay. Run it once.
type Proxy struct {
	cfg     Config
	methods map[string]method
	conn    *grpc.ClientConn
	turns   chan struct{}
	// describing are answers that are described beside their calls.
	describing chan struct{}
	described  sync.WaitGroup
	pods       *pods
	ending     context.Context                            //nolint:containedctx // the end of Run: streams of events, which have none, end with it
	about      atomic.Pointer[runtimeapi.VersionResponse] // what the runtime calls itself, once the kubelet has asked
}

// New returns a proxy. It connects to the runtime when it has something to ask.
func New(cfg Config) (*Proxy, error) {
	if cfg.Drain == 0 {
		cfg.Drain = drainTime
	}
	conn, err := grpc.NewClient("unix://"+cfg.Runtime,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{}), grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithInitialWindowSize(window),
		grpc.WithIdleTimeout(0),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("runtime at %s: %w", cfg.Runtime, err)
	}
	return &Proxy{
		cfg: cfg, methods: methods(), conn: conn, turns: make(chan struct{}, 1), describing: make(chan struct{}, besides),
		pods: newPods(cfg.Bus, cfg.Calls.Forget), ending: context.Background(),
	}, nil
}

// Run relays until ctx ends, and then for as long as calls are under way, at most Drain. No new ones are taken meanwhile, and streams of
// events, which have no end, are ended.
func (p *Proxy) Run(ctx context.Context) error {
	defer p.conn.Close() //nolint:errcheck // all calls have ended
	defer p.pods.stop()
	p.ending = ctx
	p.is(trace.AgentStarting)
	defer p.is(trace.AgentStopped)
	server := grpc.NewServer(
		grpc.ForceServerCodecV2(raw{}), grpc.UnknownServiceHandler(p.handle),
		grpc.MaxRecvMsgSize(maxMessage), grpc.InitialWindowSize(window), grpc.WaitForHandlers(true),
	)
	p.conn.Connect()
	var wg sync.WaitGroup
	defer p.described.Wait()
	defer wg.Wait()
	served := make(chan struct{})
	wg.Go(func() {
		select {
		case <-ctx.Done():
		case <-served:
			return
		}
		p.is(trace.AgentStopping)
		late := time.AfterFunc(p.cfg.Drain, server.Stop)
		defer late.Stop()
		server.GracefulStop()
	})
	defer close(served)
	if err := server.Serve(p.cfg.Listener); err != nil && ctx.Err() == nil {
		return fmt.Errorf("listen: %w", err)
	}
	return nil
}

// is publishes what the proxy does.
func (p *Proxy) is(state trace.AgentState) {
	v := p.about.Load()
	trace.Point(p.cfg.Bus, trace.SeenBy(trace.Span{}, trace.ObserverProxy, 0), trace.Agent{
		State: state, Node: p.cfg.Node, Version: p.cfg.Version, Endpoint: p.cfg.Runtime, PID: os.Getpid(),
		Runtime: v.GetRuntimeName(), RuntimeVersion: v.GetRuntimeVersion(),
	})
}

// knows notes what the runtime calls itself. Calls come through from then on.
func (p *Proxy) knows(v *runtimeapi.VersionResponse) {
	if old := p.about.Swap(v); old.GetRuntimeName() != v.GetRuntimeName() || old.GetRuntimeVersion() != v.GetRuntimeVersion() {
		p.is(trace.AgentReady)
	}
}
