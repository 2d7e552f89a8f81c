package eviction

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/agent/allocatable"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Amount is a quantity in the signal's unit, or a share of the capacity.
type Amount struct {
	Quantity resource.Quantity // as configured: messages have it in its own format
	Percent  float64           // 0 means Quantity
}

// none reports whether the amount is 0.
func (a *Amount) none() bool { return a.Percent == 0 && a.Quantity.IsZero() }

// of returns the amount for a capacity. A share has the precision that upstream's has.
//
// Upstream: pkg/kubelet/eviction/api/types.go, GetThresholdQuantity.
func (a *Amount) of(capacity int64) int64 {
	if a.Percent > 0 {
		return int64(float64(capacity) * float64(float32(a.Percent)/100))
	}
	return a.Quantity.Value()
}

// text returns the amount for a capacity as upstream's messages have it: a quantity as it is configured, and a share with binary units even
// of inodes.
func (a *Amount) text(capacity int64) string {
	if a.Percent > 0 {
		return resource.NewQuantity(a.of(capacity), resource.BinarySI).String()
	}
	return a.Quantity.String()
}

// Threshold is one threshold of a signal.
type Threshold struct {
	Signal trace.Signal
	Free   Amount
	// Grace is how long there must be less before pods are evicted; 0 for a hard threshold.
	Grace time.Duration
	// Reclaim is how much more than Free there must be before the threshold counts as left again.
	Reclaim Amount
}

// trace returns the threshold as an event has it.
func (t *Threshold) trace() trace.Threshold {
	return trace.Threshold{Kind: trace.ThresholdPressure, Percent: t.Free.Percent, Bytes: t.Free.Quantity.Value(), After: t.Grace}
}

// Settings are the fields of KubeletConfiguration with thresholds, by signal.
type Settings struct {
	Hard, Soft, SoftGrace, MinimumReclaim map[string]string
	// Allocatable says that the pods' memory is limited as a whole: then it has the thresholds of memory.available, too.
	Allocatable bool
}

// Parse returns the thresholds, in the order of their signals, hard before soft. It returns an error with everything that is wrong; the
// configuration was validated before.
//
// Upstream: pkg/kubelet/eviction/helpers.go, ParseThresholdConfig.
func Parse(c Settings) ([]Threshold, error) {
	p := parser{}
	var out []Threshold
	for _, s := range signals() {
		key := name(s)
		t := Threshold{Signal: s, Reclaim: p.amount("evictionMinimumReclaim", key, c.MinimumReclaim)}
		if t.Free = p.free("evictionHard", key, c.Hard); !t.Free.none() {
			out = append(out, t)
			if s == trace.SignalMemory && c.Allocatable {
				t.Signal = trace.SignalAllocatable
				out = append(out, t)
			}
		}
		if t.Free = p.free("evictionSoft", key, c.Soft); !t.Free.none() {
			t.Signal, t.Grace = s, p.grace(key, c.SoftGrace)
			out = append(out, t)
		}
	}
	sorting.Stable(out, func(a, b *Threshold) int {
		return cmp.Compare(slices.Index(signals(), a.Signal), slices.Index(signals(), b.Signal))
	})
	return out, errors.Join(p.errs...)
}

// parser collects errors.
type parser struct{ errs []error }

// free reads the amount of a threshold. 0% and 100% turn it off.
func (p *parser) free(field, key string, in map[string]string) Amount {
	text := in[key]
	if allocatable.NoThreshold(text) {
		return Amount{}
	}
	a := p.amount(field, key, in)
	if a.Percent > 100 {
		p.errs = append(p.errs, fmt.Errorf("%s[%q]: %q must be between 0%% and 100%%", field, key, text))
		return Amount{}
	}
	return a
}

// amount reads an amount.
func (p *parser) amount(field, key string, in map[string]string) Amount {
	text, ok := in[key]
	if !ok {
		return Amount{}
	}
	if number, ok := strings.CutSuffix(text, "%"); ok {
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || v < 0 || math.IsNaN(v) {
			p.errs = append(p.errs, fmt.Errorf("%s[%q]: %q must be at least 0%%", field, key, text))
			return Amount{}
		}
		return Amount{Percent: v}
	}
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Sign() < 0 {
		p.errs = append(p.errs, fmt.Errorf("%s[%q]: %q must be a quantity such as 100Mi, or a percentage", field, key, text))
		return Amount{}
	}
	return Amount{Quantity: q}
}

func (p *parser) grace(key string, in map[string]string) time.Duration {
	d, err := time.ParseDuration(in[key])
	if err != nil || d < 0 {
		p.errs = append(p.errs, fmt.Errorf("evictionSoftGracePeriod[%q]: %q must be a duration such as 1m30s", key, in[key]))
	}
	return d
}
