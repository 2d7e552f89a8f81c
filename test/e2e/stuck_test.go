package e2e

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// stuck lists the containers that have exited and that containerd cannot remove, because it still has their task.
// A caller that ends in the middle of a call can leave such a task, and no call of CRI ends it: for CRI, the container
// has exited. containerd deletes the task when it starts the next time.
func (n *node) stuck() []string {
	n.t.Helper()
	r, err := n.runtime.ListContainers(n.ctx(), &runtimeapi.ListContainersRequest{})
	if err != nil {
		n.t.Error(err)
		return nil
	}
	var out []string
	for _, c := range r.Containers {
		if c.State != runtimeapi.ContainerState_CONTAINER_EXITED {
			continue
		}
		_, err := n.runtime.RemoveContainer(n.ctx(), &runtimeapi.RemoveContainerRequest{ContainerId: c.Id})
		if status.Code(err) == codes.FailedPrecondition && strings.Contains(err.Error(), "cannot delete running task") {
			out = append(out, c.Id)
		}
	}
	return out
}

// unstick restarts containerd for containers that it cannot remove, and waits until the agent has removed them. It
// returns what is left then. The agent owes nothing for them: the test says what happened, and continues.
func (n *node) unstick(left []string) []string {
	n.t.Helper()
	stuck := n.stuck()
	if len(stuck) == 0 {
		return left
	}
	n.t.Logf("containerd cannot remove containers that have exited; it is restarted for\n  %s\n%s",
		strings.Join(stuck, "\n  "), n.runtimeSaid(stuck))
	n.restartContainerd(func() {})
	for end := time.Now().Add(cleanup); ; n.agent.next() {
		if left = n.left(); len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

// runtimeSaid returns the last lines of containerd's log about the containers.
func (n *node) runtimeSaid(containers []string) string {
	n.t.Helper()
	text, err := os.ReadFile(n.ContainerdLog)
	if err != nil {
		return err.Error()
	}
	var out []string
	for line := range bytes.Lines(text) {
		if slices.ContainsFunc(containers, func(id string) bool { return bytes.Contains(line, []byte(id)) }) {
			out = append(out, strings.TrimSuffix(string(line), "\n"))
		}
	}
	return strings.Join(out[max(0, len(out)-40):], "\n")
}
