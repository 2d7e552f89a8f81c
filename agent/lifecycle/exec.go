package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/trace"
)

// exec runs a command in the container and returns its output.
//
// Upstream: cri-client/pkg/remote_runtime.go, execSyncV1.
func (r *Runner) exec(ctx context.Context, containerID string, command []string) (string, error) {
	resp, err := r.cfg.Exec.ExecSync(cri.LimitOutput(ctx, maxAnswer), &runtimeapi.ExecSyncRequest{ContainerId: containerID, Cmd: command})
	line := strings.Join(command, " ")
	switch {
	case status.Code(err) == codes.DeadlineExceeded:
		return "", fmt.Errorf("command timed out: %q timed out", line)
	case err != nil:
		return "", err
	}
	said := trace.Clip(string(slices.Concat(resp.GetStdout(), resp.GetStderr())), maxAnswer)
	if resp.GetExitCode() != 0 {
		return said, &exitError{line, resp.GetExitCode(), trace.Clip(string(resp.GetStderr()), maxAnswer), len(resp.GetStdout()) + len(resp.GetStderr())}
	}
	return said, nil
}

// exitError is the error of a failed command. The output is for the container's status only, because errors are
// published.
type exitError struct {
	line    string
	code    int32
	stderr  string
	printed int
}

func (e *exitError) Error() string {
	return fmt.Sprintf("command '%s' exited with %d, %d bytes of output", e.line, e.code, e.printed)
}

// quoted returns the error with the command's output.
func quoted(err error) string {
	if e, ok := errors.AsType[*exitError](err); ok {
		return fmt.Sprintf("command '%s' exited with %d: %s", e.line, e.code, e.stderr)
	}
	return err.Error()
}
