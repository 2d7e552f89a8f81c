package containerdprogress

import "sync"

// board has the followed pulls. containerd does not show for which tag a manifest was pulled. So if there are several
// pulls from one repository, a pull claims a manifest only if no other pull can have it.
type board struct {
	mu    sync.Mutex
	pulls map[*pull]string // the digest of the claimed manifest, "" for none yet
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

// taken returns the manifests of p's repository that other pulls have claimed, false if one of them has not claimed one
// yet.
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
