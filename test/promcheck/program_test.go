package promcheck

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
)

// receiver is a collector of spans in this process.
type receiver struct {
	collectorpb.UnimplementedTraceServiceServer
	mu     sync.Mutex
	starts map[string]string // pods by the traces of their starts
}

// Export implements the service.
func (r *receiver) Export(_ context.Context, req *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rs := range req.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			for _, sp := range ss.GetSpans() {
				if sp.GetName() != "pod start" {
					continue
				}
				for _, a := range sp.GetAttributes() {
					if a.GetKey() == "k8s.pod.name" {
						r.starts[fmt.Sprintf("%x", sp.GetTraceId())] = a.GetValue().GetStringValue()
					}
				}
			}
		}
	}
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

// receive starts a receiver, which ends with ctx.
func receive(ctx context.Context) (*receiver, string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	r, server := &receiver{starts: map[string]string{}}, grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(server, r)
	go server.Serve(l) //nolint:errcheck // it ends with the server
	context.AfterFunc(ctx, server.Stop)
	return r, l.Addr().String(), nil
}

// freePort returns an address that nobody listens at.
func freePort(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// program is a running kubeloupe.
type program struct {
	cmd *exec.Cmd
	mu  sync.Mutex
	out strings.Builder
}

// Write implements io.Writer, for its output.
func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

// said returns its output.
func (p *program) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// start starts a program.
func start(ctx context.Context, bin string, args ...string) (*program, error) {
	p := &program{cmd: exec.CommandContext(ctx, bin, args...)}
	p.cmd.Stdout, p.cmd.Stderr = p, p
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGINT) }
	p.cmd.WaitDelay = 20 * time.Second
	return p, p.cmd.Start()
}

// stop interrupts it and waits.
func (p *program) stop() error {
	if err := p.cmd.Cancel(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w\n%s", p.cmd, err, p.said())
	}
	return nil
}

// manifests are the pods of the agent. free and one start at once from one image, so that one waits for the other's pull; two needs a port
// that one has; the image of broken does not exist.
var manifests = map[string]string{
	"free":   `containers: [{name: main, image: "lab/web:1"}]`,
	"one":    `containers: [{name: main, image: "lab/web:1", ports: [{containerPort: 80, hostPort: 8080}]}]`,
	"two":    `containers: [{name: main, image: "lab/web:1", ports: [{containerPort: 80, hostPort: 8080}]}]`,
	"broken": `containers: [{name: main, image: "lab/web@sha256:` + strings.Repeat("0", 64) + `"}]`,
}

// agentConfig is the KubeletConfiguration of the agent: its read-only port, and where spans are sent.
const agentConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
readOnlyPort: %s
address: 127.0.0.1
tracing: {endpoint: %q, samplingRatePerMillion: 1000000}
`

// startAgent starts an agent on the simulated runtime, and returns the address of its metrics.
func startAgent(ctx context.Context, bin, dir, collector string) (*program, string, error) {
	at, err := freePort(ctx)
	if err != nil {
		return nil, "", err
	}
	_, port, err := net.SplitHostPort(at)
	if err != nil {
		return nil, "", err
	}
	config := fmt.Sprintf(agentConfig, port, collector)
	pods := filepath.Join(dir, "pods")
	if err := errors.Join(os.Mkdir(pods, 0o755), os.WriteFile(filepath.Join(dir, "kubelet.yaml"), []byte(config), 0o600)); err != nil {
		return nil, "", err
	}
	for name, spec := range manifests {
		pod := fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: shop}\nspec:\n  %s\n", name, spec)
		if err := os.WriteFile(filepath.Join(pods, name+".yaml"), []byte(pod), 0o600); err != nil {
			return nil, "", err
		}
	}
	p, err := start(ctx, bin, "run", "--runtime", "sim", "--no-tui", "--control-socket", "none", "--healthz-port", "0", "--hostname-override", "n1",
		"--pod-manifest-path", pods, "--config", filepath.Join(dir, "kubelet.yaml"))
	return p, at, err
}
