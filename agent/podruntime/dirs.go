package podruntime

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

// podDir returns ROOT/pods/UID, as upstream.
func (r *run) podDir() string { return filepath.Join(r.cfg.RootDir, "pods", string(r.pod.UID)) }

func (r *run) logDir() string {
	return criconfig.PodLogDir(r.cfg.Node.LogRoot, r.pod.Namespace, r.pod.Name, r.pod.UID)
}

// there checks what the pod has.
func (r *Runtime) there(pod *v1.Pod) There {
	return There{Cgroup: r.cfg.Cgroups.Ready(pod), Dirs: r.hasDirs(pod), Volumes: r.hasMounted(pod.UID) && r.cfg.Volumes.Ready(pod), Claims: r.claimsOf(pod)}
}

// hasDirs checks directories that only root writes.
func (r *Runtime) hasDirs(pod *v1.Pod) bool {
	dirs, logs := r.dirsOf(pod)
	for _, d := range append(dirs, logs) {
		if info, err := os.Lstat(d); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// dirsOf returns the directories that every pod has, parents first, and its log directory.
func (r *Runtime) dirsOf(pod *v1.Pod) (dirs []string, logs string) {
	top := filepath.Join(r.cfg.RootDir, "pods", string(pod.UID))
	return []string{top, filepath.Join(top, "volumes"), filepath.Join(top, "plugins")},
		criconfig.PodLogDir(r.cfg.Node.LogRoot, pod.Namespace, pod.Name, pod.UID)
}

// makeDirs creates the pod's directories.
//
// Upstream: pkg/kubelet/kubelet_pods.go, makePodDataDirs.
func (r *run) makeDirs() error {
	dirs, logs := r.dirsOf(r.pod)
	for _, d := range dirs {
		if err := os.MkdirAll(d, 0o750); err != nil {
			return fmt.Errorf("make pod directories: %w", err)
		}
	}
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return fmt.Errorf("make log directory: %w", err)
	}
	return nil
}

// removeDirs removes the directories and logs of a pod that is gone. It keeps a directory in which something is still
// mounted.
func (r *run) removeDirs(ctx context.Context) error {
	if err := removeTree(ctx, r.podDir()); err != nil {
		return fmt.Errorf("remove pod directory: %w", err)
	}
	r.unlinkLogs()
	if err := os.RemoveAll(r.logDir()); err != nil {
		return fmt.Errorf("remove logs: %w", err)
	}
	return nil
}

// maxHosts limits how much is read of the node's hosts file, in bytes.
const maxHosts = 1 << 20

// writeHosts writes the pod's hosts file, which all its containers share. Each of them may have written to it and
// changed its mode, but nothing else: the file is mounted in each, so they cannot rename or remove it. It is written in
// place, so that running containers see the change. At most the expected size is read of its old content. The node's
// own file is root's.
//
// Upstream: pkg/kubelet/kubelet_pods.go, ensureHostsFile.
func (r *run) writeHosts(ctx context.Context) (string, error) {
	path := filepath.Join(r.podDir(), "etc-hosts")
	hostname, domain, err := criconfig.Hostname(r.pod, r.cfg.Node.ClusterDomain)
	if err != nil {
		return "", err
	}
	var nodeHosts []byte
	if r.pod.Spec.HostNetwork {
		node, err := r.cfg.Files.Resolve(ctx, "/etc/hosts") // a link in some distributions
		if err == nil {
			nodeHosts, err = r.cfg.Files.Read(ctx, node, maxHosts)
		}
		if err != nil {
			return "", fmt.Errorf("hosts file: %w", err)
		}
	}
	want := criconfig.Hosts(r.pod, r.podIPs, hostname, domain, nodeHosts)
	if err := r.cfg.Files.Rewrite(ctx, path, want, 0o644); err != nil {
		return "", fmt.Errorf("hosts file: %w", err)
	}
	return path, nil
}
