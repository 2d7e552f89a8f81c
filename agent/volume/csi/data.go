package csi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
)

const dataFile = "vol_data.json"

// volData is what is noted of a volume, as upstream does.
//
// Upstream: pkg/volume/csi/csi_mounter.go, volDataKey.
type volData struct {
	Name       string `json:"specVolID,omitempty"`
	Handle     string `json:"volumeHandle"`
	Driver     string `json:"driverName"`
	Node       string `json:"nodeName,omitempty"`
	Attachment string `json:"attachmentID,omitempty"`
	Mode       string `json:"volumeLifecycleMode,omitempty"`
}

func (d volData) id() string { return d.Driver + "^" + d.Handle }

// saveData replaces the note in dir, which is made if need be. It is whole at any time.
func saveData(dir string, data volData) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, dataFile)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("failed to save volume info data: %w", err)
	}
	return os.Rename(path+".new", path)
}

func loadData(dir string) (volData, error) {
	var data volData
	text, err := os.ReadFile(filepath.Join(dir, dataFile))
	if err != nil {
		return data, err
	}
	if err := json.Unmarshal(text, &data); err != nil {
		return data, fmt.Errorf("failed to parse volume data file %s: %w", filepath.Join(dir, dataFile), err)
	}
	if data.Driver == "" || data.Handle == "" {
		return data, fmt.Errorf("volume data file %s names no driver or volume", filepath.Join(dir, dataFile))
	}
	return data, nil
}

// users lists the directories of pods' volumes that are the driver's volume, but for one.
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
			return nil, err // it might be this volume
		}
		if data.id() == id {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// escape has Glob take a path literally.
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

// removeNote removes a note and its directory, which has nothing else in it.
func removeNote(dir string) error {
	for _, path := range []string{filepath.Join(dir, dataFile+".new"), filepath.Join(dir, dataFile), dir} {
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

// labelled reports whether the file system at path can carry SELinux labels.
func labelled(path string) bool {
	mounts, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(path))
	return err == nil && len(mounts) > 0 && strings.Contains(","+mounts[0].VFSOptions+",", ",seclabel,")
}
