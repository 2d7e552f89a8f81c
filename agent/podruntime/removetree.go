package podruntime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/kubeloupe/kubeloupe/agent/guestfile"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
)

// removeTree removes a directory unless something is mounted in it: files behind a mount must not be deleted.
func removeTree(ctx context.Context, dir string) error {
	mounts, err := memdir.Within(dir)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(mounts) > 0 {
		return fmt.Errorf("%s is still mounted", mounts[0].Mountpoint)
	}
	return guestfile.RemoveAll(ctx, dir) // containers wrote its content
}
