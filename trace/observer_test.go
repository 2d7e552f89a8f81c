package trace

import (
	"math"
	"testing"
	"time"
	"unsafe"
)

// TestObserved: records below a span of another observer have that observer; all others have the agent.
func TestObserved(t *testing.T) {
	bus := NewBus(8)
	told := SeenBy(Span{Trace: NewTraceID()}, ObserverKubeletLog, 1500*time.Nanosecond)
	s := Begin(bus, told, Sync{N: 1})
	Point(bus, s, Log{Message: "below"})
	End(bus, s, Sync{N: 1})
	Point(bus, Span{}, Log{Message: "own"})
	recs, _ := bus.Subscribe(FromOldest).Poll(make([]Record, 0, 8))
	for i, want := range []struct {
		Observer
		Precision
	}{{ObserverKubeletLog, 2}, {ObserverKubeletLog, 2}, {ObserverKubeletLog, 2}, {}} {
		if got := recs[i]; got.Observer != want.Observer || got.Precision != want.Precision {
			t.Errorf("record %d: got %v within %d µs, want %v within %d µs", got.Seq, got.Observer, got.Precision, want.Observer, want.Precision)
		}
	}
}

// TestRecordSize: the observer does not enlarge a record.
func TestRecordSize(t *testing.T) {
	if got, want := unsafe.Sizeof(Record{}), uintptr(128); got != want {
		t.Errorf("a record takes %d bytes, want %d", got, want)
	}
}

func TestPrecision(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want Precision
	}{{-1, 0}, {0, 0}, {1, 1}, {time.Microsecond, 1}, {time.Microsecond + 1, 2}, {time.Second, 1e6}, {math.MaxInt64, math.MaxUint32}} {
		if got := PrecisionOf(c.d); got != c.want {
			t.Errorf("PrecisionOf(%d): got %d, want %d", c.d, got, c.want)
		}
	}
}

func TestObserverText(t *testing.T) {
	for i, name := range Observers() {
		var got Observer
		if err := got.UnmarshalText([]byte(name)); err != nil || got != Observer(i) || got.String() != name || name == "" {
			t.Errorf("%q: got %v, %v, want %d", name, got, err, i)
		}
	}
}
