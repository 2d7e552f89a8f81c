package pressure

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Shortage compares measurements with the thresholds of hard eviction. A shortage lasts for the transition period after it was last
// measured, so that the node's conditions do not flap.
//
// Upstream: pkg/kubelet/eviction/eviction_manager.go, synchronize; helpers.go, nodeConditionsObservedSince.
type Shortage struct {
	hard       map[string]string
	transition time.Duration
	changed    func()
	bus        *trace.Bus

	mu   sync.Mutex
	seen map[trace.Signal]time.Time // when a signal last reached its threshold
	last map[trace.Signal]bool
}

// NewShortage takes evictionHard, for example memory.available: 100Mi, and evictionPressureTransitionPeriod. changed is called when
// a verdict changes, and must not block; it may be nil.
func NewShortage(hard map[string]string, transition time.Duration, changed func(), bus *trace.Bus) *Shortage {
	return &Shortage{hard: hard, transition: transition, changed: changed, bus: bus, seen: map[trace.Signal]time.Time{}, last: map[trace.Signal]bool{}}
}

// Observe takes a measurement of memory, nodefs or imagefs.
func (s *Shortage) Observe(signal trace.Signal, u Usage, now time.Time) {
	marks := s.Thresholds(signal)
	if len(marks) == 0 {
		return
	}
	most, ok := marks[0].Used(u.Capacity)
	if !ok {
		return
	}
	least := u.Capacity - most
	s.mu.Lock()
	free := u.Capacity - u.Used
	if free < least {
		s.seen[signal] = now
	}
	short := s.short(signal, now)
	news := short != s.last[signal]
	s.last[signal] = short
	s.mu.Unlock()
	if !news {
		return
	}
	d := trace.Decision{
		By: trace.ByPressure, Subject: string(signal), Verdict: trace.VerdictEnough, Reason: fmt.Sprintf("more than %s has been available for %s", s.hard[string(signal)+".available"], s.transition),
		Limit:  least,
		Inputs: []trace.KV{{K: "available", V: fmt.Sprint(free)}},
	}
	if short {
		d.Verdict, d.Reason = trace.VerdictShort, "less than "+s.hard[string(signal)+".available"]+" is available"
	}
	trace.Point(s.bus, trace.Span{}, d)
	if s.changed != nil {
		s.changed()
	}
}

// Thresholds returns the threshold of a signal, a quantity or a percentage of the capacity; none if it has none.
// Invalid thresholds are ignored; the configuration was validated.
func (s *Shortage) Thresholds(signal trace.Signal) []trace.Threshold {
	text, t := s.hard[string(signal)+".available"], trace.Threshold{Kind: trace.ThresholdPressure}
	if number, percent := strings.CutSuffix(text, "%"); percent {
		if _, err := fmt.Sscanf(number, "%g", &t.Percent); err != nil {
			return nil
		}
		return []trace.Threshold{t}
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return nil
	}
	t.Bytes = q.Value()
	return []trace.Threshold{t}
}

// Short reports whether one of the signals is below its threshold.
func (s *Shortage) Short(signals ...trace.Signal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range signals {
		if s.short(name, time.Now()) {
			return true
		}
	}
	return false
}

// short reports it for one signal. Called with mu.
func (s *Shortage) short(signal trace.Signal, now time.Time) bool {
	seen, ever := s.seen[signal]
	return ever && now.Sub(seen) <= s.transition
}
