package trace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func drain(c *Cursor, n int) (recs []Record, lost uint64) {
	for {
		some, l := c.Poll(make([]Record, 0, n))
		lost += l
		if len(some) == 0 {
			return recs, lost
		}
		recs = append(recs, some...)
	}
}

func TestRecordsCarryTheirPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := NewBus(8)
		cur := bus.Subscribe(FromNow)
		pod := Pod{Namespace: "shop", Name: "cart", UID: "9f"}
		root := ForPod(Span{}, pod)
		sync := Begin(bus, root, Sync{Why: SyncCreate, N: 1})
		time.Sleep(3 * time.Millisecond)
		act := Begin(bus, sync, Action{ID: "create web"})
		point := Point(bus, act, Log{Message: "half"})
		time.Sleep(4 * time.Millisecond)
		End(bus, act, Action{ID: "create web", Err: "no"})
		End(bus, sync, Sync{Why: SyncCreate, N: 1, Err: "no"})

		recs, lost := drain(cur, 3)
		if lost != 0 || len(recs) != 5 {
			t.Fatalf("%d records, %d lost", len(recs), lost)
		}
		t0 := recs[0].Time
		want := []Record{
			{Seq: 1, Time: t0, Edge: EdgeBegin, Span: sync.ID, Event: &Sync{Why: SyncCreate, N: 1}},
			{Seq: 2, Time: t0 + 3e6, Edge: EdgeBegin, Span: act.ID, Parent: sync.ID, Event: &Action{ID: "create web"}},
			{Seq: 3, Time: t0 + 3e6, Edge: EdgePoint, Span: point.ID, Parent: act.ID, Event: &Log{Message: "half"}},
			{Seq: 4, Time: t0 + 7e6, Edge: EdgeEnd, Dur: 4 * time.Millisecond, Span: act.ID, Parent: sync.ID, Event: &Action{ID: "create web", Err: "no"}},
			{Seq: 5, Time: t0 + 7e6, Edge: EdgeEnd, Dur: 7 * time.Millisecond, Span: sync.ID, Event: &Sync{Why: SyncCreate, N: 1, Err: "no"}},
		}
		for i := range want {
			want[i].Trace, want[i].Pod = sync.Trace, pod
		}
		if diff := cmp.Diff(want, recs); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if sync.Trace.IsZero() || recs[0].At() != time.Unix(0, t0) || recs[4].Start() != t0 {
			t.Errorf("trace %v, at %v, start %v", sync.Trace, recs[0].At(), recs[4].Start())
		}
		if bus.Seq() != 5 {
			t.Errorf("seq %d", bus.Seq())
		}
	})
}

func TestRecordsAreTheReadersOwn(t *testing.T) {
	bus := NewBus(2)
	cur := bus.Subscribe(FromNow)
	Point(bus, Span{}, Log{Message: "first"})
	recs, _ := cur.Poll(make([]Record, 0, 8))
	for i := range 10 {
		Point(bus, Span{}, Log{Message: fmt.Sprint(i)})
		Point(bus, Span{}, Wait{Note: fmt.Sprint(i)})
	}
	if got := recs[0].Event.(*Log).Message; got != "first" {
		t.Errorf("a record that was read became %q", got)
	}
	again, _ := drain(bus.Subscribe(FromOldest), 8)
	again[0].Event.(*Log).Message = "spoilt"
	if third, _ := drain(bus.Subscribe(FromOldest), 8); third[0].Event.(*Log).Message == "spoilt" {
		t.Error("readers share memory")
	}
}

func TestSubscribe(t *testing.T) {
	bus := NewBus(3) // rounded up to 4
	for range 10 {
		Point(bus, Span{}, Log{})
	}
	old, now := bus.Subscribe(FromOldest), bus.Subscribe(FromNow)
	if old.Behind() != 4 || now.Behind() != 0 {
		t.Errorf("behind %d and %d, want 4 and 0", old.Behind(), now.Behind())
	}
	recs, lost := drain(old, 100)
	if len(recs) != 4 || recs[0].Seq != 7 || lost != 0 {
		t.Errorf("from the oldest: %d records, lost %d", len(recs), lost)
	}
	if recs, lost = drain(now, 100); len(recs) != 0 || lost != 0 {
		t.Errorf("from now: %d records, lost %d", len(recs), lost)
	}
	for range 6 {
		Point(bus, Span{}, Log{})
	}
	if recs, lost = drain(old, 100); len(recs) != 4 || lost != 2 || recs[0].Seq != 13 {
		t.Errorf("after falling behind: %d records, lost %d", len(recs), lost)
	}
}

