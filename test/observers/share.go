package observers

import (
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Shares returns how much of each pod's start no record explains, from 0 to 1, by NAMESPACE/NAME. Pods whose start was not seen to its end
// are not in it.
func Shares(recs []trace.Record) map[string]float64 {
	s := session.New(session.Options{})
	for i := range recs {
		s.Apply(&recs[i])
	}
	out := map[string]float64{}
	for _, l := range s.Runs() {
		if w, err := l.Waterfall(s.Last()); err == nil && w.Started > 0 {
			out[l.Pod.String()] = float64(w.Unexplained) / float64(w.Started)
		}
	}
	return out
}
