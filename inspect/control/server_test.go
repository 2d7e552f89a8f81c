package control_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/control"
	"github.com/kubeloupe/kubeloupe/inspect/step"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestHello(t *testing.T) {
	a := start(t, nil)
	h := a.dial().Hello()
	if h.Control != control.Version || h.Version != "0.2.0" || h.Node != "lab-1" || !h.Simulated || h.PID == 0 {
		t.Errorf("%+v", h)
	}
}

func TestBacklog(t *testing.T) {
	a := start(t, nil)
	pod := trace.ForPod(trace.Span{}, trace.Pod{Namespace: "shop", Name: "web", UID: "1"})
	a.say("one")
	trace.Point(a.bus, pod, trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	trace.Point(a.bus, pod, trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1})
	c := a.dial()

	recs, lost := all(t, must[*control.Stream](t)(c.Events(t.Context(), control.EventsOptions{Backlog: true})))
	if len(recs) < 3 || lost != 0 || message(recs[0]) != "one" {
		t.Errorf("all: %d records, %d lost", len(recs), lost)
	}
	s := must[*control.Stream](t)(c.Events(t.Context(), control.EventsOptions{Backlog: true, Pod: "shop/web", Kinds: []string{"pod.status"}}))
	recs, _ = all(t, s)
	want := &trace.PodStatus{Phase: trace.PodRunning, Ready: 1, Total: 1}
	if len(recs) != 1 || cmp.Diff(want, recs[0].Event) != "" || recs[0].Pod != pod.Pod || !s.Live() {
		t.Errorf("of one pod and kind: %+v", recs)
	}
}

// TestNothingTwiceNothingMissing attaches while many records are published.
func TestNothingTwiceNothingMissing(t *testing.T) {
	t.Run("each", func(t *testing.T) { handOver(t, false) })
	t.Run("batch", func(t *testing.T) { handOver(t, true) })
}

func handOver(t *testing.T, batch bool) {
	t.Helper()
	a := start(t, nil)
	const n = 2000
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		for i := range n {
			a.say("line %d", i)
			if i%100 == 0 {
				time.Sleep(time.Millisecond) // lets readers run; nothing is measured
			}
		}
	}()
	s := must[*control.Stream](t)(a.dial().Events(t.Context(), control.EventsOptions{Backlog: true, Follow: true, Batch: batch}))
	defer s.Close()
	var seq, lost uint64
	live := false
	ctx := soon(t)
	for {
		recs, l, err := s.Next(ctx, nil)
		if err != nil {
			t.Fatalf("after record %d: %v", seq, err)
		}
		for i := range recs {
			if live && recs[i].Seq != seq+1 && (i > 0 || recs[i].Seq != seq+1+l) {
				t.Fatalf("record %d follows %d, %d told as lost", recs[i].Seq, seq, l)
			}
			if recs[i].Seq <= seq {
				t.Fatalf("record %d comes after %d", recs[i].Seq, seq)
			}
			seq = recs[i].Seq
			if message(recs[i]) == "line 1999" {
				await(t, stop, "the end of who publishes")
				return
			}
		}
		lost += l
		live = live || s.Live()
	}
}

// TestStuckClient: a client that stops reading gets the exact number of lost records when it continues. Others are not
// affected.
func TestStuckClient(t *testing.T) {
	a := start(t, nil)
	c := a.dial()
	stuck := must[*control.Stream](t)(c.Events(t.Context(), control.EventsOptions{Follow: true}))
	defer stuck.Close()
	reader := must[*control.Stream](t)(c.Events(t.Context(), control.EventsOptions{Follow: true}))
	defer reader.Close()
	subscribed(t, a, 2)
	first := a.bus.Seq()
	filler := strings.Repeat("x", 1000)
	const rounds, per = 100, 100
	for range rounds { // 10 MB: more than a socket holds
		for range per {
			a.say("%s", filler)
		}
		count(t, reader, a.bus.Seq())
	}
	a.say("end")
	got, lost, end := uint64(0), uint64(0), uint64(0)
	ctx := soon(t)
	for end == 0 {
		recs, l, err := stuck.Next(ctx, nil)
		if err != nil {
			t.Fatalf("the end does not come after %d records and %d that were lost: %v", got, lost, err)
		}
		lost += l
		for _, r := range recs {
			got++
			if message(r) == "end" {
				end = r.Seq
				break
			}
		}
	}
	// It may include log records from before first, about attached clients.
	if all := end - first; lost == 0 || got+lost < all || got+lost > all+2 {
		t.Errorf("%d records came and %d were lost of %d", got, lost, all)
	}
}

