package why_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
)

func report(t *testing.T, name string) *why.Report {
	t.Helper()
	sit := situations[name]
	s := casetest.New(t)
	if sit.found {
		s = casetest.Found(t)
	}
	sit.write(s)
	return why.Explain(s.Case(sit.now))
}

func TestFailOn(t *testing.T) {
	for _, c := range []struct {
		of, condition string
		holds         bool
		told          string
	}{
		{"slow-pull", "start>2s", true, "start 5.04s"},
		{"slow-pull", "start > 5040ms", false, "start 5.04s"},
		{"slow-pull", "start>=5040ms", true, "start 5.04s"},
		{"slow-pull", "ready<=5040ms", true, "ready 5.04s"},
		{"slow-pull", "ready<5s", false, "ready 5.04s"},
		{"slow-pull", "floor>100ms", true, "floor 158ms"},
		{"slow-pull", "KL02", true, "KL02 slow network in a pull"},
		{"slow-pull", "kl05", false, "no such cause"},
		{"slow-pull", "any", true, "KL02 slow network in a pull"},
		{"slow-pull", "wait>0s", false, "wait 0ms"},
		{"slow-pull", "unexplained>2%", false, "unexplained <0.1%"},
		{"slow-pull", "unexplained>500us", true, "unexplained 1ms"},
		{"quick", "any", false, "no such cause"},
		{"quick", "start>2s", false, "start 160ms"},
		{"queue-and-probe", "wait.queue>1s", true, "wait.queue 1.30s"},
		{"queue-and-probe", "wait.probe>=1s", false, "wait.probe 995ms"},
		{"queue-and-probe", "wait>2s", true, "wait 2.29s"},
		{"queue-and-probe", "wait.gate>0s", false, "wait.gate 0ms"},
		{"pulling", "start>2s", true, "start 4.00s so far"},
		{"pulling", "start<10s", false, "start 4.00s so far"},
		{"pulling", "ready>3s", true, "ready 4.00s so far"},
		{"found-running", "start>0s", false, "start not known"},
		{"found-running", "unexplained>=0%", false, "unexplained 0%"},
		{"crash-loop", "KL27", true, "KL27 container crash back-off"},
	} {
		t.Run(c.of+" "+c.condition, func(t *testing.T) {
			cond, err := why.ParseFailOn(c.condition)
			if err != nil {
				t.Fatal(err)
			}
			r := report(t, c.of)
			if got := cond.Holds(r); got != c.holds {
				t.Errorf("holds %v, want %v", got, c.holds)
			}
			if got := cond.Told(r); got != c.told {
				t.Errorf("told %q, want %q", got, c.told)
			}
			if cond.String() != c.condition {
				t.Errorf("it is called %q", cond)
			}
		})
	}
}

func TestFailOnErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":                 "want a comparison as start>2s, the id of a cause as KL05, or any",
		"start":            "want a comparison as start>2s",
		"start>":           "want a comparison as start>2s",
		"start=2s":         "operator =: durations are compared by >, >=, < or <=",
		"start>2":          "2 is no duration; want one as 2s or 500ms",
		"start>-2s":        "-2s is no duration",
		"start>2%":         "start is compared with a duration, as 500ms; only unexplained with a percentage",
		"unexplained>x":    "x is no duration",
		"unexplained>101%": "101% is no percentage from 0% to 100%",
		"unexplained>NaN%": "NaN% is no percentage",
		"stop>2s":          "nothing is called stop; want start, ready, floor, unexplained, wait or wait.KIND",
		"wait.foo>2s":      "foo is no kind of wait; kinds are queue, poll, backoff,",
		"KL99":             "no such cause; ids are KL01 to KL29",
	} {
		_, err := why.ParseFailOn(in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseFailOn(%q): %v, want ...%s", in, err, want)
		}
	}
}

func FuzzParseFailOn(f *testing.F) {
	for _, s := range []string{"start>2s", "unexplained>2%", "wait.queue<=1ms", "KL05", "any", "KL", "a>>b"} {
		f.Add(s)
	}
	r := &why.Report{Start: time.Second, Waits: []why.Wait{{For: trace.WaitQueue}}, Path: []why.Segment{{}}}
	f.Fuzz(func(_ *testing.T, s string) {
		if c, err := why.ParseFailOn(s); err == nil {
			c.Holds(r)
			c.Told(r)
		}
	})
}
