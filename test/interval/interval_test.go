package interval

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		name       string
		base, with []float64
		want       string
		verdict    string
	}{
		{"nothing", nil, nil, "ratio NaN (0.000 … +Inf)", "not resolved"},
		{"one pair", []float64{100}, []float64{101}, "ratio 1.010 (0.000 … +Inf)", "not resolved"},
		{"too few for an interval", []float64{100, 100, 100, 100, 100}, []float64{100, 100, 100, 100, 100}, "ratio 1.000 (0.000 … +Inf)", "not resolved"},
		{"the fewest: from the least to the most", []float64{100, 100, 100, 100, 100, 100}, []float64{97, 98, 99, 101, 102, 103}, "ratio 1.000 (0.970 … 1.030)", "not resolved"},
		{"the same", []float64{1, 2, 3, 4, 5, 6}, []float64{1, 2, 3, 4, 5, 6}, "ratio 1.000 (1.000 … 1.000)", "shown"},
		{"faster", []float64{2, 4, 6, 8, 10, 12}, []float64{1, 2, 3, 4, 5, 6}, "ratio 0.500 (0.500 … 0.500)", "shown"},
		{"slower, of what differs much", []float64{100, 200, 50, 1000, 70, 90}, []float64{110, 220, 55, 1100, 77, 99}, "ratio 1.100 (1.100 … 1.100)", "missed"},
		// The test's table allows 8 below for ten pairs: of 1, 1.5, 2, 2, 2.5, 2.5, 3, 3, 3, ... the ninth.
		{"ten pairs", equal(10, 1), exps(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), "ratio 1.057 (1.030 … 1.083)", "missed"},
		{"one stray sample", equal(12, 100), append(equal(11, 100), 900), "ratio 1.000 (1.000 … 1.000)", "shown"},
		{"a pair is missing", []float64{1, 1, 1, 1, 1, 1}, []float64{1, 1, 1, 1, 1, 1, 9}, "ratio 1.000 (1.000 … 1.000)", "shown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Of(c.base, c.with)
			if got.String() != c.want || got.Verdict(1.02) != c.verdict {
				t.Errorf("%s, %s; want %s, %s", got, got.Verdict(1.02), c.want, c.verdict)
			}
		})
	}
}

func equal(n int, v float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// exps are ratios of that many per cent, of logarithms.
func exps(percent ...float64) []float64 {
	for i, p := range percent {
		percent[i] = math.Exp(p / 100)
	}
	return percent
}

// noisy makes pairs as a busy machine does: each sample strays by 6 %, one of twenty takes up to twice as long, and the
// machine's speed drifts by a third.
func noisy(r *rand.Rand, pairs int, truth float64) (base, with []float64) {
	sample := func(at float64) float64 {
		v := 150 * (1 + math.Sin(at*20)/6) * math.Exp(0.06*r.NormFloat64())
		if r.IntN(20) == 0 {
			v *= 1 + r.Float64()
		}
		return v
	}
	for i := range pairs {
		at := float64(i) / float64(pairs)
		base, with = append(base, sample(at)), append(with, truth*sample(at))
	}
	return base, with
}

// In noise like the machine's, a slowdown of 5 % is found by 160 pairs whenever it is looked for, none is never taken for
// one, and the interval has the truth in it as often as it says.
func TestOfFindsWhatIsThere(t *testing.T) {
	const runs = 100
	for _, c := range []struct {
		truth         float64
		shown, missed [2]int // of all runs, the fewest and the most
	}{
		{1.00, [2]int{60, runs}, [2]int{0, 0}},
		{1.05, [2]int{0, 0}, [2]int{85, runs}},
		{1.02, [2]int{0, runs / 20}, [2]int{0, runs / 20}}, // at the reach itself, either is an error
	} {
		r := rand.New(rand.NewPCG(1, uint64(c.truth*100)))
		got, covered := map[string]int{}, 0
		for range runs {
			i := Of(noisy(r, 160, c.truth))
			got[i.Verdict(1.02)]++
			if i.Low <= c.truth && c.truth <= i.High {
				covered++
			}
		}
		t.Logf("truth %.2f: %v, %d covered", c.truth, got, covered)
		if n := got["shown"]; n < c.shown[0] || n > c.shown[1] {
			t.Errorf("truth %.2f: shown in %d of %d, want %v", c.truth, n, runs, c.shown)
		}
		if n := got["missed"]; n < c.missed[0] || n > c.missed[1] {
			t.Errorf("truth %.2f: missed in %d of %d, want %v", c.truth, n, runs, c.missed)
		}
		if covered < 89 { // 95 are expected; fewer than 89 come once in 200 times, and the seed is fixed
			t.Errorf("truth %.2f: in the interval in %d of %d", c.truth, covered, runs)
		}
	}
}
