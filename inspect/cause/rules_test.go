package cause_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
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
			f := casetest.One(t, s.Case(sc.now), id)
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
