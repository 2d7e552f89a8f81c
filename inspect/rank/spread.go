package rank

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// sum sets the percentiles, of pods that have started without being held.
func (r *Ranking) sum(starts []Start, keys func(*Start) []string) {
	var all []time.Duration
	phases, groups := map[string][]time.Duration{}, map[string][]time.Duration{}
	for i := range starts {
		s := &starts[i]
		if s.Stepped {
			r.Stepped++
			continue
		}
		if s.Started < 0 {
			continue
		}
		r.Started++
		for _, p := range s.Phases {
			phases[p.Name] = append(phases[p.Name], p.Dur)
		}
		d, ok := s.by(r.By)
		if !ok {
			continue
		}
		all = append(all, d)
		if keys == nil {
			continue
		}
		for _, k := range keys(s) {
			groups[k] = append(groups[k], d)
		}
	}
	r.All = spread(r.By, all)
	r.Phases = spreads(phases, func(a, b *Spread) int { return cmp.Compare(b.Sum, a.Sum) })
	r.Groups = spreads(groups, func(a, b *Spread) int { return cmp.Compare(b.P50, a.P50) })
}

func spreads(of map[string][]time.Duration, order func(a, b *Spread) int) []Spread {
	out := []Spread{}
	for name, d := range of {
		out = append(out, spread(name, d))
	}
	sorting.Stable(out, func(a, b *Spread) int { return cmp.Or(order(a, b), cmp.Compare(a.Name, b.Name)) })
	return out
}

func spread(name string, d []time.Duration) Spread {
	s := Spread{Name: name, N: len(d)}
	if len(d) == 0 {
		return s
	}
	slices.Sort(d)
	for _, x := range d {
		s.Sum += x
	}
	s.P50, s.P90, s.P99, s.Max = percentile(d, 50), percentile(d, 90), percentile(d, 99), d[len(d)-1]
	return s
}

// percentile returns the nearest-rank percentile; sorted must not be empty.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[max((len(sorted)*p+99)/100, 1)-1]
}
