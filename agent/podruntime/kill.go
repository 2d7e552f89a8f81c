package podruntime

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// kill stops a container: TERM, the rest of the grace period, KILL. The time until the container exits is a named wait.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, killContainer.
func (r *run) kill(ctx context.Context, s *Step) error {
	return r.stop(ctx, s, r.graceLeft(s.Grace, r.began))
}

// stop is kill with that many seconds of grace.
func (r *run) stop(ctx context.Context, s *Step, grace int64) error {
	r.sayKilling(ctx, s)
	wait := trace.Wait{For: trace.WaitGrace, Target: trace.Target{Kind: trace.TargetContainer, Name: s.Container}, Limit: time.Duration(grace) * time.Second}
	span := trace.Begin(r.cfg.Bus, trace.FromContext(ctx), wait)
	_, err := r.cfg.Containers.StopContainer(trace.ContextWith(ctx, span), &runtimeapi.StopContainerRequest{ContainerId: s.Target, Timeout: grace})
	trace.End(r.cfg.Bus, span, wait)
	r.endLate(ctx, s.Target)
	if err != nil && !gone(err) {
		return fmt.Errorf("stop container %s: %w", s.Container, err)
	}
	if err == nil {
		r.acted(r.pod.UID, func(k *knowledge) { k.containers[s.Target] = podstate.Exited })
	}
	return nil
}

// graceLeft returns the rest of the grace period after the container's hook and its wait for others, in seconds. Time
// in which a stepping user holds the pod does not count.
func (r *run) graceLeft(grace int64, since time.Time) int64 {
	if !r.gated {
		grace -= int64(time.Since(since).Seconds())
	}
	return max(grace, minimumGrace)
}

// ends reports whether the step stops something of a pod that runs.
func ends(v trace.Verb) bool { return v == trace.VerbKill || v == trace.VerbStopSandbox }

// sayKilling emits one Killing event for each container.
func (r *run) sayKilling(ctx context.Context, s *Step) {
	r.mu.Lock()
	said := r.said[s.Target]
	r.said[s.Target] = true
	r.mu.Unlock()
	if !said {
		r.say(ctx, "Normal", "Killing", cmp.Or(s.Message, "Stopping container "+s.Container), s.Container)
	}
}

// remove removes a container whose sandbox is gone.
func (r *run) remove(ctx context.Context, s *Step) error {
	_, err := r.cfg.Containers.RemoveContainer(ctx, &runtimeapi.RemoveContainerRequest{ContainerId: s.Target})
	if err != nil && !gone(err) {
		return fmt.Errorf("remove container %s: %w", s.Container, err)
	}
	r.acted(r.pod.UID, func(k *knowledge) {
		delete(k.containers, s.Target)
		k.removed[s.Target] = true
	})
	return nil
}

func gone(err error) bool { return status.Code(err) == codes.NotFound }
