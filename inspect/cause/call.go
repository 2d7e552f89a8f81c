package cause

import "github.com/kubeloupe/kubeloupe/trace"

// failedCalls are the pod's calls of a method that failed in a certain way; again says that a later one of them worked.
func (c *Case) failedCalls(method string, way func(*Span[*trace.CRICall]) bool) (failed []Span[*trace.CRICall], again bool) {
	for _, s := range ownSpans[*trace.CRICall](c) {
		switch {
		case s.Event.Method != method || s.Open:
		case s.Err() == "":
			again = len(failed) > 0
		case way(&s):
			failed, again = append(failed, s), false
		}
	}
	return failed, again
}
