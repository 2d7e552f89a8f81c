package oom

import (
	"context"
	"fmt"

	"github.com/kubeloupe/kubeloupe/trace"
)

// systemOOM is the reason of the node's Event. Upstream: pkg/kubelet/oom/oom_watcher_linux.go, systemOOMEvent.
const systemOOM = "SystemOOM"

// report publishes kills. One for which the whole node was short of memory is also an Event of the node, as in the kubelet, whose process it is
// or not.
func (w *Watcher) report(ctx context.Context, kills []trace.OOMKill) {
	for _, e := range kills {
		span := trace.FromContext(ctx)
		span.Pod = trace.Pod{}
		for _, p := range places(e.Cgroup) {
			if pod, name, known := w.cfg.Pods.Find(p.uid, p.container); known {
				span.Pod, e.Container, e.Name = pod, p.container, name
				break
			}
		}
		cause := trace.Point(w.cfg.Bus, span, e)
		if e.Limited != "/" || w.cfg.Events == nil {
			continue
		}
		message := "System OOM encountered"
		if e.Process != "" && e.PID != 0 {
			message += fmt.Sprintf(", victim process: %s, pid: %d", e.Process, e.PID)
		}
		w.cfg.Events.Node(trace.ContextWith(ctx, cause), "Warning", systemOOM, message)
	}
}
