package ship

import (
	"context"
	"slices"
	"sync"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// parcel is a tree on its way.
type parcel struct {
	spans  []*tracepb.ResourceSpans
	n      int
	bytes  int
	urgent bool // slow or failed
}

func parcelOf(spans []*tracepb.ResourceSpans, n int, urgent bool) parcel {
	p := parcel{spans: spans, n: n, urgent: urgent}
	for _, rs := range spans {
		p.bytes += proto.Size(rs)
	}
	return p
}

// cut returns a parcel of at most so many bytes, but not of less than one resource's spans, and the rest.
func (p parcel) cut(most int) (piece, rest parcel) {
	if p.bytes <= most || len(p.spans) < 2 {
		return p, parcel{}
	}
	for i, rs := range p.spans {
		size := proto.Size(rs)
		if i > 0 && piece.bytes+size > most {
			break
		}
		for _, ss := range rs.GetScopeSpans() {
			piece.n += len(ss.GetSpans())
		}
		piece.spans, piece.bytes = p.spans[:i+1], piece.bytes+size
	}
	return piece, parcel{spans: p.spans[len(piece.spans):], n: p.n - piece.n, bytes: p.bytes - piece.bytes}
}

// queue has the parcels that wait to be sent, in order. It is safe for concurrent use, and nothing waits for room.
type queue struct {
	mu           sync.Mutex
	parcels      []parcel
	spans, bytes int
	dropped      uint64
	came         chan struct{} // has one element while there may be parcels
}

func newQueue() *queue { return &queue{came: make(chan struct{}, 1)} }

// put adds a parcel. Where there is no room, ordinary parcels are dropped, the oldest first, and then urgent ones.
func (q *queue) put(p parcel) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.parcels = append(q.parcels, p)
	q.spans, q.bytes = q.spans+p.n, q.bytes+p.bytes
	for q.spans > maxQueue || q.bytes > maxQueueBytes {
		q.drop(max(slices.IndexFunc(q.parcels, func(p parcel) bool { return !p.urgent }), 0))
	}
	select {
	case q.came <- struct{}{}:
	default:
	}
}

// drop drops a parcel. Called with mu.
func (q *queue) drop(i int) {
	q.dropped += uint64(q.parcels[i].n)
	q.spans, q.bytes = q.spans-q.parcels[i].n, q.bytes-q.parcels[i].bytes
	q.parcels = slices.Delete(q.parcels, i, i+1)
}

// take removes what one request may have.
func (q *queue) take() (out parcel) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := 0
	for ; i < len(q.parcels); i++ {
		p := &q.parcels[i]
		if i > 0 && (out.n+p.n > maxSend || out.bytes+p.bytes > maxSendBytes) {
			break
		}
		out.spans, out.n, out.bytes = append(out.spans, p.spans...), out.n+p.n, out.bytes+p.bytes
	}
	q.parcels = slices.Delete(q.parcels, 0, i)
	q.spans, q.bytes = q.spans-out.n, q.bytes-out.bytes
	return out
}

// next waits for parcels; false when ctx ends first.
func (q *queue) next(ctx context.Context) (parcel, bool) {
	for {
		if p := q.take(); p.n > 0 {
			return p, true
		}
		select {
		case <-q.came:
		case <-ctx.Done():
			return parcel{}, false
		}
	}
}

// abandon drops everything.
func (q *queue) abandon() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.parcels) > 0 {
		q.drop(len(q.parcels) - 1)
	}
}

// counts returns how many spans wait, and were dropped.
func (q *queue) counts() (waiting int, dropped uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.spans, q.dropped
}