// subscribed waits until n clients follow: each of them has a log record.
func subscribed(t *testing.T, a *agent, n int) {
	t.Helper()
	ctx := soon(t)
	cursor := a.bus.Subscribe(trace.FromOldest)
	defer cursor.Close()
	for n > 0 {
		recs, _, err := cursor.Next(ctx, nil)
		if err != nil {
			t.Fatalf("%d more do not follow: %v", n, err)
		}
		for _, r := range recs {
			if e, ok := r.Event.(*trace.Log); ok && strings.HasPrefix(e.Message, "a client reads events") {
				n--
			}
		}
	}
}

// count reads until a record arrives.
func count(t *testing.T, s *control.Stream, seq uint64) {
	t.Helper()
	ctx := soon(t)
	for {
		recs, lost, err := s.Next(ctx, nil)
		if err != nil || lost > 0 {
			t.Fatalf("record %d does not come, %d lost: %v", seq, lost, err)
		}
		if recs[len(recs)-1].Seq >= seq {
			return
		}
	}
}

// TestCutOff: a client that does not read for longer than the timeout loses its slot.
func TestCutOff(t *testing.T) {
	a := start(t, func(c *control.Config) { c.Timeout, c.MaxConns = time.Second, 1 })
	conn, _ := a.raw()
	io.WriteString(conn, `{"events":{"follow":true}}`+"\n")
	subscribed(t, a, 1)
	filler := strings.Repeat("x", 10000)
	for ctx := soon(t); ctx.Err() == nil; {
		for range 100 {
			a.say("%s", filler)
		}
		if _, err := control.Dial(t.Context(), a.path); err == nil {
			return
		}
	}
	t.Error("its place is not free within a minute")
}

