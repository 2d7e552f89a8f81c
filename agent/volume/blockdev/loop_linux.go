package blockdev

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// freeLoop detaches a loop device whose backing file is path, if there is one.
func freeLoop(path string) error {
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil || strings.TrimSpace(string(text)) != path {
			continue
		}
		dev, err := os.OpenFile(filepath.Join("/dev", filepath.Base(filepath.Dir(filepath.Dir(f)))), os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		err = unix.IoctlSetInt(int(dev.Fd()), unix.LOOP_CLR_FD, 0)
		return errors.Join(err, dev.Close())
	}
	return nil
}
