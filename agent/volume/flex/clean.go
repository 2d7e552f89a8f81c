package flex

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// Clean implements volume.Cleaner: it unmounts the devices that an earlier agent left when it ended between a pod's unmount and that of the
// device. Once that has succeeded, further calls do nothing.
func (p *Plugin) Clean(ctx context.Context) error {
	p.mu.Lock()
	cleaned := p.cleaned
	p.mu.Unlock()
	if cleaned {
		return nil
	}
	var errs []error
	for _, at := range p.left() {
		errs = append(errs, p.clean(ctx, at))
	}
	err := errors.Join(errs...)
	p.mu.Lock()
	p.cleaned = err == nil
	p.mu.Unlock()
	return err
}

func (p *Plugin) clean(ctx context.Context, at volume.Place) error {
	if used, err := p.usedByOthers(at); err != nil || used {
		return err
	}
	d, err := p.driver(ctx, at.Plugin)
	if err != nil || !d.caps.Attach {
		return err
	}
	give, err := p.take(ctx, at)
	if err != nil {
		return err
	}
	defer give()
	return d.unstage(ctx, at)
}

// left returns the volumes for whose devices there is a directory. The names of drivers have up to three elements.
func (p *Plugin) left() []volume.Place {
	root := filepath.Join(p.cfg.RootDir, "plugins", Name)
	var out []volume.Place
	for elements := 1; elements <= 3; elements++ {
		dirs, err := filepath.Glob(root + strings.Repeat("/*", elements) + "/mounts/*")
		if err != nil {
			continue // the root directory's name is a pattern that is not valid
		}
		for _, dir := range dirs {
			mounts := filepath.Dir(dir)
			driver, err := filepath.Rel(root, filepath.Dir(mounts))
			if err == nil && checkName(driver) == nil {
				out = append(out, volume.Place{Plugin: driver, Name: filepath.Base(dir)})
			}
		}
	}
	return out
}