// TestLossIsExact has several publishers and readers of different speeds: the records that a reader received and those
// that it lost add up to the published ones, in order.
func TestLossIsExact(t *testing.T) {
	const publishers, each = 4, 5000
	bus := NewBus(64)
	var done atomic.Bool
	var readers, writers sync.WaitGroup
	for size := 1; size <= 300; size *= 7 {
		cur := bus.Subscribe(FromNow)
		readers.Go(func() {
			var got, lost, last uint64
			buf := make([]Record, 0, size)
			for {
				over := done.Load()
				recs, l := cur.Poll(buf)
				lost += l
				var skipped uint64
				for _, r := range recs {
					if r.Seq <= last {
						t.Errorf("seq %d after %d", r.Seq, last)
					}
					skipped += r.Seq - last - 1
					last = r.Seq
				}
				if skipped != l {
					t.Errorf("%d records are missing, %d were told lost", skipped, l)
				}
				got += uint64(len(recs))
				if over && len(recs) == 0 {
					break
				}
			}
			if got+lost != 2*publishers*each {
				t.Errorf("buffer of %d: %d read + %d lost, want %d", size, got, lost, 2*publishers*each)
			}
		})
	}
	for range publishers {
		writers.Go(func() {
			for range each {
				End(bus, Begin(bus, Span{}, Wait{For: WaitQueue}), Wait{For: WaitQueue})
			}
		})
	}
	writers.Wait()
	done.Store(true)
	readers.Wait()
	if bus.Seq() != publishers*each*2 {
		t.Errorf("seq %d", bus.Seq())
	}
}

func TestNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := NewBus(8)
		cur := bus.Subscribe(FromNow)
		defer cur.Close()
		got := make(chan int)
		go func() {
			recs, _, err := cur.Next(t.Context(), nil)
			if err != nil {
				t.Error(err)
			}
			got <- len(recs)
		}()
		synctest.Wait()
		select {
		case <-got:
			t.Fatal("Next returned without a record")
		default:
		}
		Point(bus, Span{}, Log{})
		if n := <-got; n != 1 {
			t.Errorf("%d records", n)
		}
	})
}

func TestNextEnds(t *testing.T) {
	for _, bus := range []*Bus{NewBus(8), nil} {
		t.Run(fmt.Sprint("nil bus: ", bus == nil), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cur := bus.Subscribe(FromOldest)
				ctx, cancel := context.WithCancel(t.Context())
				errs := make(chan error)
				go func() {
					_, _, err := cur.Next(ctx, nil)
					errs <- err
				}()
				synctest.Wait()
				cancel()
				if err := <-errs; !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled Next: %v", err)
				}
				cur.Close()
				cur.Close()
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		bus := NewBus(8)
		cur := bus.Subscribe(FromNow)
		errs := make(chan error)
		go func() {
			_, _, err := cur.Next(t.Context(), nil)
			errs <- err
		}()
		synctest.Wait()
		cur.Close()
		if err := <-errs; !errors.Is(err, ErrClosed) {
			t.Errorf("Next of a closed cursor: %v", err)
		}
		Point(bus, Span{}, Log{})
		if len(bus.cursors) != 0 {
			t.Errorf("%d cursors after close", len(bus.cursors))
		}
	})
}

