package podruntime

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/observe"
	"github.com/kubeloupe/kubeloupe/trace"
)

// kill stops a container: TERM, the grace period, KILL. That the container takes
// its time is a named wait.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, killContainer.
func (r *run) kill(ctx context.Context, s *Step) error {
	r.say(ctx, "Normal", "Killing", "Stopping container "+s.Container+": "+s.Reason, s.Container)
	wait := trace.Wait{For: trace.WaitGrace, On: "container " + s.Container + " to end", Detail: fmt.Sprintf("at most %d s", s.Grace)}
	span := trace.Begin(r.cfg.Bus, trace.FromContext(ctx), wait)
	_, err := r.cfg.Containers.StopContainer(trace.ContextWith(ctx, span), &runtimeapi.StopContainerRequest{ContainerId: s.Target, Timeout: s.Grace})
	trace.End(r.cfg.Bus, span, wait)
	if err != nil && !gone(err) {
		return fmt.Errorf("stop container %s: %w", s.Container, err)
	}
	if err == nil {
		r.acted(r.pod.UID, func(k *knowledge) { k.containers[s.Target] = observe.Exited })
	}
	return nil
}

// remove removes a container whose sandbox is gone.
func (r *run) remove(ctx context.Context, s *Step) error {
	_, err := r.cfg.Containers.RemoveContainer(ctx, &runtimeapi.RemoveContainerRequest{ContainerId: s.Target})
	if err != nil && !gone(err) {
		return fmt.Errorf("remove container %s: %w", s.Container, err)
	}
	r.acted(r.pod.UID, func(k *knowledge) { delete(k.containers, s.Target) })
	return nil
}

func gone(err error) bool { return status.Code(err) == codes.NotFound }
