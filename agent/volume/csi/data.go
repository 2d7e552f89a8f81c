package csi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"

	"github.com/kubeloupe/kubeloupe/agent/guestfile"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

const dataFile = "vol_data.json"

// volData is the content of a volume's data file, upstream's vol_data.json.
//
// Upstream: pkg/volume/csi/csi_mounter.go, volDataKey.
type volData struct {
	Name       string `json:"specVolID,omitempty"`
	Handle     string `json:"volumeHandle"`
	Driver     string `json:"driverName"`
	Node       string `json:"nodeName,omitempty"`
	Attachment string `json:"attachmentID,omitempty"`
	Mode       string `json:"volumeLifecycleMode,omitempty"`
	// Label is the SELinux label with which the volume is mounted.
	Label string `json:"seLinuxMountContext,omitempty"`
}

func (d volData) id() string { return d.Driver + "^" + d.Handle }

// saveData replaces the data file in dir, which is created if necessary. It is on the disk before the driver is called.
func saveData(dir string, data volData) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	if err := wholefile.Write(filepath.Join(dir, dataFile), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("failed to save volume info data: %w", err)
	}
	return nil
}

// errSpoilt means that a data file is corrupt. Only root writes there, so a crash or a bad disk is the cause.
type errSpoilt struct {
	path string
	err  error
}

func (e errSpoilt) Error() string {
	return fmt.Sprintf("failed to parse volume data file %s: %v: write driverName and volumeHandle, as the volume's PersistentVolume has them, or unmount it and remove the file", e.path, e.err)
}

func (e errSpoilt) Unwrap() error { return e.err }

func loadData(dir string) (volData, error) {
	var data volData
	text, err := wholefile.Read(filepath.Join(dir, dataFile), wholefile.Large)
	if err != nil {
		return data, err
	}
	if data, err = parseData(text); err != nil {
		return data, errSpoilt{filepath.Join(dir, dataFile), err}
	}
	return data, nil
}

// parseData decodes a data file.
func parseData(text []byte) (data volData, err error) {
	if err := json.Unmarshal(text, &data); err != nil {
		return data, err
	}
	if data.Driver == "" || data.Handle == "" {
		return data, errors.New("it names no driver or volume")
	}
	return data, nil
}

// users lists the directories of pods' volumes that use the driver's volume, except but.
func (p *Plugin) users(id, but string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(escape(p.cfg.RootDir), "pods", "*", "volumes", strings.ReplaceAll(Name, "/", "~"), "*", dataFile))
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, path := range paths {
		dir := filepath.Dir(path)
		if dir == but {
			continue
		}
		data, err := loadData(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			// It may be this volume, if it is in use.
			if mounted, mountErr := isMounted(filepath.Join(dir, target)); mountErr == nil && !mounted {
				continue
			}
			return nil, err
		}
		if data.id() == id {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// escape makes Glob take a path literally.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// removeTarget removes a directory or file that a driver mounted on, if nothing is mounted there any more.
func removeTarget(path string) error {
	mounted, err := isMounted(path)
	if err != nil {
		return err
	}
	if mounted {
		return fmt.Errorf("%s is still mounted", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove mount directory: %w", err)
	}
	return nil
}

// removeTree removes a directory of a volume with its content, if nothing is mounted at it or below.
func removeTree(ctx context.Context, dir string) error {
	mounts, err := memdir.Within(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(mounts) > 0 {
		return fmt.Errorf("%s is still mounted", mounts[0].Mountpoint)
	}
	return guestfile.RemoveAll(ctx, dir)
}

// removeNote removes a data file and its directory, which has no other content.
func removeNote(dir string) error {
	for _, path := range []string{filepath.Join(dir, dataFile+wholefile.Unfinished), filepath.Join(dir, dataFile), dir} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func isMounted(path string) (bool, error) {
	mounted, err := mountinfo.Mounted(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("is %s a mount point: %w", path, err)
	}
	return mounted, nil
}

// optionsOf returns the options of the file system that is mounted at path; "" if none is.
func optionsOf(path string) string {
	mounts, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(path))
	if err != nil || len(mounts) == 0 {
		return ""
	}
	return mounts[0].VFSOptions
}
