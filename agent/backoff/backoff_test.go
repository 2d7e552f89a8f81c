package backoff

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const ms = time.Millisecond

func TestDoubling(t *testing.T) {
	b := Doubling(200*ms, 1500*ms)
	want := []time.Duration{200 * ms, 400 * ms, 800 * ms, 1500 * ms, 1500 * ms}
	var got, after []time.Duration
	for n := range want {
		after = append(after, After(Doubling(200*ms, 1500*ms), n))
		got = append(got, b.Step())
	}
	if diff := cmp.Diff(want, got) + cmp.Diff(want, after); diff != "" {
		t.Errorf("by Step and by After (-want +got)\n%s", diff)
	}
	if got := After(Doubling(200*ms, 1500*ms), math.MaxInt); got != 1500*ms {
		t.Errorf("after very many: got %s, want 1.5s", got)
	}
}

func TestSpread(t *testing.T) {
	for n, most := range []time.Duration{200 * ms, 400 * ms, 800 * ms, 1000 * ms, 1000 * ms} {
		seen := map[time.Duration]bool{}
		for range 100 {
			d := After(Spread(200*ms, 1000*ms), n)
			if seen[d] = true; d < most/2 || d > most {
				t.Errorf("after %d: got %s, want %s to %s", n, d, most/2, most)
			}
		}
		if len(seen) < 2 {
			t.Errorf("after %d: all are alike", n)
		}
	}
}

func TestJittered(t *testing.T) {
	for n, least := range []time.Duration{200 * ms, 400 * ms, 500 * ms} {
		for range 100 {
			if d := After(Jittered(200*ms, 500*ms, 0.2), n); d < least || d > least+least/5 {
				t.Errorf("after %d: got %s, want %s and up to a fifth more", n, d, least)
			}
		}
	}
}
