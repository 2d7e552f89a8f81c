package gc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// logDirs lists the pods' log directories; none if their parent does not exist yet.
func (c *Collector) logDirs() ([]string, error) {
	if c.cfg.PodLogDir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(c.cfg.PodLogDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list log directories: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// danglingLinks lists the log links whose target does not exist.
func (c *Collector) danglingLinks() ([]string, error) {
	if c.cfg.ContainerLogDir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(c.cfg.ContainerLogDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list log links: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		if _, err := os.Stat(filepath.Join(c.cfg.ContainerLogDir, e.Name())); errors.Is(err, fs.ErrNotExist) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// logFiles lists the log files of a container.
func (c *Collector) logFiles(v *Verdict) []string {
	if v.logs == "" || c.cfg.PodLogDir == "" {
		return nil
	}
	files, _ := fs.Glob(os.DirFS(c.cfg.PodLogDir), v.logs) // the pattern is valid
	for i, name := range files {
		files[i] = filepath.Join(c.cfg.PodLogDir, name)
	}
	return files
}

func (c *Collector) removeLogs(v *Verdict) error {
	var errs []error
	for _, name := range c.logFiles(v) {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// size returns how many bytes the removal of v frees on disk, without those that the runtime reported.
func (c *Collector) size(v *Verdict) int64 {
	switch v.Kind {
	case KindContainer:
		var n int64
		for _, name := range c.logFiles(v) {
			n += treeSize(name)
		}
		return n
	case KindLogDir:
		return treeSize(filepath.Join(c.cfg.PodLogDir, v.ID))
	case KindImage:
		return v.Bytes
	case KindSandbox, KindLogLink:
	}
	return 0
}

// treeSize returns the total size of the files below a path. It ignores what it cannot read.
func treeSize(path string) int64 {
	var n int64
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // best effort
		}
		if info, err := d.Info(); err == nil {
			n += info.Size()
		}
		return nil
	})
	return n
}