// TestNextGivesWhatIsThere: records published before Close are still delivered, and
// a stale wake-up does not make Next return nothing.
func TestNextGivesWhatIsThere(t *testing.T) {
	bus := NewBus(8)
	cur := bus.Subscribe(FromNow)
	cur.Poll(make([]Record, 0, 1)) // arms the wake-up
	Point(bus, Span{}, Log{})
	cur.Poll(make([]Record, 0, 1)) // reads the records of this wake-up
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if recs, _, err := cur.Next(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%d records, %v", len(recs), err)
	}
	Point(bus, Span{}, Log{})
	cur.Close()
	if recs, _, err := cur.Next(t.Context(), nil); err != nil || len(recs) != 1 {
		t.Errorf("after close: %d records, %v", len(recs), err)
	}
}

func TestNilBus(t *testing.T) {
	var bus *Bus
	parent := Span{Trace: TraceID{1, 2}, ID: 3, Pod: Pod{Name: "x"}}
	sp := Begin(bus, parent, Wait{})
	End(bus, sp, Wait{})
	if p := Point(bus, parent, Log{}); sp != parent || p != parent {
		t.Errorf("spans of a nil bus: %+v, %+v", sp, p)
	}
	cur := bus.Subscribe(FromOldest)
	if recs, lost := cur.Poll(make([]Record, 0, 1)); len(recs) != 0 || lost != 0 || cur.Behind() != 0 || bus.Seq() != 0 {
		t.Error("a nil bus has records")
	}
	cur.Close()
}

func TestPublishAllocatesNothing(t *testing.T) {
	bus := NewBus(64)
	bus.Subscribe(FromOldest) // never reads
	parent := Span{Trace: TraceID{1, 2}, ID: 3}
	publish := func() {
		Point(bus, parent, Wait{For: WaitQueue, Target: Target{Kind: TargetRuntimeSlots}})
		Point(bus, parent, CgroupOp{Op: "ensure"})
	}
	for range 200 {
		publish()
	}
	if n := testing.AllocsPerRun(200, publish); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestSpans(t *testing.T) {
	s := Span{Trace: TraceID{Hi: 0x0af7651916cd43dd, Lo: 0x8448eb211c80319c}, ID: 0xb7ad6b7169203331}
	if got, want := s.Traceparent(), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"; got != want {
		t.Errorf("traceparent %q, want %q", got, want)
	}
	for _, none := range []Span{{}, {ID: 1}, {Trace: TraceID{Lo: 1}}} {
		if got := none.Traceparent(); got != "" {
			t.Errorf("traceparent of %+v: %q", none, got)
		}
	}
	if FromContext(context.Background()) != (Span{}) || FromContext(ContextWith(context.Background(), s)) != s {
		t.Error("a span does not survive its context")
	}
	l := Linked(s.Trace, s.ID, Pod{Name: "x"})
	if c := Point(NewBus(1), l, Log{}); c.Trace != s.Trace || c.Parent != s.ID || c.Pod.Name != "x" {
		t.Errorf("child of a linked span: %+v", c)
	}
	for p, want := range map[Pod]string{{}: "", {Name: "x"}: "/x", {Namespace: "a", Name: "x", UID: "1"}: "a/x"} {
		if p.String() != want || p.IsZero() != (want == "") {
			t.Errorf("pod %+v is %q", p, p)
		}
	}
}

func TestIDs(t *testing.T) {
	seen := map[SpanID]bool{}
	for range 1000 {
		id, tr := NewSpanID(), NewTraceID()
		if id == 0 || tr.IsZero() || seen[id] {
			t.Fatalf("ids %v, %v", id, tr)
		}
		seen[id] = true
		for _, c := range []struct {
			text fmt.Stringer
			back interface {
				UnmarshalText([]byte) error
			}
		}{{id, new(SpanID)}, {tr, new(TraceID)}} {
			if err := c.back.UnmarshalText([]byte(c.text.String())); err != nil {
				t.Fatal(err)
			}
		}
	}
	var sp SpanID
	var tr TraceID
	for _, bad := range []string{"", "12", "zzzzzzzzzzzzzzzz", "+234567890123456", "0x34567890123456", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", "00000000000000000000000000000000g"} {
		if sp.UnmarshalText([]byte(bad)) == nil || tr.UnmarshalText([]byte(bad)) == nil {
			t.Errorf("%q is taken for an id", bad)
		}
	}
}

