package podruntime

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/trace"
)

// makeLogDir creates the directory of a container's logs. containerd does it itself, CRI-O does not.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, generateContainerConfig.
func (r *run) makeLogDir(container string) error {
	if err := os.MkdirAll(filepath.Join(r.logDir(), filepath.Dir(criconfig.LogPath(container, 0))), 0o755); err != nil {
		return fmt.Errorf("make log directory of container %s: %w", container, err)
	}
	return nil
}

// linkLog creates the link by which log collectors find a container's log. A runtime that writes no file (Docker with journald) needs none.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, startContainer.
func (r *run) linkLog(container, id string, attempt uint32) {
	if r.cfg.LogLinks == "" {
		return
	}
	target := filepath.Join(r.logDir(), criconfig.LogPath(container, int(attempt)))
	link := filepath.Join(r.cfg.LogLinks, criconfig.LegacyLogName(r.pod.Namespace, r.pod.Name, container, id))
	if _, err := os.Stat(target); os.IsNotExist(err) {
		return
	}
	if err := os.Symlink(target, link); err != nil && !os.IsExist(err) {
		trace.Point(r.cfg.Bus, trace.Span{Pod: r.ref}, trace.Log{Level: trace.LevelError, Message: "link the log of container " + container + ": " + err.Error()})
	}
}

// unlinkLogs removes the links to the logs of a pod that is gone.
func (r *run) unlinkLogs() {
	if r.cfg.LogLinks == "" {
		return
	}
	pattern := filepath.Join(r.cfg.LogLinks, r.pod.Name+"_"+r.pod.Namespace+"_*.log")
	links, err := filepath.Glob(pattern)
	if err != nil {
		return
	}
	for _, l := range links {
		if target, err := os.Readlink(l); err == nil && strings.HasPrefix(target, r.logDir()+string(filepath.Separator)) {
			_ = os.Remove(l) // garbage collection retries
		}
	}
}

// attemptsLogged counts the attempts of a container by its logs. They outlive the runtime's containers and must not be
// overwritten.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, calcRestartCountByLogDir.
func attemptsLogged(root string, pod *v1.Pod, name string) uint32 {
	entries, err := os.ReadDir(filepath.Join(criconfig.PodLogDir(root, pod.Namespace, pod.Name, pod.UID), name))
	if err != nil {
		return 0
	}
	var next uint32
	for _, e := range entries {
		number, rest, _ := strings.Cut(e.Name(), ".")
		if n, err := strconv.ParseUint(number, 10, 31); err == nil && strings.HasPrefix(rest, "log") && !e.IsDir() {
			next = max(next, uint32(n)+1)
		}
	}
	return next
}
