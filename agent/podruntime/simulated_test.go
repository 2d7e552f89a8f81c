package podruntime

import (
	"context"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/pleg"
	"github.com/kubeloupe/kubeloupe/agent/semaphore"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// simulated is the simulated runtime with its clients, and the configuration of a Runtime that uses them.
type simulated struct {
	t      *testing.T
	ctx    context.Context //nolint:containedctx // of the server and of all clients
	cancel context.CancelFunc
	wg     sync.WaitGroup
	conn   *grpc.ClientConn
	srv    *sim.Server
	client runtimeapi.RuntimeServiceClient
	events *pleg.PLEG
	cfg    Config
}

func newSimulated(t *testing.T, seed uint64) *simulated {
	t.Helper()
	n := &simulated{t: t}
	rec := tracetest.New(t)
	var err error
	n.srv, err = sim.New(sim.Config{Seed: seed, Images: []sim.Image{{Name: "app:1", Present: true}}})
	n.check(err)
	n.ctx, n.cancel = context.WithCancel(context.Background())
	lis := bufconn.Listen(1 << 20)
	n.wg.Go(func() { _ = n.srv.Serve(n.ctx, lis) })
	n.conn, err = grpc.NewClient("passthrough:///sim", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	n.check(err)
	n.client = runtimeapi.NewRuntimeServiceClient(n.conn)
	n.events, err = pleg.New(pleg.Config{Runtime: n.client, Bus: rec.Bus()})
	n.check(err)
	queue, err := semaphore.New(semaphore.Config{Name: "the runtime", Size: 2, Bus: rec.Bus()})
	n.check(err)
	w := &world{t: t, rec: rec, hooks: map[string]func(context.Context) error{}}
	n.cfg = Config{
		Sandboxes: n.client, Containers: n.client, Images: present{}, Volumes: fakeVolumes{w}, Cgroups: fakeCgroups{w},
		Observer: watcher{n.events}, Slots: queue, Backoff: NewCrashBackoff(0, 0), Node: criconfig.Node{LogRoot: t.TempDir()},
		DNS:     func(*v1.Pod) (*runtimeapi.DNSConfig, []criconfig.Warning, error) { return nil, nil, nil },
		RootDir: t.TempDir(), Bus: rec.Bus(),
	}
	return n
}

// stop ends the clients and the server, and returns when both have ended.
func (n *simulated) stop() {
	n.t.Helper()
	n.cancel()
	n.check(n.conn.Close())
	n.wg.Wait()
	n.srv.Close()
}

func (n *simulated) check(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}
