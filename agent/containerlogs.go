package agent

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/agent/logs"
	"github.com/kubeloupe/kubeloupe/agent/observe"
	"github.com/kubeloupe/kubeloupe/trace"
)

// addRotation keeps containers' logs short.
func (p *parts) addRotation(client *cri.Client) error {
	kc := p.cfg.Kubelet.Kubelet
	size, err := resource.ParseQuantity(kc.ContainerLogMaxSize)
	if err != nil {
		return fmt.Errorf("containerLogMaxSize %q: %w", kc.ContainerLogMaxSize, err)
	}
	r, err := logs.NewRotator(logs.RotatorConfig{
		MaxSize: size.Value(), MaxFiles: int(*kc.ContainerLogMaxFiles), Workers: int(*kc.ContainerLogMaxWorkers),
		Interval: kc.ContainerLogMonitorInterval.Duration, Containers: p.logged, Runtime: client.Runtime, Bus: p.cfg.Bus,
	})
	if err != nil {
		return err
	}
	p.add("log rotation", r.Run)
	return nil
}

// logged are the containers that run and write a log.
func (p *parts) logged() []logs.Container {
	var out []logs.Container
	for uid, pod := range p.pleg.Cache().All() {
		ref := trace.Pod{Namespace: pod.Namespace, Name: pod.Name, UID: string(uid)}
		for _, c := range pod.Containers {
			if c.State == observe.Running && c.LogPath != "" {
				out = append(out, logs.Container{ID: c.ID, Path: c.LogPath, Pod: ref})
			}
		}
	}
	return out
}

// logLag is how much later than a container's end its log may be complete. containerd writes it in a goroutine
// that nobody waits for.
const logLag = 100 * time.Millisecond

// logsBy is until when a container's status, if it shows the end of the log, is to wait.
func (p *parts) logsBy(uid types.UID) (at time.Time) {
	pod := p.pleg.Cache().Get(uid)
	if pod == nil {
		return at
	}
	for _, c := range pod.Containers {
		shows := c.State == observe.Exited && c.ExitCode != 0 && c.TerminationMessagePolicy == string(v1.TerminationMessageFallbackToLogsOnError)
		if end := c.FinishedAt.Add(logLag); shows && end.After(at) {
			at = end
		}
	}
	return at
}
