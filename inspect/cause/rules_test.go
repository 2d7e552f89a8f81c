package cause_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// script is a case that a rule is asked about.
type script struct {
	name  string
	write func(*casetest.Script)
	found bool          // the pod was found running
	now   time.Duration // 0: at the last record
	// want is how the sentence begins; "" where the rule has to be silent.
	want       string
	cost       time.Duration
	current    bool
	confidence cause.Confidence // certain unless stated
}

// run asks a rule about each script.
func run(t *testing.T, id string, scripts []script) {
	t.Helper()
	for _, sc := range scripts {
		t.Run(sc.name, func(t *testing.T) {
			s := casetest.New(t)
			if sc.found {
				s = casetest.Found(t)
			}
			sc.write(s)
			c := s.Case(sc.now)
			f := casetest.One(t, c, id)
			inNoise(t, c)
			switch {
			case f == nil && sc.want == "":
				return
			case f == nil:
				t.Fatalf("%s is silent, want %q", id, sc.want)
			case sc.want == "":
				t.Fatalf("%s speaks and should be silent: %s", id, f.Sentence)
			}
			check(t, sc, f)
		})
	}
}

// inNoise finds the same causes where all texts, those of the records and those that are rendered, are noise.
func inNoise(t *testing.T, c *cause.Case) {
	t.Helper()
	noisy := cause.Case{Pod: c.Pod, Waterfall: c.Waterfall, Now: c.Now, Incomplete: c.Incomplete}
	for _, r := range c.Records {
		noisy.Records = append(noisy.Records, tracetest.Noise(r))
	}
	for _, r := range c.Node {
		noisy.Node = append(noisy.Node, new(tracetest.Noise(*r)))
	}
	noise.On(true)
	found := cause.Find(&noisy)
	noise.On(false)
	for i := range found {
		for _, e := range found[i].Evidence {
			if e.Text != noise.Word {
				t.Errorf("evidence of %s with noise: %s", found[i].ID, e.Text)
			}
		}
		if found[i].Sentence != noise.Word || found[i].Remedy != noise.Word || found[i].RuledOutBy != noise.Word {
			t.Errorf("with noise: %+v", found[i])
		}
	}
	if diff := gocmp.Diff(factsOf(cause.Find(c)), factsOf(found)); diff != "" {
		t.Errorf("a cause depends on texts (-as it was +with noise):\n%s", diff)
	}
}

// factsOf are findings without their texts.
func factsOf(found []cause.Finding) (out []string) {
	for _, f := range found {
		s := fmt.Sprint(f.ID, f.Confidence, f.Cost, f.End, f.Current)
		for _, e := range f.Evidence {
			s += fmt.Sprint(" #", e.Seq)
		}
		out = append(out, s)
	}
	return out
}

func check(t *testing.T, sc script, f *cause.Finding) {
	t.Helper()
	if !strings.HasPrefix(f.Sentence, sc.want) {
		t.Errorf("sentence:\n got %s\nwant %s...", f.Sentence, sc.want)
	}
	if f.Cost != sc.cost {
		t.Errorf("cost %v, want %v", f.Cost, sc.cost)
	}
	if f.Current != sc.current {
		t.Errorf("current %v, want %v", f.Current, sc.current)
	}
	want := sc.confidence
	if want == "" {
		want = cause.Certain
	}
	if f.Confidence != want {
		t.Errorf("confidence %s, want %s", f.Confidence, want)
	}
	if len(f.Evidence) == 0 || f.Remedy == "" || f.RuledOutBy == "" {
		t.Errorf("it lacks evidence, remedy or disproof: %+v", f)
	}
	for _, e := range f.Evidence {
		if e.Seq == 0 || e.Time.IsZero() || e.Text == "" {
			t.Errorf("incomplete evidence %+v", e)
		}
	}
}

func TestRulesAreInOrderAndSayWhatTheyAre(t *testing.T) {
	var ids []string
	for _, r := range cause.Rules() {
		ids = append(ids, r.ID)
		var n int
		if _, err := fmt.Sscanf(r.ID, "KL%02d", &n); err != nil || r.Name == "" || r.About == "" || r.Find == nil {
			t.Errorf("rule %+v is incomplete", r)
		}
	}
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("ids are not in order: %v", ids)
	}
}

func TestNoRuleSpeaksOfNothing(t *testing.T) {
	for _, c := range []*cause.Case{{}, {Now: time.Now()}, casetest.Found(t).Case(0), casetest.New(t).Case(time.Minute)} {
		if f := cause.Find(c); len(f) > 0 {
			t.Errorf("%+v", f)
		}
	}
}
