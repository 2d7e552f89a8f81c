package podruntime

import (
	"context"
	"fmt"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/observe"
)

// start starts a created container.
func (r *run) start(ctx context.Context, s *Step) error {
	id := s.Target
	if id == "" {
		r.mu.Lock()
		id = r.created[s.Container]
		r.mu.Unlock()
	}
	if last := r.seen.Newest(s.Container); last != nil && last.State == observe.Exited {
		r.cfg.Backoff.next(keyOf(r.pod, container(r.pod, s.Container)), last.FinishedAt, time.Now())
	}
	if _, err := r.cfg.Containers.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: id}); err != nil {
		r.say(ctx, "Warning", "Failed", "Error: "+err.Error(), s.Container)
		return fmt.Errorf("start container %s: %w", s.Container, err)
	}
	r.mu.Lock()
	r.started[s.Container] = true
	r.created[s.Container] = id
	r.mu.Unlock()
	r.acted(r.pod.UID, func(k *knowledge) { k.containers[id] = observe.Running })
	r.linkLog(s.Container, id, s.Attempt)
	r.say(ctx, "Normal", "Started", "Container started", s.Container)
	return nil
}
