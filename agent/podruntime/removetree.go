package podruntime

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
)

// removeTree removes a directory unless something is mounted in it: what is
// behind a mount is not ours to delete.
func removeTree(dir string) error {
	mounts, err := memdir.Within(dir)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(mounts) > 0 {
		return fmt.Errorf("%s is still mounted", mounts[0].Mountpoint)
	}
	return os.RemoveAll(dir)
}
