package podruntime

import (
	"context"
	"errors"
	"fmt"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// start starts a created container.
func (r *run) start(ctx context.Context, s *Step) error {
	id := s.Target
	if id == "" {
		r.mu.Lock()
		id = r.created[s.Container]
		r.mu.Unlock()
	}
	call, done := patient(ctx)
	_, err := r.cfg.Containers.StartContainer(call, &runtimeapi.StartContainerRequest{ContainerId: id})
	done()
	if err == nil || r.sandboxLives(ctx) {
		r.restarted(s.Container)
	}
	if err != nil {
		r.say(ctx, "Warning", "Failed", "Error: "+withoutID(message(err), id, s.Container), s.Container)
		return fmt.Errorf("start container %s: %w", s.Container, err)
	}
	r.mu.Lock()
	r.started[s.Container] = true
	r.created[s.Container] = id
	r.mu.Unlock()
	r.acted(r.pod.UID, func(k *knowledge) { k.containers[id] = podstate.Running })
	if r.cfg.Pinning != nil {
		r.cfg.Pinning.Started(r.pod.UID, s.Container, id)
	}
	r.linkLog(s.Container, id, s.Attempt)
	r.say(ctx, "Normal", "Started", "Container started", s.Container)
	return nil
}

// restarted advances the back-off of a container that has exited before. One that ran has been killed for this start: that is its last exit.
func (r *run) restarted(name string) {
	c, last, now := podspec.Container(r.pod, name), lastExited(r.seen, name), time.Now()
	if c == nil || last == nil {
		return
	}
	ended := last.FinishedAt
	if r.seen.Newest(name).State == podstate.Running {
		ended = now
	}
	r.cfg.Backoff.next(keyOf(r.pod, c), ended, now)
}

// countFailed advances the back-offs of the containers that were not restarted because their image or their creation failed: a restart
// counts when it is decided.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, doBackOff.
func (r *run) countFailed(ctx context.Context, s *Step, err error) {
	_, refused := errors.AsType[*refusal](err)
	switch {
	case ctx.Err() != nil || refused:
	case s.Verb == trace.VerbImage, s.Verb == trace.VerbCreate && r.sandboxLives(ctx):
		for name := range r.prevented(s) {
			r.restarted(name)
		}
	}
}

// sandboxLives reports whether a failed start can be the container's own fault. When a sandbox is lost, the exits of
// its containers are observed first; a failure to start one again in that sandbox is not a crash and needs no back-off.
func (r *run) sandboxLives(ctx context.Context) bool {
	st, err := r.cfg.Sandboxes.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: r.sandboxID})
	return err == nil && st.GetStatus().GetState() == runtimeapi.PodSandboxState_SANDBOX_READY
}
