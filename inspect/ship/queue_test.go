package ship

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

func TestQueueDropsOrdinaryFirst(t *testing.T) {
	full := maxQueue / 4
	for name, c := range map[string]struct {
		put     []parcel
		want    []int // sizes of what is left, in order
		dropped uint64
	}{
		"room for all":         {[]parcel{{n: 3}, {n: 2, urgent: true}}, []int{3, 2}, 0},
		"the oldest":           {[]parcel{{n: full}, {n: full + 1}, {n: full + 2}, {n: full + 3}}, []int{full + 1, full + 2, full + 3}, uint64(full)},
		"an ordinary one":      {[]parcel{{n: full, urgent: true}, {n: full + 1}, {n: full + 2, urgent: true}, {n: full + 3}}, []int{full, full + 2, full + 3}, uint64(full + 1)},
		"urgent ones if so":    {[]parcel{{n: full, urgent: true}, {n: full, urgent: true}, {n: full, urgent: true}, {n: full + 1, urgent: true}}, []int{full, full, full + 1}, uint64(full)},
		"by bytes":             {[]parcel{{n: 1, bytes: maxQueueBytes}, {n: 2, bytes: 1}}, []int{2}, 1},
		"one that is too much": {[]parcel{{n: 1, bytes: maxQueueBytes + 1}}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue()
			for _, p := range c.put {
				q.put(p)
			}
			var got []int
			spans := 0
			for _, p := range q.parcels {
				got, spans = append(got, p.n), spans+p.n
			}
			waiting, dropped := q.counts()
			if !slices.Equal(got, c.want) || dropped != c.dropped || waiting != spans {
				t.Errorf("has %v and counts %d, dropped %d; want %v, dropped %d", got, waiting, dropped, c.want, c.dropped)
			}
		})
	}
}

func TestQueueTakesSome(t *testing.T) {
	q := newQueue()
	for _, p := range []parcel{{n: maxSend + 5}, {n: 1, bytes: maxSendBytes}, {n: 2, bytes: 1}, {n: 3, bytes: 1}} {
		q.put(p)
	}
	for _, want := range []int{maxSend + 5, 1, 5, 0} { // a tree is never divided
		if got := q.take(); got.n != want {
			t.Errorf("took %d spans, want %d", got.n, want)
		}
	}
	if waiting, dropped := q.counts(); waiting != 0 || dropped != 0 || q.bytes != 0 {
		t.Errorf("%d spans of %d bytes wait, %d dropped", waiting, q.bytes, dropped)
	}
}

// tree has so many spans, with attributes.
func tree(spans int, text string) []*tracepb.ResourceSpans {
	out := &tracepb.ResourceSpans{ScopeSpans: []*tracepb.ScopeSpans{{}}}
	for range spans {
		s := &tracepb.Span{Name: "create main", TraceId: make([]byte, 16), SpanId: make([]byte, 8)}
		for i := range 15 {
			s.Attributes = append(s.Attributes, &commonpb.KeyValue{
				Key: fmt.Sprint("kubeloupe.field-", i), Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: text}},
			})
		}
		out.ScopeSpans[0].Spans = append(out.ScopeSpans[0].Spans, s)
	}
	return []*tracepb.ResourceSpans{out}
}

// TestQueueMemory: a full queue takes about as much memory as its limit says.
func TestQueueMemory(t *testing.T) {
	live := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	q := newQueue()
	for range maxQueue/40 + 100 {
		q.put(parcelOf(tree(40, "a value of some length"), 40, false))
	}
	waiting, dropped := q.counts()
	if dropped == 0 {
		t.Fatalf("%d spans wait, none was dropped", waiting)
	}
	if took := live() - before; took > maxQueueBytes*5/4 {
		t.Errorf("%d spans of %d bytes take %d bytes", waiting, q.bytes, took)
	}
	runtime.KeepAlive(q)
}

// TestQueueBadText: spans that cannot be sent, because a text is not UTF-8, count as dropped; those of other resources are sent as they were.
func TestQueueBadText(t *testing.T) {
	q := newQueue()
	good := tree(3, "good")
	q.put(parcelOf(append(tree(2, "bad\xff"), good...), 5, false))
	if waiting, dropped := q.counts(); waiting != 3 || dropped != 2 {
		t.Errorf("%d spans wait, %d dropped; want 3 and 2", waiting, dropped)
	}
	if got := q.take().open(); len(got) != 1 || !proto.Equal(got[0], good[0]) {
		t.Errorf("took %v", got)
	}
}
