package step

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/gate"
)

func TestParseBreak(t *testing.T) {
	for _, tc := range []struct{ line, text, err string }{
		{"create", "before create", ""},
		{"before  create   main", "before create main", ""},
		{"after Create* if dur>=250ms", "after Create* if dur>=250ms", ""},
		{"after if err", "after if err", ""},
		{"after if err && code!=NOT_FOUND#2", "after if err && code!=NOT_FOUND#2", ""},
		{"on error", "on error", ""},
		{"on error create if container == main #4", "on error create if container==main #4", ""},
		{`create if image ~ "redis:[0-9]+"`, `before create if image~"redis:[0-9]+"`, ""},
		{"", "", "want an action or a CRI method to stop at, such as create or PullImage"},
		{"if", "", "column 3: want a condition, for example dur>1s"},
		{"create if dur>1s", "", "column 11: dur is known only after an action: want break after ..."},
		{"after create if dur>1", "", `column 21: "1" is not a duration: want for example 2s or 500ms`},
		{"after create if dur", "", "column 20: want an operator after dur, one of > >= < <= = == !="},
		{"after create if dur is 1s", "", "column 20: want an operator after dur, one of > >= < <= = == !="},
		{"after create if dur>", "", "column 21: want a value after dur>"},
		{"after create if dur~1s", "", "column 20: dur cannot be compared with ~: want one of > >= < <= = == !="},
		{"create if container>a", "", "column 20: container cannot be compared with >: want one of = == != ~ !~"},
		{"create if container==a b", "", `column 24: no field "b" (fields: dur, err, code, container, image or attempt)`},
		{"create if container==a &&", "", "column 26: want a condition after &&"},
		{"create if attempt==x", "", `column 20: "x" is not a number: want for example 3, 1,234 or 10MiB`},
		{"create if image~(", "", "column 17: not a regular expression: missing closing ): ("},
		{"after create if code==x", "", `column 23: "x" is no gRPC code: want one such as Unavailable, NotFound, DeadlineExceeded or Unknown`},
		{`after create if dur>500ms err~"not #3" !container=log #2`, `after create if dur>500ms && err~"not #3" && !container=log #2`, ""},
		{"on error if code=notfound", "on error if code=notfound", ""},
		{"image docker.io/lab/web:1", "before image docker.io/lab/web:1", ""},
		{"create ma* if containr=main", "", `column 15: no field "containr": did you mean container? (fields: dur, err, code, container, image or attempt)`},
		{"after * if code=NotFond", "", `column 17: "NotFond" is no gRPC code: did you mean NotFound?`},
		{"after create if error", "", `column 17: no field "error": did you mean err? (fields: dur, err, code, container, image or attempt)`},
		{"creat", "", `step "creat" not found (did you mean create?)` + knownSteps},
		{"crate main", "", `step "crate main" not found (did you mean create?)` + knownSteps},
		{"after RunPodSandox", "", `step "RunPodSandox" not found (did you mean RunPodSandbox?)` + knownSteps},
		{"createe*", "", `step "createe*" not found (did you mean create?)` + knownSteps},
		{"cr?te", "", `step "cr?te" not found (did you mean create?)` + knownSteps},
		{"main", "", `step "main" not found` + knownSteps},
		{"after create dur>1s", "", `"create dur>1s": conditions go after if, for example create if container=web`},
		{"create #0", "", "column 8: want a number of hits from 1, such as #3"},
		{"create #x", "", "column 8: want a number of hits from 1, such as #3"},
	} {
		b, err := parseBreak(tc.line)
		switch {
		case tc.err != "":
			if err == nil || err.Error() != tc.err {
				t.Errorf("%q: error %v, want %s", tc.line, err, tc.err)
			}
		case tc.line == "after if err && code!=NOT_FOUND#2":
			if err == nil {
				t.Errorf("%q: no error", tc.line)
			}
		case err != nil || b.text != tc.text:
			t.Errorf("%q: %+v, %v, want %q", tc.line, b, err, tc.text)
		}
	}
}

func TestConditionsHold(t *testing.T) {
	q := question(plan, "create main", gate.After)
	q.Took, q.Attempt, q.Err = 2*time.Second, 3, status.Error(codes.NotFound, "no such image")
	for cond, want := range map[string]bool{
		"dur>1s": true, "dur>=2s": true, "dur>2s": false, "dur<2s": false, "dur<=2s": true, "dur==2s": true, "dur!=2s": false,
		"err": true, "err~such": true, "err~none": false, "code==NotFound": true, "code==5": true, "code!=not_found": false, "code~Not": true, "code==OK": false,
		"container==main": true, "container!=main": false, "image~^lab/": true, `image=="lab/web:1"`: true, "attempt>2": true, "attempt<3": false,
		"dur>1s container=main": true, "dur>1s !container=main": false, "!err": false, `err~"no such" code=notfound`: true, "image=web:1": true,
		"dur>1s && container==main": true, "dur>1s && container==log": false,
	} {
		b, err := parseBreak("after create if " + cond)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.at(q, trace.VerbCreate); got != want {
			t.Errorf("%s: %v", cond, got)
		}
	}
}

func FuzzParseBreak(f *testing.F) {
	for _, s := range []string{"create", "after x if dur>1s && err #2", "on error", `a if image=="`, "b [x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		b, err := parseBreak(line)
		if err == nil {
			b.at(question(plan, "create main", gate.After), trace.VerbCreate)
			b.at(question(plan, "create main", gate.Before), trace.VerbCreate)
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{".spec.containers[0].image", "[*]", "['a.b']", "[", "['"} {
		f.Add(s)
	}
	v := map[string]any{"a": []any{map[string]any{"b": "c"}}, "d": nil}
	f.Fuzz(func(_ *testing.T, path string) { _, _ = lookUp(v, "pod", path) })
}
