package views

import "github.com/kubeloupe/kubeloupe/inspect/waterfall"

// longestBar is the longest row on the critical path, nil if there is none.
func (p *Pod) longestBar() (most *waterfall.Line) {
	for i := range p.lines {
		if b := p.lines[i].bar; b != nil && b.Critical && (most == nil || b.Dur() > most.Dur()) {
			most = b
		}
	}
	return most
}
