package bundle

import (
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/merge"
)

// Told is what a stream is made of, as far as it was read.
type Told struct {
	// Level is the verbosity of the kubelets' logs as far as their messages tell, at least, the lowest of them; -1 where there is none.
	Level int
	// Entries is how many entries of kubelets there were, Calls how many begins and ends of calls the container runtime's log had. Lost is
	// how many lines are known to be missing, Cut how many entries end within a value.
	Entries, Calls, Lost, Cut uint64
	// Events and Pods are how many objects there were.
	Events, Pods uint64
	// Zone is what the kubelet's clock is ahead of UTC, where only what two logs tell of the same said so; Same is how many things said it.
	Zone *time.Duration
	Same int
	// Merged is what observers told of the same.
	Merged merge.Report
	// Notes say what was left out, and why.
	Notes []string
}

// Told returns what was read so far.
func (s *Source) Told() Told {
	t := s.told
	t.Level, t.Merged = -1, s.merge.Report()
	for _, c := range s.logs {
		st := c.total()
		t.Entries, t.Lost, t.Cut = t.Entries+st.Entries, t.Lost+st.Lost, t.Cut+st.Cut
		t.Calls += c.runtime.Calls()
		if l := c.kubelet.Level(); l >= 0 && (t.Level < 0 || l < t.Level) {
			t.Level = l
		}
	}
	return t
}
