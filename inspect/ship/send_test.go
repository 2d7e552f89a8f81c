package ship

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// script is an uploader that answers by a list, the last answer again and again, or hangs after it. It notes when it was asked.
type script struct {
	began   time.Time
	answers []Outcome
	hangs   bool
	at      []time.Duration
	got     [][]*tracepb.ResourceSpans
}

func (s *script) Upload(ctx context.Context, spans []*tracepb.ResourceSpans) Outcome {
	s.at = append(s.at, time.Since(s.began))
	if s.hangs && len(s.answers) == 0 {
		<-ctx.Done()
		return Outcome{Err: ctx.Err(), Retry: true}
	}
	out := s.answers[0]
	if len(s.answers) > 1 || s.hangs {
		s.answers = s.answers[1:]
	}
	if out.Err == nil {
		s.got = append(s.got, spans)
	}
	return out
}

var (
	errAway = Outcome{Err: errors.New("away"), Retry: true}
	errBad  = Outcome{Err: errors.New("bad")}
)

// TestSend sends one parcel of ten spans and ends an hour later.
func TestSend(t *testing.T) {
	for name, c := range map[string]struct {
		answers []Outcome
		hangs   bool
		want    told
		dropped uint64
		most    int             // requests
		after   []time.Duration // the least time of each
	}{
		"taken":         {answers: []Outcome{{}}, want: told{sent: 10}, most: 1},
		"refused":       {answers: []Outcome{errBad}, want: told{refused: 10, failing: true, err: "bad"}, most: 1},
		"in part":       {answers: []Outcome{{Rejected: 3, Why: "too old"}}, want: told{sent: 7, refused: 3, failing: true, err: "too old"}, most: 1},
		"more than all": {answers: []Outcome{{Rejected: 300}}, want: told{refused: 10, failing: true}, most: 1},
		"away, and back": {
			answers: []Outcome{errAway, errAway, errAway, {}}, want: told{sent: 10}, most: 4,
			after: []time.Duration{0, time.Second / 2, 3 * time.Second / 2, 7 * time.Second / 2},
		},
		"asked to wait": {
			answers: []Outcome{{Err: errors.New("ResourceExhausted"), Retry: true, After: 40 * time.Second}, {}}, want: told{sent: 10}, most: 2,
			after: []time.Duration{0, 40 * time.Second},
		},
		"asked to wait for days": {
			answers: []Outcome{{Err: errors.New("ResourceExhausted"), Retry: true, After: 99 * time.Hour}, {}}, want: told{sent: 10}, most: 2,
			after: []time.Duration{0, time.Minute},
		},
		"away":  {answers: []Outcome{errAway}, want: told{failing: true, err: "away"}, dropped: 10, most: 150},
		"hangs": {hangs: true, want: told{failing: true, err: "context deadline exceeded"}, dropped: 10, most: 150},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := &script{began: time.Now(), answers: c.answers, hangs: c.hangs}
				s := &sender{queue: newQueue(), up: up, change: func() {}, most: maxSendBytes}
				s.queue.put(parcel{n: 10})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				last, stop := context.WithTimeout(t.Context(), time.Hour+3*time.Second)
				defer stop()
				s.run(ctx, last)
				if took := time.Since(up.began); took > time.Hour+3*time.Second {
					t.Errorf("it ended after %s", took)
				}
				if got := s.tell(); got != c.want {
					t.Errorf("told %+v, want %+v", got, c.want)
				}
				if _, dropped := s.queue.counts(); dropped != c.dropped {
					t.Errorf("%d dropped, want %d", dropped, c.dropped)
				}
				if len(up.at) == 0 || len(up.at) > c.most {
					t.Errorf("%d requests, want 1 to %d", len(up.at), c.most)
				}
				for i, least := range c.after {
					if up.at[i] < least {
						t.Errorf("request %d after %s, want %s at least", i, up.at[i], least)
					}
				}
			})
		})
	}
}

