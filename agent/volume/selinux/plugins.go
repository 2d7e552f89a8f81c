package selinux

import (
	"errors"
	"fmt"
)

// forPlugins is the label of directories with plugins' sockets. Upstream: pkg/kubelet/kubeletconfig, KubeletPluginsDirSELinuxLabel.
const forPlugins = "system_u:object_r:container_file_t:s0"

// LabelForPlugins labels directories so that containers can use the sockets in them, and make sockets there. It does nothing if SELinux is not
// enabled on the node. The error is about those that could not be labeled.
func LabelForPlugins(dirs ...string) error {
	if !enabled() {
		return nil
	}
	return labelAll(dirs, setLabel)
}

func labelAll(dirs []string, set func(path, label string) error) error {
	var errs []error
	for _, dir := range dirs {
		if err := set(dir, forPlugins); err != nil {
			errs = append(errs, fmt.Errorf("label %s with %s: %w", dir, forPlugins, err))
		}
	}
	return errors.Join(errs...)
}
