package session

import "github.com/kubeloupe/kubeloupe/trace"

// maxLeft bounds how many pods' directories are remembered that could not be removed.
const maxLeft = 1000

// leave notes the last verdict on the directory of a pod that no longer exists: it comes after the pod's run.
func (s *Session) leave(r *trace.Record) {
	d, ok := r.Event.(*trace.Decision)
	if !ok || d.By != trace.ByOrphans {
		return
	}
	uid := d.Orphan
	if _, known := s.left[uid]; uid != "" && (known || len(s.left) < maxLeft) {
		s.left[uid] = *r
	}
}

// leftOf appends what was said of a run's directory after a time.
func (s *Session) leftOf(l *PodRun, after int64, to []trace.Record) []trace.Record {
	if r, ok := s.left[l.Pod.UID]; ok && l.Pod.UID != "" && r.Time > after {
		return append(to, r)
	}
	return to
}
