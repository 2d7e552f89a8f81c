package quota

import (
	"fmt"
	"path/filepath"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// first is the smallest id, as upstream's. Smaller ones are for people.
	//
	// Upstream: pkg/volume/util/fsquota/common/quota_common_linux_impl.go, FirstQuota.
	first uint32 = 1048577
	// attempts limits how many ids are tried for a directory.
	attempts = 10_000
)

// Assign gives a directory a project of its own, and reports whether it has one now. It has none if the file system does not count
// projects, or if there is something in the directory already, which would not be counted. What it is in may have a project, of the
// person who set it: that stays the directory's. A failure is a trace.Log only: the directory is then measured in another way.
func (p *Projects) Assign(dir string) bool {
	ok, err := p.assign(dir)
	if err != nil {
		trace.Point(p.cfg.Bus, trace.Span{}, trace.Log{
			Level: trace.LevelWarn, Message: fmt.Sprintf("quota: %s gets no project and is measured by a scan: %v", dir, err),
		})
	}
	return ok
}

func (p *Projects) assign(dir string) (bool, error) {
	d, err := p.kernel.open(dir)
	if err != nil {
		return false, err
	}
	defer d.close()
	if ok, err := d.accounts(); err != nil || !ok {
		return false, err
	}
	id, _, err := d.project()
	if err != nil {
		return false, fmt.Errorf("read its project: %w", err)
	}
	if id != 0 {
		return p.own(d, dir)
	}
	if ok, err := d.empty(); err != nil || !ok {
		return false, err
	}
	listed, err := listedIn(p.cfg.Listed)
	if err != nil {
		return false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if id, err = p.free(d, listed); err != nil {
		return false, err
	}
	if err := d.setProject(id); err != nil {
		return false, fmt.Errorf("set its project to %d: %w", id, err)
	}
	p.last = id
	return true, nil
}

// free returns an id that nobody uses on the file system. The caller holds mu.
func (p *Projects) free(d directory, listed map[uint32]bool) (uint32, error) {
	for id, n := max(p.last+1, first), 0; n < attempts; n++ {
		if !listed[id] {
			used, limited, err := d.quota(id)
			if err != nil {
				return 0, fmt.Errorf("read the quota of project %d: %w", id, err)
			}
			if used == (Usage{}) && !limited {
				return id, nil
			}
		}
		if id++; id < first { // after the largest id
			id = first
		}
	}
	return 0, fmt.Errorf("none of %d ids from %d on is free", attempts, max(p.last+1, first))
}

// own reports whether the directory has a project of its own, from this package or from upstream's kubelet: not that of what it is in.
func (p *Projects) own(d directory, dir string) (bool, error) {
	id, inherited, err := d.project()
	if err != nil || id < first || !inherited {
		return false, err
	}
	above, err := p.kernel.open(filepath.Dir(dir))
	if err != nil {
		return false, err
	}
	defer above.close()
	theirs, _, err := above.project()
	return err == nil && theirs != id, err
}
