package podruntime

import (
	"errors"
	"fmt"
	"os"

	"github.com/moby/sys/mountinfo"
)

// removeTree removes a directory unless something is mounted in it: what is
// behind a mount is not ours to delete.
func removeTree(dir string) error {
	mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir))
	if err != nil && !errors.Is(err, errors.ErrUnsupported) && !os.IsNotExist(err) {
		return fmt.Errorf("look for mounts in %s: %w", dir, err)
	}
	if len(mounts) > 0 {
		return fmt.Errorf("%s is still mounted", mounts[0].Mountpoint)
	}
	return os.RemoveAll(dir)
}