func TestRecordJSON(t *testing.T) {
	rec := Record{
		Seq: 7, Time: time.Date(2026, 3, 1, 12, 0, 0, 5000, time.UTC).UnixNano(), Edge: EdgeEnd, Dur: 1500,
		Trace: TraceID{1, 2}, Span: 3, Parent: 4, Pod: Pod{Namespace: "shop", Name: "cart", UID: "9f"},
		Event: &CRICall{Method: "PullImage", Image: "redis", Code: "OK", Request: BodyOf(json.RawMessage(`{"image":"redis"}`), 17)},
	}
	const want = `{"v":2,"seq":7,"time":"2026-03-01T12:00:00.000005000Z","kind":"cri.call","edge":"end","dur_ns":1500,` +
		`"trace":"00000000000000010000000000000002","span":"0000000000000003","parent":"0000000000000004",` +
		`"pod":{"namespace":"shop","name":"cart","uid":"9f"},` +
		`"event":{"method":"PullImage","image":"redis","code":"OK","request":{"image":"redis"}}}`
	got, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	small, err := json.Marshal(Record{Seq: 1, Event: &Log{Level: LevelInfo, Message: "x"}})
	if err != nil || string(small) != `{"v":2,"seq":1,"time":"1970-01-01T00:00:00.000000000Z","kind":"log","event":{"level":"info","message":"x"}}` {
		t.Errorf("%s, %v", small, err)
	}
	if _, err := json.Marshal(Record{Seq: 9}); err == nil {
		t.Error("a record without event encodes")
	}
}

func TestRecordJSONErrors(t *testing.T) {
	for in, want := range map[string]string{
		`[]`: "record: ",
		`{"seq":3,"time":"yesterday","kind":"log"}`:                                              "record 3, field time: ",
		`{"seq":3,"time":"2026-03-01T12:00:00.000000000Z","kind":"no.such"}`:                     `record 3, field kind: unknown kind "no.such"`,
		`{"seq":3,"time":"2026-03-01T12:00:00.000000000Z","kind":"log","event":{"level":1}}`:     "record 3, field event: ",
		`{"seq":3,"time":"2026-03-01T12:00:00.000000000Z","kind":"log","edge":"middle"}`:         `edge "middle": want begin, end or point`,
		`{"seq":3,"time":"2026-03-01T12:00:00.000000000Z","kind":"log","span":"12","event":{}}`:  `span id "12"`,
		`{"seq":3,"time":"2026-03-01T12:00:00.000000000Z","kind":"log","trace":"12","event":{}}`: `trace id "12"`,
	} {
		r := Record{Seq: 99}
		err := json.Unmarshal([]byte(in), &r)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
		if r.Seq != 99 {
			t.Errorf("%s: the record was changed", in)
		}
	}
}

func TestKinds(t *testing.T) {
	names := map[string]bool{}
	for i, name := range Kinds() {
		e, ok := New(name)
		if !ok || e.Kind() != Kind(i) || e.Kind().String() != name || names[name] {
			t.Errorf("kind %d %q: %v %v", i, name, e, ok)
		}
		names[name] = true
	}
	if _, ok := New("no.such"); ok || Kind(250).String() != "kind-250" || Edge(9).String() != "edge-9" {
		t.Error("unknown kinds and edges")
	}
}

// Wait takes nothing: the record that ends it is Next's.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBus(16)
		c := b.Subscribe(FromNow)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Wait(ctx) }()
		synctest.Wait()
		Point(b, Span{}, Log{Message: "one"})
		if err := <-done; err != nil {
			t.Error(err)
		}
		Point(b, Span{}, Log{Message: "two"})
		if recs, lost, err := c.Next(ctx, make([]Record, 0, 8)); len(recs) != 2 || lost != 0 || err != nil {
			t.Errorf("%d records, %d lost, %v", len(recs), lost, err)
		}
		go func() { done <- c.Wait(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		go func() { done <- c.Wait(context.Background()) }()
		synctest.Wait()
		c.Close()
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}