func TestQuery(t *testing.T) {
	a := start(t, nil)
	c := a.dial()
	got, err := c.Query(t.Context(), "images", map[string]string{"pod": "shop/web"})
	if err != nil || string(got) != `[{"id":"sha256:1","pod":"shop/web"}]` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := c.Query(t.Context(), "weather", nil); err == nil || !strings.HasSuffix(err.Error(), `unknown question "weather"`) {
		t.Errorf("unknown: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := c.Query(ctx, "slow", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("slow: %v", err)
	}
}

func TestStep(t *testing.T) {
	a := start(t, nil)
	c := a.dial()
	if _, err := c.Step(t.Context(), control.StepRequest{Pod: "shop/none"}); err == nil || !strings.Contains(err.Error(), "no pod shop/none") {
		t.Errorf("no such pod: %v", err)
	}
	s := must[*control.Stepper](t)(c.Step(t.Context(), control.StepRequest{Pod: "shop/web", Deletion: true}))
	mine := a.steps.session()
	if mine.req != (control.StepRequest{Pod: "shop/web", Deletion: true}) {
		t.Errorf("asked for %+v", mine.req)
	}
	if got, err := s.Do(t.Context(), "p"); got != "did p" || err != nil {
		t.Errorf("p: %q, %v", got, err)
	}
	if _, err := s.Do(t.Context(), "shell"); !errors.Is(err, step.ErrElsewhere) || err.Error() != "shell: "+step.ErrElsewhere.Error() {
		t.Errorf("shell: %v", err)
	}
	if _, err := s.Do(t.Context(), "early"); !errors.Is(err, step.ErrNothingWaits) {
		t.Errorf("early: %v", err)
	}
	if _, err := s.Do(t.Context(), "n"); err != nil {
		t.Error(err)
	}
	stop := await(t, s.Stops(), "a stop")
	if stop.Next != "sandbox" || stop.Total != 5 || len(stop.Actions) != 1 || stop.Actions[0].State != step.Done || stop.Actions[0].Dur != time.Millisecond {
		t.Errorf("stop %+v", stop)
	}
	s.Close()
	await(t, mine.closed, "the session's end")
	select {
	case stop, ok := <-s.Stops():
		if ok {
			t.Errorf("a stop at the end: %+v", stop)
		}
	case <-time.After(time.Minute):
		t.Error("stops have no end")
	}
	if _, err := s.Do(t.Context(), "p"); !errors.Is(err, control.ErrEnded) {
		t.Errorf("after the end: %v", err)
	}
}

// TestGateOpens: the gate opens however a session ends.
func TestGateOpens(t *testing.T) {
	for name, end := range map[string]func(*agent, *control.Stepper){
		"the client goes while a command is done": func(_ *agent, s *control.Stepper) {
			go s.Do(context.Background(), "hang")
			s.Do(context.Background(), "p") // it waits for the other action, in vain
		},
		"the agent stops": func(a *agent, s *control.Stepper) {
			a.cancel()
			<-s.Done()
			if err := s.Err(); !errors.Is(err, control.ErrEnded) {
				a.t.Errorf("ended with %v", err)
			}
		},
		"all is done": func(a *agent, s *control.Stepper) {
			s.Do(context.Background(), "end") // the end may come first
			<-s.Done()
			if err := s.Err(); err != nil {
				a.t.Errorf("ended with %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := start(t, nil)
			s := must[*control.Stepper](t)(a.dial().Step(t.Context(), control.StepRequest{Pod: "shop/web"}))
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				end(a, s)
			}()
			if strings.HasPrefix(name, "the client") {
				s.Close()
			}
			await(t, ended, "what ends the session")
			await(t, a.steps.session().closed, "the session's end")
		})
	}
}

func TestServerStops(t *testing.T) {
	t.Parallel() // the one that sends nothing has all the time that there is
	a := start(t, func(c *control.Config) { c.Leave = 5 * time.Second })
	c := a.dial()
	s := must[*control.Stream](t)(c.Events(t.Context(), control.EventsOptions{Backlog: true, Follow: true}))
	a.raw() // sends nothing
	a.cancel()
	for ctx := soon(t); ; {
		_, _, err := s.Next(ctx, nil)
		if err == nil {
			continue
		}
		if !errors.Is(err, control.ErrEnded) || !strings.Contains(err.Error(), "it stops") {
			t.Errorf("the stream ends with %v", err)
		}
		break
	}
	if err := await(t, a.done, "the server's end"); err != nil {
		t.Error(err)
	}
	if _, err := control.Dial(t.Context(), a.path); !errors.Is(err, control.ErrNoAgent) {
		t.Errorf("afterwards: %v", err)
	}
}

// TestLastRecords: records from just before the server stops are still delivered.
func TestLastRecords(t *testing.T) {
	for range 20 {
		a := start(t, func(c *control.Config) { c.Leave = time.Minute }) // on a busy machine they need longer than a second
		s := must[*control.Stream](t)(a.dial().Events(t.Context(), control.EventsOptions{Follow: true, Backlog: true}))
		ctx := soon(t)
		for !s.Live() {
			a.say("hello")
			if _, _, err := s.Next(ctx, nil); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 600 {
			a.say("%d", i)
		}
		a.cancel()
		var last string
		for {
			recs, _, err := s.Next(ctx, nil)
			if err != nil {
				break
			}
			for _, r := range recs {
				if text := message(r); text != "" {
					last = text
				}
			}
		}
		if last != "599" {
			t.Fatalf("the last record is %q", last)
		}
	}
}

func TestNextCanBeCancelled(t *testing.T) {
	a := start(t, nil)
	s := must[*control.Stream](t)(a.dial().Events(t.Context(), control.EventsOptions{Follow: true, Kinds: []string{"gc"}}))
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, _, err := s.Next(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("cancelled: %v", err)
	}
	subscribed(t, a, 1)
	trace.Point(a.bus, trace.Span{}, trace.GC{What: trace.GCImages})
	if recs, _, err := s.Next(soon(t), nil); err != nil || len(recs) != 1 {
		t.Errorf("afterwards: %v, %v", recs, err)
	}
}

func TestHostileInput(t *testing.T) {
	a := start(t, nil)
	for in, want := range map[string]string{
		strings.Repeat("x", 1<<20): "line is too long",
		"{}\n":                     "must have one of the fields",
		"\x00\xff\n":               "invalid character",
		`{"step":{"pod":"a/b"}}` + "\n" + "nonsense\n":               "command: invalid character",
		`{"step":{"pod":"a/b"}}` + "\n" + strings.Repeat(" ", 1<<20): "line is too long",
	} {
		conn, br := a.raw()
		go io.WriteString(conn, in)
		got, _ := io.ReadAll(br) // a reset is also an end
		if !strings.Contains(string(got), want) {
			t.Errorf("%.40q: %s, want %s", in, got, want)
		}
	}
	a.dial()
}

func TestTooManyClients(t *testing.T) {
	a := start(t, func(c *control.Config) { c.MaxConns = 2 })
	a.raw()
	a.raw()
	if _, err := control.Dial(t.Context(), a.path); err == nil || !strings.Contains(err.Error(), "too many clients: 2 are served") {
		t.Errorf("the third: %v", err)
	}
}

func TestNotThere(t *testing.T) {
	a := start(t, func(c *control.Config) { c.Backlog, c.Node, c.Steppers = nil, nil, nil })
	c := a.dial()
	s := must[*control.Stream](t)(c.Events(t.Context(), control.EventsOptions{Backlog: true}))
	_, _, err := s.Next(soon(t), nil)
	_, err2 := c.Query(t.Context(), "config", nil)
	_, err3 := c.Step(t.Context(), control.StepRequest{Pod: "a/b"})
	for _, err := range []error{err, err2, err3} {
		if err == nil || !strings.Contains(err.Error(), "this agent ") {
			t.Error(err)
		}
	}
	if _, err := c.Events(t.Context(), control.EventsOptions{}); err == nil {
		t.Error("a wrong request was sent")
	}
}
