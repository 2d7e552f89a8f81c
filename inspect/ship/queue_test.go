package ship

import (
	"slices"
	"testing"
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
