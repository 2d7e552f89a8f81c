package observers

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// tables are the rows of all sets.
type tables struct{ shares, proxy, spans, worst strings.Builder }

// rows adds a set's rows to the tables, and checks them.
func (s set) rows(t *testing.T, dir string, to *tables) {
	t.Helper()
	names := namesIn(t, filepath.Dir(dir))
	truth := NewTruth(recorded(t, filepath.Join(dir, proxyFile)), names)
	ns := fmt.Sprintf("v%d/", s.level)
	recs := s.records(t, dir)
	s.share(t, ns, Shares(recs), &to.shares)

	mixed := truth.Mixed(recs)
	for _, r := range mixed[:min(len(mixed), 3)] {
		t.Errorf("%s: another pod's: %v %v %+v", s.name, r.Pod, r.Event.Kind(), r.Event)
	}
	of := func(all []Phase) []Phase {
		return slices.DeleteFunc(all, func(p Phase) bool { return !strings.HasPrefix(names[p.Pod], ns) })
	}
	seen := Phases(recs)
	edges := s.edges(of(truth.Phases), seen, names, len(mixed), &to.proxy)
	if b, e := SpreadOf(begins(edges)), SpreadOf(ends(edges)); s.edge > 0 && max(b.P50, e.P50) > s.edge {
		t.Errorf("%s: half of the phases begin more than %v off, or end more than %v off; want at most %v", s.name, b.P50, e.P50, s.edge)
	}
	if spans := filepath.Join(dir, spansFile); there(spans) {
		s.edges(of(SpanPhases(recorded(t, spans))), seen, names, len(mixed), &to.spans)
	}
	for _, e := range Worst(edges, 10) {
		fmt.Fprintf(&to.worst, "%s: %s %s %s: begin %s, end %s\n", s.name, names[e.Phase.Pod], e.Phase.Verb, e.Phase.Of, ms(e.Begin), ms(e.End))
	}
}

// share adds a row of the shares of starts that are unexplained.
func (s set) share(t *testing.T, ns string, share map[string]float64, to io.Writer) {
	t.Helper()
	fmt.Fprintf(to, "| %s |", s.name)
	var single, many []float64
	for _, name := range alone {
		v, ok := share[ns+name]
		switch {
		case ok:
			fmt.Fprintf(to, " %.1f %% |", 100*v)
		default:
			fmt.Fprint(to, " – |")
			if name != crash || !s.calls {
				t.Errorf("%s: the start of %s was not seen", s.name, name)
			}
		}
		if ok && name != crash {
			single = append(single, v)
		}
	}
	if slices.Sort(single); s.most > 0 && len(single) > 0 && single[len(single)/2] > s.most {
		t.Errorf("%s: the median of unexplained shares is %.1f %%, want at most %.0f %%", s.name, 100*single[len(single)/2], 100*s.most)
	}
	for i := range burst {
		if v, ok := share[fmt.Sprintf("%smany-%d", ns, i)]; ok {
			many = append(many, v)
		}
	}
	slices.Sort(many)
	if len(many) != burst {
		t.Errorf("%s: %d starts of %d were seen", s.name, len(many), burst)
	}
	if len(many) > 0 {
		fmt.Fprintf(to, " %.1f %% | %.1f %% |\n", 100*many[len(many)/2], 100*many[len(many)-1])
	}
}

// edges adds a row of how far begins and ends are off, and returns those of the pods that start alone.
func (s set) edges(truth, seen []Phase, names map[string]string, mixed int, to io.Writer) (single []Edge) {
	all, missing := Compare(truth, seen)
	var many []Edge
	for _, e := range all {
		if strings.Contains(names[e.Phase.Pod], "/many-") {
			many = append(many, e)
		} else {
			single = append(single, e)
		}
	}
	within := 0
	for _, off := range slices.Concat(begins(single), ends(single)) {
		if max(off, -off) <= exact {
			within++
		}
	}
	b, e, bb, be := SpreadOf(begins(single)), SpreadOf(ends(single)), SpreadOf(begins(many)), SpreadOf(ends(many))
	fmt.Fprintf(to, "| %s | %d | %d | %s | %s | %s | %s | %.0f %% | %s | %s | %d |\n", s.name, len(all), len(missing),
		ms(b.P50), ms(b.P95), ms(e.P50), ms(e.P95), 100*float64(within)/float64(max(2*len(single), 1)), ms(bb.P95), ms(be.P95), mixed)
	return single
}

func begins(edges []Edge) (out []time.Duration) {
	for _, e := range edges {
		out = append(out, e.Begin)
	}
	return out
}

func ends(edges []Edge) (out []time.Duration) {
	for _, e := range edges {
		out = append(out, e.End)
	}
	return out
}

func there(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
