package trace

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestClockStepped sets the wall clock forward and back around records: times never go back, no duration includes a
// step, and the wall clock's time can be computed for each record.
func TestClockStepped(t *testing.T) {
	var wall, elapsed int64 = 1_000_000_000_000, 0
	b := NewBus(64)
	b.epoch, b.clock = wall, func() (int64, int64) { return wall, elapsed }
	pass := func(d time.Duration) { wall += int64(d); elapsed += int64(d) }
	set := func(d time.Duration) { wall += int64(d) }
	c := b.Subscribe(FromOldest)
	defer c.Close()

	type step struct{ Time, Step, Jump, Ahead time.Duration }
	var got []step
	look := func() {
		t.Helper()
		recs, _ := drain(c, 16)
		for _, r := range recs {
			if e, ok := r.Event.(*ClockStepped); ok {
				got = append(got, step{time.Duration(r.Time), e.Step, e.Jump, e.Ahead})
			} else if r.Edge == EdgeEnd && r.Dur != 5*time.Second {
				t.Errorf("a duration of %s, want 5s", r.Dur)
			}
		}
	}
	work := func(d time.Duration) {
		s := Begin(b, Span{}, Wait{})
		pass(2 * time.Second)
		set(d)
		b.Anchor()
		pass(3 * time.Second)
		End(b, s, Wait{})
		pass(5 * time.Second)
		b.Anchor() // nothing has changed
		look()
	}
	work(900 * time.Millisecond) // no step
	work(time.Hour)              // set forward, or suspended, by an hour
	work(-time.Hour)             // set back
	work(-time.Minute)           // again
	work(30 * time.Minute)       // forward, but still behind the records' times
	work(31*time.Minute + 30*time.Second)

	const s, m, h = time.Second, time.Minute, time.Hour
	base := 1000 * s
	want := []step{
		{base + 12*s + h + 900*time.Millisecond, h + 900*time.Millisecond, h + 900*time.Millisecond, 0},
		{base + 22*s + h + 900*time.Millisecond, -h, 0, h},
		{base + 32*s + h + 900*time.Millisecond, -m, 0, h + m},
		{base + 42*s + h + 900*time.Millisecond, 30 * m, 0, 31 * m},
		{base + 52*s + h + 900*time.Millisecond + 30*s, 31*m + 30*s, 30 * s, 0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var last Record
	all := b.Subscribe(FromOldest)
	defer all.Close()
	recs, _ := drain(all, 64)
	for _, r := range recs {
		if r.Time < last.Time || r.Seq != last.Seq+1 {
			t.Errorf("record %d of %d comes after %d of %d", r.Seq, r.Time, last.Seq, last.Time)
		}
		last = r
	}
	var none *Bus
	none.Anchor()
}
