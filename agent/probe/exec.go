package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/trace"
)

// exec succeeds if a command in the container exits with status 0 in time.
//
// Upstream: pkg/probe/exec/exec.go and cri-client/pkg/remote_runtime.go, ExecSync.
func (p *Prober) exec(ctx context.Context, a *attempt) outcome {
	cmd, err := criconfig.Command(a.probe.Exec.Command, a.container.Env)
	if err != nil {
		return outcome{err: err}
	}
	resp, err := p.cfg.Exec.ExecSync(cri.LimitOutput(ctx, maxOutput), &runtimeapi.ExecSyncRequest{
		ContainerId: a.containerID, Cmd: cmd, Timeout: int64(a.timeout.Seconds()),
	})
	switch {
	case status.Code(err) == codes.DeadlineExceeded:
		return late(fmt.Sprintf("command timed out: %q timed out after %s", strings.Join(cmd, " "), a.timeout))
	case err != nil:
		return outcome{err: err}
	}
	output := slices.Concat(resp.GetStdout(), resp.GetStderr()) // maxOutput each
	text := string(output[:min(len(output), maxOutput)])
	o := outcome{ok: resp.GetExitCode() == 0, output: text, code: int(resp.GetExitCode()), recorded: fmt.Sprintf("exit code %d, %d bytes of output", resp.GetExitCode(), len(output))}
	if !o.ok {
		o.answer = trace.AnswerExit
	}
	return o
}
