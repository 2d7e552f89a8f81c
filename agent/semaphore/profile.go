package semaphore

import "time"

// profile is a measurement at one width: the durations of each kind of work, and how much was in progress.
type profile struct {
	kinds map[string]total
	n     int
	busy  float64 // sum of the samples'
}

type total struct {
	n    int
	took time.Duration
}

func (t total) mean() time.Duration {
	if t.n == 0 {
		return 0
	}
	return t.took / time.Duration(t.n)
}

// outlier is the factor of a kind's mean to which longer durations are reduced: one disk stall must not decide.
const outlier = 3

// add adds a sample; an outlier is one in comparison with base, or with the samples so far.
func (p *profile) add(s sample, base *profile) {
	if p.kinds == nil {
		p.kinds = map[string]total{}
	}
	t, known := p.kinds[s.kind]
	if !known && len(p.kinds) >= maxKinds {
		return
	}
	usual := base.kinds[s.kind]
	if usual.n < few {
		usual = t
	}
	if usual.n >= few {
		s.took = min(s.took, outlier*usual.mean())
	}
	t.n++
	t.took += s.took
	p.kinds[s.kind] = t
	p.n++
	p.busy += s.busy
}

// merge adds a newer measurement at the same width. Older ones lose half of their weight.
func (p *profile) merge(now profile) {
	sum := profile{kinds: map[string]total{}, n: p.n/2 + now.n, busy: p.busy/2 + now.busy}
	for kind, t := range p.kinds {
		if half := t.n / 2; half > 0 {
			sum.kinds[kind] = total{half, t.mean() * time.Duration(half)}
		}
	}
	for kind, t := range now.kinds {
		old := sum.kinds[kind]
		if old.n > 0 || len(sum.kinds) < maxKinds {
			sum.kinds[kind] = total{old.n + t.n, old.took + t.took}
		}
	}
	*p = sum
}

// ratio compares two measurements: the durations of the same kinds, and the throughput, as now divided by base.
type ratio struct{ slower, gain float64 }

// compare returns false if most of the work is of kinds that base does not have.
func compare(base, now profile) (ratio, bool) {
	var took, expected time.Duration
	n := 0
	for kind, t := range now.kinds {
		if b := base.kinds[kind]; b.n >= few/2 && b.took > 0 {
			n += t.n
			took += t.took
			expected += b.mean() * time.Duration(t.n)
		}
	}
	if 2*n < now.n || took <= 0 || expected <= 0 || base.busy <= 0 || now.busy <= 0 {
		return ratio{}, false
	}
	slower := float64(took) / float64(expected)
	busy := (now.busy / float64(now.n)) / (base.busy / float64(base.n))
	return ratio{slower: slower, gain: busy / slower}, true
}
