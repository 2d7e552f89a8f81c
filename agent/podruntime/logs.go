package podruntime

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

// linkLog links a container's log where log collectors look for it by name.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, startContainer.
func (r *run) linkLog(container, id string, attempt uint32) {
	if r.cfg.LogLinks == "" {
		return
	}
	target := filepath.Join(r.logDir(), criconfig.LogPath(container, int(attempt)))
	link := filepath.Join(r.cfg.LogLinks, criconfig.LegacyLogName(r.pod.Namespace, r.pod.Name, container, id))
	if err := os.Symlink(target, link); err != nil && !os.IsExist(err) {
		r.warn("FailedLogLink", err.Error())
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
			_ = os.Remove(l) // garbage collection tries again
		}
	}
}
