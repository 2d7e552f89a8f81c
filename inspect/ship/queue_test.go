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
		"by bytes":             {[]parcel{{n: 1, kept: maxQueueBytes}, {n: 2, kept: 1}}, []int{2}, 1},
		"one that is too much": {[]parcel{{n: 1, kept: maxQueueBytes + 1}}, nil, 1},
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
	for _, p := range []parcel{{n: maxSend + 5}, {n: 1, bytes: maxSendBytes, kept: 9}, {n: 2, bytes: 1, kept: 1}, {n: 3, bytes: 1, kept: 1}} {
		q.put(p)
	}
	for _, want := range []int{maxSend + 5, 1, 5, 0} { // a tree is never divided
		if got := q.take(); got.n != want {
			t.Errorf("took %d spans, want %d", got.n, want)
		}
	}
	if waiting, dropped := q.counts(); waiting != 0 || dropped != 0 || q.kept != 0 {
		t.Errorf("%d spans of %d bytes wait, %d dropped", waiting, q.kept, dropped)
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
		t.Errorf("%d spans of %d bytes take %d bytes", waiting, q.kept, took)
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
	if got := new(opener).open(q.take()); len(got) != 1 || !proto.Equal(got[0], good[0]) {
		t.Errorf("took %v", got)
	}
}

// TestSqueeze: compressed spans take less room, and are sent as they were, with those that are not.
func TestSqueeze(t *testing.T) {
	q := newQueue()
	var z squeezer
	var want []*tracepb.ResourceSpans
	for i := range 4 {
		tr := tree(40, fmt.Sprint("a value of some length ", i))
		p := parcelOf(tr, 40, false)
		if i%2 == 1 {
			z.squeeze(&p)
			if p.kept*4 > p.bytes {
				t.Errorf("%d bytes are kept as %d", p.bytes, p.kept)
			}
		}
		q.put(p)
		want = append(want, tr...)
	}
	p := q.take()
	p, rest := p.cut(p.bytes / 2)
	var o opener
	if got := append(o.open(p), o.open(rest)...); !slices.EqualFunc(got, want, func(a, b *tracepb.ResourceSpans) bool { return proto.Equal(a, b) }) {
		t.Errorf("got %v", got)
	}
	if q.kept != 0 || p.n+rest.n != 160 {
		t.Errorf("%d bytes are kept, %d spans were taken", q.kept, p.n+rest.n)
	}
}

// TestSqueezeLittle: what compression makes no smaller is kept as it is.
func TestSqueezeLittle(t *testing.T) {
	p := parcelOf([]*tracepb.ResourceSpans{{}}, 0, false)
	new(squeezer).squeeze(&p)
	if p.kept != p.bytes || len(p.parts) != 1 || len(p.parts[0].wire) != p.parts[0].bytes {
		t.Errorf("%+v", p)
	}
}

// BenchmarkSqueeze compresses a start's spans.
func BenchmarkSqueeze(b *testing.B) {
	spans := tree(40, "a value of some length")
	var z squeezer
	for b.Loop() {
		p := parcelOf(spans, 40, false)
		z.squeeze(&p)
		b.ReportMetric(float64(p.bytes), "bytes")
		b.ReportMetric(float64(p.kept), "kept")
	}
}
