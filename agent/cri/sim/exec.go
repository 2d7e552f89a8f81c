package sim

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim/internal/script"
)

// ExecSync simulates a command in a running container. The command sees the files that the container wrote. An unknown program
// succeeds immediately.
func (s *Server) ExecSync(ctx context.Context, r *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error) {
	return call(ctx, s, "ExecSync", s.aboutContainer(r.GetContainerId()), func() (*runtimeapi.ExecSyncResponse, error) {
		resp, err := s.execSync(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("failed to exec in container: %w", err)
		}
		return resp, nil
	})
}

func (s *Server) execSync(ctx context.Context, r *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error) {
	if err := s.pause(ctx, "ExecSync"); err != nil {
		return nil, err
	}
	var stdout, stderr syncBuffer
	proc, err := s.newExec(r, &stdout, &stderr)
	if err != nil {
		return nil, err
	}
	timeout := time.Duration(r.GetTimeout()) * time.Second
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	defer context.AfterFunc(ctx, func() { proc.Signal("KILL") })()
	exit := proc.Run()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("timeout %v exceeded: %w", timeout, err)
	}
	return &runtimeapi.ExecSyncResponse{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), ExitCode: int32(exit.Code)}, nil
}

func (s *Server) newExec(r *runtimeapi.ExecSyncRequest, stdout, stderr *syncBuffer) (*script.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.findContainer(r.GetContainerId())
	if err != nil {
		return nil, fmt.Errorf("failed to find container %q in store: %w", r.GetContainerId(), err)
	}
	if !c.running() {
		return nil, fmt.Errorf("container is in %s state", c.state())
	}
	cfg := c.process(r.GetCmd())
	cfg.Init, cfg.Once, cfg.MemoryLimit = false, true, 0
	cfg.Stdout, cfg.Stderr = stdout, stderr
	proc, err := script.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("failed to start exec: OCI runtime exec failed: exec failed: unable to start container process: %w", err)
	}
	return proc, nil
}

// syncBuffer is a buffer to which the jobs of a script can write concurrently. It keeps the first 16 MiB.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buf.Write(p[:min(len(p), maxMessage-b.buf.Len())])
	return len(p), nil
}

// Bytes returns the content. Call it only when nothing writes any more.
func (b *syncBuffer) Bytes() []byte { return b.buf.Bytes() }

func unimplemented(method string) error {
	return status.Errorf(codes.Unimplemented, "%s: the containers of this runtime are simulated, there is nothing to connect to", method)
}

// Exec is not simulated.
func (s *Server) Exec(context.Context, *runtimeapi.ExecRequest) (*runtimeapi.ExecResponse, error) {
	return nil, unimplemented("Exec")
}

// Attach is not simulated.
func (s *Server) Attach(context.Context, *runtimeapi.AttachRequest) (*runtimeapi.AttachResponse, error) {
	return nil, unimplemented("Attach")
}

// PortForward is not simulated.
func (s *Server) PortForward(context.Context, *runtimeapi.PortForwardRequest) (*runtimeapi.PortForwardResponse, error) {
	return nil, unimplemented("PortForward")
}
