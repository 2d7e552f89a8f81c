package session

import "fmt"

// Started returns the run in which the pod was seen to start: l, unless an agent that came later found the pod running;
// then the earlier one, of which that agent continues. nil: none that is kept.
func (l *PodRun) Started() *PodRun {
	if !l.found {
		return l
	}
	for e := l.before; e != nil && e.gone.IsZero(); e = e.before {
		if !e.found {
			if e.started {
				return e
			}
			return nil
		}
	}
	return nil
}

// Ref names the run, as Find takes it.
func (l *PodRun) Ref() string { return fmt.Sprintf("%s#%d", l.Pod, l.N) }
