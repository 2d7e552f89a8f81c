// Package interval compares what was measured in pairs. It is pure.
package interval

import (
	"fmt"
	"math"
	"slices"
)

// Interval is how many times as long something took, and where that lies with 95 % confidence.
type Interval struct{ Ratio, Low, High float64 }

// normal95 is the quantile of the normal distribution that leaves 2.5 % above it.
const normal95 = 1.959964

// Of compares base[i] with[i], measured one right after the other and in random order, by the Hodges-Lehmann
// estimate: the median of the means of all two logarithms of ratios. Its interval is that of Wilcoxon's signed-rank
// test, which supposes that noise is alike on both sides, and nothing else of it: neither drift nor stray samples
// matter. Fewer than six pairs have no interval; it is infinite then. Samples are positive.
func Of(base, with []float64) Interval {
	n := min(len(base), len(with))
	if n == 0 {
		return Interval{math.NaN(), 0, math.Inf(1)}
	}
	logs := make([]float64, n)
	for i := range logs {
		logs[i] = math.Log(with[i] / base[i])
	}
	means := make([]float64, 0, n*(n+1)/2)
	for i := range logs {
		for j := range i + 1 {
			means = append(means, (logs[i]+logs[j])/2)
		}
	}
	slices.Sort(means)
	m := len(means)
	out := Interval{math.Exp((means[(m-1)/2] + means[m/2]) / 2), 0, math.Inf(1)}
	rank := int(float64(m)/2 - normal95*math.Sqrt(float64(n)*float64(n+1)*float64(2*n+1)/24))
	if n >= 6 {
		out.Low, out.High = math.Exp(means[rank-1]), math.Exp(means[m-rank])
	}
	return out
}

// Verdict says whether the whole interval is within reach.
func (i Interval) Verdict(reach float64) string {
	switch {
	case i.High <= reach:
		return "shown"
	case i.Low > reach:
		return "missed"
	default:
		return "not resolved"
	}
}

// String implements fmt.Stringer.
func (i Interval) String() string {
	return fmt.Sprintf("ratio %.3f (%.3f … %.3f)", i.Ratio, i.Low, i.High)
}
