package views

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/tuitest"
)

// told returns a history and a model that have been told of a session.
func told(recs []trace.Record) (*History, *model.Model, time.Time) {
	m := model.New(model.Options{Recent: Recent})
	for i := range recs {
		m.Apply(&recs[i])
	}
	return NewHistory(m.Kept()), m, tuitest.Epoch.Add(tuitest.Length)
}

// slow is the start with the longest pull.
func slow(t testing.TB, m *model.Model) model.Start {
	t.Helper()
	s := m.Slowest(1)
	if len(s) != 1 || s[0].Pod.Name != "cart-7d4f-a1b" {
		t.Fatalf("slowest %+v", s)
	}
	return s[0]
}

func TestTop(t *testing.T) {
	h, m, now := told(tuitest.Session())
	s := slow(t, m)
	if f := h.Top(s.Pod, s.Started, s.Ready, now); f == nil || f.ID != "KL02" {
		t.Errorf("top finding %+v", f)
	}
	if f := h.Top(s.Pod, s.Seen.Add(-time.Second), s.Ready, now); f != nil {
		t.Errorf("of a life before the first one: %+v", f)
	}
	if f := h.Top(trace.Pod{Name: "nobody"}, now, now, now); f != nil {
		t.Errorf("of nobody: %+v", f)
	}
}

// TestTopIsBounded: lists ask for many starts in a frame, and get answers for some of them in each.
func TestTopIsBounded(t *testing.T) {
	h, m, now := told(tuitest.Session())
	ask := func() (answers int) {
		for _, s := range m.Starts() {
			h.Top(s.Pod, s.Started, s.Ready, now)
		}
		return len(h.causes.answers)
	}
	for _, want := range []int{casesAtOnce, 2 * casesAtOnce, 3 * casesAtOnce, len(m.Starts())} {
		if got := ask(); got != want {
			t.Errorf("%d answers, want %d", got, want)
		}
		if got := ask(); got != want {
			t.Errorf("%d answers in the same frame, want %d", got, want)
		}
		now = now.Add(time.Millisecond)
	}
}

// TestFindingsAreKept: they are not looked for again within a second, nor when nothing has changed since.
func TestFindingsAreKept(t *testing.T) {
	h, m, now := told(tuitest.Session())
	s := slow(t, m)
	l := h.causes.life(s.Pod, time.Time{})
	at := func(d time.Duration) time.Time {
		h.Report(s.Pod, now.Add(d))
		return h.causes.answers[l].at
	}
	if got := at(0); !got.Equal(now) {
		t.Errorf("first asked at %v", got)
	}
	if got := at(time.Hour); !got.Equal(now) {
		t.Errorf("asked again of a pod of which nothing new is known: %v", got)
	}
	m.Apply(&trace.Record{Time: now.UnixNano(), Pod: s.Pod, Event: &trace.PodStatus{Phase: trace.PodRunning}})
	if got := at(time.Second / 2); !got.Equal(now) {
		t.Errorf("asked again at once: %v", got)
	}
	if got := at(2 * time.Second); !got.Equal(now.Add(2 * time.Second)) {
		t.Errorf("not asked again after news: %v", got)
	}
	if got := at(-time.Hour); !got.Equal(now.Add(-time.Hour)) {
		t.Errorf("not asked again by a clock that went back: %v", got)
	}
	if r := h.Report(trace.Pod{Name: "nobody"}, now); r != nil {
		t.Error("a report on nobody")
	}
}

// BenchmarkAdd is what a record costs, in the model and in the history.
func BenchmarkAdd(b *testing.B) {
	recs := tuitest.Session()
	m := model.New(model.Options{Recent: Recent})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.Apply(&recs[i%len(recs)])
	}
}

// BenchmarkFindings is looking for the causes of one start among 30.
func BenchmarkFindings(b *testing.B) {
	h, m, now := told(tuitest.Session())
	l := h.causes.life(slow(b, m).Pod, time.Time{})
	for b.Loop() {
		clear(h.causes.answers)
		h.causes.of(l, now)
	}
}
