package agent

import (
	"fmt"
	"io/fs"
	"os"
)

// private is the mode of directories that other users of the machine have no business in. Upstream: pkg/kubelet/kubelet.go, setupDataDirs.
const private fs.FileMode = 0o750

// directories makes the directories that exist before anything runs. One that exists keeps its mode, as upstream.
//
// Upstream: pkg/kubelet/kubelet.go, setupDataDirs.
func (p *parts) directories() error {
	type dir struct {
		path string
		mode fs.FileMode
	}
	all := []dir{
		{p.inRoot("pods"), private},
		{p.inRoot("plugins"), private},
		{p.inRoot("plugins_registry"), private},
		{p.cfg.Kubelet.Pods.LogsDir, private},
		{p.logLinks(), 0o755},
	}
	if path := p.checkpoints(); path != "" {
		all = append(all, dir{path, 0o700}) // the memory of containers
	}
	for _, d := range all {
		if err := os.MkdirAll(d.path, d.mode); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
	}
	return nil
}
