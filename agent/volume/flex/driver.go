package flex

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// driver is one version of a driver's program.
type driver struct {
	p          *Plugin
	name, path string
	id         identity
	caps       capabilities // after init

	mu     sync.Mutex
	ready  bool // caps are valid
	asking *asking
	lacks  map[string]bool // calls that it does not support
}

// identity tells one version of a file from another.
type identity struct {
	info fs.FileInfo
	size int64
	time time.Time
}

func (i identity) same(to identity) bool {
	return os.SameFile(i.info, to.info) && i.size == to.size && i.time.Equal(to.time)
}

// asking is an init in progress, which callers share.
type asking struct {
	done chan struct{}
	err  error // after done
}

// capabilities are what a driver can do. A driver that does not say it can do all. The statistics of its volumes are those of the file system,
// whatever it says about supportsMetrics.
//
// Upstream: pkg/volume/flexvolume/driver-call.go, DriverCapabilities.
type capabilities struct {
	Attach           bool `json:"attach"`
	SELinuxRelabel   bool `json:"selinuxRelabel"`
	FSGroup          bool `json:"fsGroup"`
	RequiresFSResize bool `json:"requiresFSResize"`
}

func defaults() capabilities {
	return capabilities{Attach: true, SELinuxRelabel: true, FSGroup: true, RequiresFSResize: true}
}

// NotInstalledError says that the node does not have a driver.
type NotInstalledError struct {
	// Driver is its name, Path where its program would be.
	Driver, Path string
}

// Error implements error.
func (e *NotInstalledError) Error() string {
	return fmt.Sprintf("flexvolume driver %s is not installed: %s does not exist", e.Driver, e.Path)
}

func (p *Plugin) dirOf(driver string) string {
	return filepath.Join(p.cfg.Dir, strings.ReplaceAll(driver, "/", "~"))
}

// driver returns a driver that has answered init.
func (p *Plugin) driver(ctx context.Context, name string) (*driver, error) {
	path, id, err := p.find(name)
	p.mu.Lock()
	d := p.drivers[name]
	switch {
	case err != nil:
		delete(p.drivers, name)
	case d == nil || !d.id.same(id):
		d = &driver{p: p, name: name, path: path, id: id, lacks: map[string]bool{}}
		p.drivers[name] = d
	}
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return d, d.init(ctx)
}

// find returns the path of a driver's program.
//
// Upstream: pkg/volume/flexvolume/probe.go, probeAll and getExecutablePathRel.
func (p *Plugin) find(name string) (path string, id identity, err error) {
	if err := checkName(name); err != nil {
		return "", id, err
	}
	dir := p.dirOf(name)
	path = filepath.Join(dir, filepath.Base(name))
	fail := func(format string, args ...any) (string, identity, error) {
		return "", identity{}, fmt.Errorf("flexvolume driver %s: "+format, append([]any{name}, args...)...)
	}
	in, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", id, &NotInstalledError{name, path}
	case err != nil:
		return fail("%w", err)
	case !in.IsDir():
		return fail("%s is %s: must be a directory", dir, kindOf(in))
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if to, linkErr := os.Readlink(path); linkErr == nil {
			return fail("%s is a link to %s, which does not exist", path, to)
		}
		return "", id, &NotInstalledError{name, path}
	}
	switch {
	case err != nil:
		return fail("%w", err)
	case !info.Mode().IsRegular():
		return fail("%s is %s: must be a program", path, kindOf(info))
	case info.Mode()&0o111 == 0:
		return fail("%s is not executable (mode %o)", path, info.Mode().Perm())
	}
	return path, identity{info, info.Size(), info.ModTime()}, nil
}

func kindOf(i fs.FileInfo) string {
	switch {
	case i.IsDir():
		return "a directory"
	case i.Mode()&fs.ModeSymlink != 0:
		return "a symbolic link"
	case i.Mode().IsRegular():
		return "a file"
	}
	return "a special file"
}

// init asks the driver once what it can do. Callers at the same time share the call, and its error.
func (d *driver) init(ctx context.Context) error {
	d.mu.Lock()
	if d.ready {
		d.mu.Unlock()
		return nil
	}
	a := d.asking
	if a != nil {
		d.mu.Unlock()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-a.done:
			return a.err
		}
	}
	a = &asking{done: make(chan struct{})}
	d.asking = a
	d.mu.Unlock()
	answer, err := d.call(ctx, "", "init")
	d.mu.Lock()
	if err == nil {
		d.caps, d.ready = answer.Capabilities, true
	}
	d.asking, a.err = nil, err
	d.mu.Unlock()
	close(a.done)
	return err
}
