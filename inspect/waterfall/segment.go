package waterfall

import "github.com/kubeloupe/kubeloupe/trace"

// Span returns the span of the action or wait that covers the segment; 0 where nothing does. An action made up for a stream
// without any is told by its CRI call.
func (s Segment) Span() trace.SpanID {
	switch {
	case s.iv == nil:
		return 0
	case s.iv.id == 0 && len(s.iv.kids) > 0:
		return s.iv.kids[0].id
	}
	return s.iv.id
}
