package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/logs"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

const (
	// logLines and logWidth bound the answer: the lines, and the bytes of each.
	logLines = 200
	logWidth = 1 << 10
	// logTime is how long reading may take: entries can be large.
	logTime = 5 * time.Second
)

// LogTail is the end of a container's log.
type LogTail struct {
	Container string `json:"container"`
	Attempt   uint32 `json:"attempt"` // the restart count
	Running   bool   `json:"running"`
	// Lines are the last ones, at most 200, each cut to 1 KiB, the newest last: the container's own bytes.
	Lines []string `json:"lines"`
}

// queryLogs returns the end of the log of a pod's container: of the newest one of that name, or of the one before it.
func (p *parts) queryLogs(ctx context.Context, pod, container string, previous bool) (LogTail, error) {
	namespace, name, _ := strings.Cut(pod, "/")
	known := p.pods.store.Pod(namespace, name)
	if known == nil {
		return LogTail{}, fmt.Errorf("no pod %s on this node", pod)
	}
	c := newest(p.pleg.Cache().Get(known.UID), container)
	if c == nil {
		return LogTail{}, fmt.Errorf("container %q of pod %s has not been created, so it has no log", container, pod)
	}
	if previous {
		if c = before(p.pleg.Cache().Get(known.UID), c); c == nil {
			return LogTail{}, fmt.Errorf("previous terminated container %q in pod %q not found", container, name)
		}
	}
	if c.LogPath == "" {
		return LogTail{}, fmt.Errorf("the container runtime has no log file of container %q of pod %s", container, pod)
	}
	ctx, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	lines, err := logs.Last(ctx, p.files, c.LogPath, logLines, logWidth)
	if err != nil {
		return LogTail{}, err
	}
	return LogTail{Container: container, Attempt: c.Attempt, Running: c.State == podstate.Running, Lines: lines}, nil
}

// before returns the container of the same name that was created last before this one, nil if there is none, or the runtime has removed it.
func before(pod *podstate.Pod, newer *podstate.Container) (last *podstate.Container) {
	if pod == nil {
		return nil
	}
	for i := range pod.Containers {
		if c := &pod.Containers[i]; c.Name == newer.Name && c.CreatedAt.Before(newer.CreatedAt) && (last == nil || c.CreatedAt.After(last.CreatedAt)) {
			last = c
		}
	}
	return last
}

// newest returns the container of that name that was created last, nil if there is none.
func newest(pod *podstate.Pod, name string) (last *podstate.Container) {
	if pod == nil {
		return nil
	}
	for i := range pod.Containers {
		if c := &pod.Containers[i]; c.Name == name && (last == nil || c.CreatedAt.After(last.CreatedAt)) {
			last = c
		}
	}
	return last
}
