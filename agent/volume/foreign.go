package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// removeForeign removes the directory of a volume whose plugin the agent does not have, if it is empty. Anything else
// may be data that outlives the pod.
//
// Upstream: pkg/kubelet/kubelet_volumes.go, removeOrphanedPodVolumeDirs.
func removeForeign(dir string) error {
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("this build does not have the plugin, and the volume is not empty: remove it manually: %w", err)
	}
	return nil
}
