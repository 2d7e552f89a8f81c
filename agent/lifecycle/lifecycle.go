package lifecycle

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/agent/probe/httpget"
	"github.com/kubeloupe/kubeloupe/agent/redact"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Exec runs a command in a container. runtimeapi.RuntimeServiceClient satisfies it.
type Exec interface {
	ExecSync(context.Context, *runtimeapi.ExecSyncRequest, ...grpc.CallOption) (*runtimeapi.ExecSyncResponse, error)
}

// Config is what a Runner needs.
type Config struct {
	Exec Exec
	// Events may be nil: then they are only published on the bus.
	Events events.Publisher
	Bus    *trace.Bus
}

// Runner runs hooks. It is safe for concurrent use.
type Runner struct {
	cfg    Config
	client *http.Client
	cut    atomic.Uint64 // sleeps that ended early
}

// Cut returns how many sleep handlers ended early so far, because the container was terminated before.
func (r *Runner) Cut() uint64 { return r.cut.Load() }

// New returns a Runner.
func New(cfg Config) (*Runner, error) {
	if cfg.Exec == nil {
		return nil, errors.New("hook: Config.Exec is missing")
	}
	return &Runner{cfg: cfg, client: &http.Client{
		Transport: &http.Transport{
			TLSClientConfig:        &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // whom the manifest names is called
			MaxResponseHeaderBytes: httpget.MaxHeader,
			// A hook is called once in a container's life.
			DisableKeepAlives: true,
		},
		CheckRedirect: httpget.SameHost,
	}}, nil
}

// Run runs a handler and returns when it has finished. PodIP is the host of an httpGet that names none. If the handler fails,
// output has the complete message.
func (r *Runner) Run(ctx context.Context, pod *v1.Pod, c *v1.Container, containerID, podIP string, h *v1.LifecycleHandler) (output string, err error) {
	wait := trace.Wait{For: trace.WaitHook, Target: trace.Target{Kind: trace.TargetHook, Container: c.Name}, Note: describe(h)}
	span := trace.Begin(r.cfg.Bus, trace.FromContext(ctx), wait)
	defer trace.End(r.cfg.Bus, span, wait)
	ctx = trace.ContextWith(ctx, span)

	where := fmt.Sprintf("for Container %q in Pod %q failed - error: ", c.Name, pod.Name+"_"+pod.Namespace+"("+string(pod.UID)+")")
	switch {
	case h.Exec != nil:
		said, err := r.exec(ctx, containerID, h.Exec.Command)
		if err != nil {
			return fmt.Sprintf("Exec lifecycle hook (%v) %s%v, message: %q", h.Exec.Command, where, quoted(err), said), err
		}
	case h.HTTPGet != nil:
		if err := r.get(ctx, pod, c, podIP, h.HTTPGet); err != nil {
			return fmt.Sprintf("HTTP lifecycle hook (%s) %s%v", h.HTTPGet.Path, where, err), err
		}
	case h.Sleep != nil:
		if err := sleep(ctx, h.Sleep.Seconds); err != nil {
			r.cut.Add(1)
			return fmt.Sprintf("Sleep lifecycle hook (%d) %s%v", h.Sleep.Seconds, where, err), err
		}
	default: // tcpSocket too: it exists only in the API and was never run
		err := fmt.Errorf("invalid handler: %v", h)
		return fmt.Sprintf("Cannot run handler: %v", err), err
	}
	return "", nil
}

func describe(h *v1.LifecycleHandler) string {
	switch {
	case h.Exec != nil:
		return fmt.Sprintf("exec %q", h.Exec.Command)
	case h.HTTPGet != nil:
		return "httpGet " + redact.URL(h.HTTPGet.Path)
	case h.Sleep != nil:
		return fmt.Sprintf("sleep %ds", h.Sleep.Seconds)
	}
	return ""
}

// sleep waits, unless ctx ends first.
func sleep(ctx context.Context, seconds int64) error {
	t := time.NewTimer(time.Duration(seconds) * time.Second)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return errors.New("container terminated before sleep hook finished")
	}
}
