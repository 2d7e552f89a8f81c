package podruntime

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

// podDir is ROOT/pods/UID, as upstream has it.
func (r *run) podDir() string { return filepath.Join(r.cfg.RootDir, "pods", string(r.pod.UID)) }

func (r *run) logDir() string {
	return criconfig.PodLogDir(r.cfg.Node.LogRoot, r.pod.Namespace, r.pod.Name, r.pod.UID)
}

// makeDirs makes the pod's directories.
//
// Upstream: pkg/kubelet/kubelet_pods.go, makePodDataDirs.
func (r *run) makeDirs() error {
	for _, d := range []string{r.podDir(), filepath.Join(r.podDir(), "volumes"), filepath.Join(r.podDir(), "plugins")} {
		if err := os.MkdirAll(d, 0o750); err != nil {
			return fmt.Errorf("make pod directories: %w", err)
		}
	}
	if err := os.MkdirAll(r.logDir(), 0o755); err != nil {
		return fmt.Errorf("make log directory: %w", err)
	}
	return nil
}

// removeDirs removes the directories and logs of a pod that is gone. A directory
// in which something is still mounted is left alone.
func (r *run) removeDirs() error {
	if err := removeTree(r.podDir()); err != nil {
		return fmt.Errorf("remove pod directory: %w", err)
	}
	r.unlinkLogs()
	if err := os.RemoveAll(r.logDir()); err != nil {
		return fmt.Errorf("remove logs: %w", err)
	}
	return nil
}

// writeHosts writes the pod's hosts file, which all its containers share.
func (r *run) writeHosts() (string, error) {
	path := filepath.Join(r.podDir(), "etc-hosts")
	hostname, domain, err := criconfig.Hostname(r.pod, r.cfg.Node.ClusterDomain)
	if err != nil {
		return "", err
	}
	var nodeHosts []byte
	if r.pod.Spec.HostNetwork {
		if nodeHosts, err = os.ReadFile("/etc/hosts"); err != nil {
			return "", fmt.Errorf("hosts file: %w", err)
		}
	}
	want := criconfig.Hosts(r.pod, r.podIPs, hostname, domain, nodeHosts)
	if have, err := os.ReadFile(path); err == nil && string(have) == string(want) {
		return path, nil
	}
	if err := os.WriteFile(path, want, 0o644); err != nil { //nolint:gosec // containers of any user read it
		return "", fmt.Errorf("hosts file: %w", err)
	}
	return path, nil
}
