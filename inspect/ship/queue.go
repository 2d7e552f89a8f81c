package ship

import (
	"context"
	"slices"
	"sync"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// parcel is a tree on its way. It is kept as it is sent, or compressed: in memory, a span is several times as large.
type parcel struct {
	parts  []packed
	n      int
	bytes  int  // as they are sent
	kept   int  // as they are kept
	urgent bool // slow or failed
	bad    int  // spans that cannot be sent
}

// packed has the spans of one resource.
type packed struct {
	wire  []byte
	n     int
	bytes int // of wire before it was compressed
}

func parcelOf(spans []*tracepb.ResourceSpans, n int, urgent bool) parcel {
	p := parcel{n: n, urgent: urgent, parts: make([]packed, 0, len(spans))}
	for _, rs := range spans {
		var t packed
		for _, ss := range rs.GetScopeSpans() {
			t.n += len(ss.GetSpans())
		}
		var err error
		if t.wire, err = proto.Marshal(rs); err != nil { // a text that is not UTF-8
			p.n, p.bad = p.n-t.n, p.bad+t.n
			continue
		}
		t.bytes = len(t.wire)
		p.parts, p.bytes, p.kept = append(p.parts, t), p.bytes+t.bytes, p.kept+t.bytes
	}
	return p
}

// cut returns a parcel of at most so many bytes, but not of less than one resource's spans, and the rest.
func (p parcel) cut(most int) (piece, rest parcel) {
	if p.bytes <= most || len(p.parts) < 2 {
		return p, parcel{}
	}
	for i, t := range p.parts {
		if i > 0 && piece.bytes+t.bytes > most {
			break
		}
		piece.parts, piece.n, piece.bytes = p.parts[:i+1], piece.n+t.n, piece.bytes+t.bytes
	}
	return piece, parcel{parts: p.parts[len(piece.parts):], n: p.n - piece.n, bytes: p.bytes - piece.bytes}
}

// queue has the parcels that wait to be sent, in order. It is safe for concurrent use, and nothing waits for room.
type queue struct {
	mu          sync.Mutex
	parcels     []parcel
	spans, kept int // kept in bytes
	dropped     uint64
	came        chan struct{} // has one element while there may be parcels
}

func newQueue() *queue { return &queue{came: make(chan struct{}, 1)} }

// put adds a parcel. Where there is no room, ordinary parcels are dropped, the oldest first, and then urgent ones.
func (q *queue) put(p parcel) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.parcels = append(q.parcels, p)
	q.dropped += uint64(p.bad)
	q.spans, q.kept = q.spans+p.n, q.kept+p.kept
	for q.spans > maxQueue || q.kept > maxQueueBytes {
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
	q.spans, q.kept = q.spans-q.parcels[i].n, q.kept-q.parcels[i].kept
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
		out.parts, out.n, out.bytes, out.kept = append(out.parts, p.parts...), out.n+p.n, out.bytes+p.bytes, out.kept+p.kept
	}
	q.parcels = slices.Delete(q.parcels, 0, i)
	q.spans, q.kept = q.spans-out.n, q.kept-out.kept
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

// long says that more spans wait than one request may have.
func (q *queue) long() bool {
	waiting, _ := q.counts()
	return waiting > maxSend
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
