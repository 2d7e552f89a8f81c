package containerdprogress

import "sync"

// board knows the pulls being followed. containerd does not tell which tag a manifest
// was pulled for, so among pulls from one repository the manifests are told apart by
// who else is there; while that leaves a doubt, none is claimed.
type board struct {
	mu    sync.Mutex
	pulls map[*pull]string // the digest of the manifest claimed, "" for none yet
}

func (b *board) enter(p *pull) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pulls == nil {
		b.pulls = make(map[*pull]string)
	}
	b.pulls[p] = ""
}

func (b *board) leave(p *pull) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.pulls, p)
}

// taken returns the manifests of p's repository that other pulls have claimed, false
// if one of them is still without.
func (b *board) taken(p *pull) (map[string]bool, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := make(map[string]bool)
	for other, digest := range b.pulls {
		if other == p || other.host != p.host || other.repo != p.repo {
			continue
		}
		if digest == "" {
			return nil, false
		}
		taken[digest] = true
	}
	return taken, true
}

func (b *board) claim(p *pull, digest string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pulls[p] = digest
}