// TestSendAtTheEnd sends what is there when the end has come, and no longer than the deadline.
func TestSendAtTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		up      script
		sent    uint64
		dropped uint64
		took    time.Duration
		err     string
	}{
		"there":            {up: script{answers: []Outcome{{}}}, sent: 3},
		"away":             {up: script{answers: []Outcome{errAway}}, dropped: 3, took: 3 * time.Second, err: "away"},
		"back in time":     {up: script{answers: []Outcome{errAway, errAway, {}}}, sent: 3, took: time.Second},
		"hangs":            {up: script{hangs: true}, dropped: 3, took: 3 * time.Second, err: "context deadline exceeded"},
		"away, then hangs": {up: script{answers: []Outcome{errAway}, hangs: true}, dropped: 3, took: 3 * time.Second, err: "away"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.up.began = time.Now()
				s := &sender{queue: newQueue(), up: &c.up, change: func() {}, most: maxSendBytes}
				s.queue.put(parcel{n: 1, bytes: maxSendBytes})
				s.queue.put(parcel{n: 2, bytes: maxSendBytes})
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				last, stop := context.WithTimeout(t.Context(), 3*time.Second)
				defer stop()
				s.run(ctx, last)
				_, dropped := s.queue.counts()
				if got := s.tell(); got.sent != c.sent || dropped != c.dropped || got.err != c.err {
					t.Errorf("%d sent, %d dropped, %q; want %d, %d and %q", got.sent, dropped, got.err, c.sent, c.dropped, c.err)
				}
				if took := time.Since(c.up.began); took > c.took {
					t.Errorf("it took %s, want %s at most", took, c.took)
				}
			})
		})
	}
}

// narrow is a receiver to which so many bytes come in time.
type narrow struct {
	most  int
	sizes []int
	spans int
}

func (n *narrow) Upload(ctx context.Context, spans []*tracepb.ResourceSpans) Outcome {
	p := parcelOf(spans, 0, false)
	n.sizes = append(n.sizes, p.bytes)
	if p.bytes > n.most {
		<-ctx.Done()
		return Outcome{Err: ctx.Err(), Retry: true, Late: true}
	}
	for _, rs := range spans {
		n.spans += len(rs.GetScopeSpans()[0].GetSpans())
	}
	return Outcome{}
}

// TestSendSlowly: what does not come in time as a whole is sent in pieces, larger ones again when they do.
func TestSendSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var trees []*tracepb.ResourceSpans
		for range 40 {
			trees = append(trees, &tracepb.ResourceSpans{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{Name: strings.Repeat("x", 10<<10)}, {Name: "y"}}}}})
		}
		up := &narrow{most: 100 << 10}
		s := &sender{queue: newQueue(), up: up, change: func() {}, most: maxSendBytes}
		s.queue.put(parcelOf(trees, 80, false))
		last, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour/2)
		defer cancel()
		began := time.Now()
		s.send(ctx, last, s.queue.take())
		if got := s.tell(); got != (told{sent: 80}) || up.spans != 80 {
			t.Errorf("told %+v; %d spans came", got, up.spans)
		}
		if took := time.Since(began); took > 3*time.Minute {
			t.Errorf("it took %s; requests of %v bytes", took, up.sizes)
		}
		up.most = maxSendBytes // it is fast again
		for range 30 {
			s.queue.put(parcelOf(trees[:1], 2, false))
			s.send(ctx, last, s.queue.take())
		}
		if s.most != maxSendBytes {
			t.Errorf("requests of %d bytes when it is fast, want %d", s.most, maxSendBytes)
		}
	})
}

// TestCut cuts a parcel of five trees.
func TestCut(t *testing.T) {
	var trees []*tracepb.ResourceSpans
	for range 5 {
		trees = append(trees, &tracepb.ResourceSpans{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{Name: "a"}, {Name: "b"}}}}})
	}
	all := parcelOf(trees, 10, true)
	each := all.bytes / 5
	for most, want := range map[int]int{0: 1, each: 1, 2 * each: 2, 3*each - 1: 2, 5*each - 1: 4, 5 * each: 5} {
		piece, rest := all.cut(most)
		if len(piece.parts) != want || piece.n != 2*want || piece.n+rest.n != 10 || len(piece.parts)+len(rest.parts) != 5 || piece.bytes+rest.bytes != all.bytes {
			t.Errorf("at most %d bytes: %d trees with %d spans and %d bytes, and %d with %d and %d", most, len(piece.parts), piece.n, piece.bytes, len(rest.parts), rest.n, rest.bytes)
		}
	}
}
