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
		{"slow-pull", "start>2s KL02", true, "start 5.04s, KL02 slow network in a pull"},
		{"slow-pull", "start>2s && !KL02", false, "start 5.04s, KL02 slow network in a pull"},
		{"slow-pull", "!start>2s", false, "start 5.04s"},
		{"slow-pull", "!ready", false, "ready"},
		{"slow-pull", "ns=shop pod=web stage=up cause~network", true, "ns shop, pod shop/web, stage up, cause KL02 slow network in a pull"},
		{"slow-pull", "ns=jobs start>2s", false, "ns shop, start 5.04s"},
		{"pulling", "!start>10s", false, "start 4.00s so far"}, // it may still take that long
		{"pulling", "!start<2s", true, "start 4.00s so far"},
		{"pulling", "!ready", true, "not ready"},
		{"found-running", "!start>0s", false, "start not known"},
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
		"":                 "want a comparison such as start>2s, the id of a cause such as KL05, or any",
		"start":            "column 6: want an operator after start, one of > >= < <=",
		"start>":           "column 7: want a value after start>",
		"start=2s":         "column 6: start cannot be compared with =: want one of > >= < <=",
		"start>2":          `column 7: "2" is not a duration: want for example 2s or 500ms`,
		"start>-2s":        `"-2s" is not a duration`,
		"start>2%":         `"2%" is not a duration`,
		"unexplained>x":    `"x" is not a duration or a percentage: want for example 500ms or 2%`,
		"unexplained>101%": "101% is not a percentage from 0% to 100%",
		"unexplained>NaN%": "NaN% is not a percentage",
		"stop>2s":          `column 1: no field "stop" (fields: start, ready, floor, unexplained, wait, wait.KIND (kinds are queue, backoff,`,
		"strat>2s":         `no field "strat": did you mean start?`,
		"wait.foo>2s":      `no field "wait.foo": did you mean wait.pod? (fields: start,`,
		"wait.qeue>2s":     `no field "wait.qeue": did you mean wait.queue?`,
		"KL99":             `no field "KL99": did you mean KL09?`,
		"start>2s KL9":     `column 10: no field "KL9": did you mean KL09?`,
		"slow":             `no field "slow"`,
		"stage=stating":    `"stating" is not one of its values: did you mean starting?`,
		"~slow":            "there is no text to search here",
	} {
		_, err := why.ParseFailOn(in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseFailOn(%q): %v, want ...%s", in, err, want)
		}
	}
}

func TestWhere(t *testing.T) {
	for condition, holds := range map[string]bool{
		"web":                   true,
		"!web":                  false,
		"MiB|GiB":               true,
		"start>2s ns=shop":      true,
		"start>2s ns=jobs":      false,
		`"web started" KL02`:    true,
		"/network of the node/": false,
	} {
		c, err := why.ParseWhere(condition)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Holds(report(t, "slow-pull")); got != holds {
			t.Errorf("%s: %v, want %v", condition, got, holds)
		}
	}
}

func TestWhereRefusesCausesThatThereAreNot(t *testing.T) {
	for _, s := range []string{"KL99", "start>2s !kl2", "kl-05"} {
		if _, err := why.ParseWhere(s); err == nil || !strings.Contains(err.Error(), "ids are KL01 to KL45") {
			t.Errorf("ParseWhere(%q): %v", s, err)
		}
	}
	if _, err := why.ParseWhere(`"KL99" KL02 kl`); err != nil {
		t.Error(err)
	}
}

func FuzzParseFailOn(f *testing.F) {
	for _, s := range []string{"start>2s", "unexplained>2%", "wait.queue<=1ms", "KL05", "any", "KL", "a>>b", "ns=shop !ready", "start>2s && KL02"} {
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
