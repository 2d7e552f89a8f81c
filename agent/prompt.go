package agent

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cniwatch"
	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/agent/runtimestate"
)

// prompting is the runtime as podruntime uses it. A sandbox that fails for its network or for a runtime that is gone has the runtime's
// state looked at now: a network that breaks on a node in health would else be noticed half a minute later.
type prompting struct {
	podruntime.Sandboxes
	state *runtimestate.State
}

// RunPodSandbox implements podruntime.Sandboxes.
func (p prompting) RunPodSandbox(ctx context.Context, r *runtimeapi.RunPodSandboxRequest, o ...grpc.CallOption) (*runtimeapi.RunPodSandboxResponse, error) {
	res, err := p.Sandboxes.RunPodSandbox(ctx, r, o...)
	if ofNode(err) {
		p.state.Prompt()
	}
	return res, err
}

// watchNetwork has the runtime's state looked at when the network's configuration changes. The simulated runtime has none.
func (p *parts) watchNetwork(client *cri.Client) error {
	if p.cfg.Simulated {
		return nil
	}
	w, err := cniwatch.New(cniwatch.Config{Runtime: client.Runtime, Prompt: p.state.Prompt})
	if err != nil {
		return err
	}
	p.add("network configuration", w.Run)
	return nil
}

// ofNode reports whether an error may be about more than one pod's sandbox: the network's, as containerd and CRI-O say it, or no runtime.
func ofNode(err error) bool {
	if err == nil {
		return false
	}
	text := strings.ToLower(err.Error())
	return status.Code(err) == codes.Unavailable || strings.Contains(text, "network for sandbox") || strings.Contains(text, "pod network") ||
		strings.Contains(text, "cni ")
}
