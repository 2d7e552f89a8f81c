package step

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

func TestCommands(t *testing.T) {
	const none = "no action waits: it runs, or the plan is done"
	for _, tc := range []struct {
		name  string
		lines string // ; between
		out   string // of the last, after any error
		at    string
	}{
		{"n", "n", "", "sandbox"},
		{"next", " next ", "", "sandbox"},
		{"empty", "", "", "sandbox"},
		{"blank", "\t ", "", "sandbox"},
		{"n with a count", "n 3", `n stands alone: what is "3"?`, "cgroup"},
		{"c", "c", "", ""},
		{"continue", "continue", "", ""},
		{"c with an action", "c create", `c stands alone: what is "create"?`, "cgroup"},
		{"n after the end", "c;n", none, ""},
		{"c after the end", "c;c", none, ""},
		{"p after the end", "c;p", none, ""},
		{"p plan after the end", "c;p plan", none, ""},
		{"p nonsense after the end", "c;p x", "p x: want p, p plan or p changed", ""},
		{"p", "p", "pod cgroup\n{\n  \"id\": \"cgroup\"\n}", "cgroup"},
		{"print", "print\trequest", "pod cgroup\n{\n  \"id\": \"cgroup\"\n}", "cgroup"},
		{"p plan", "p plan", "▶ cgroup\n· sandbox\n· image docker.io/lab/web:1\n· create main\n· start main", "cgroup"},
		{"p plan later", "n;p plan", "✓ cgroup                     0ms\n▶ sandbox\n· image docker.io/lab/web:1\n· create main\n· start main", "sandbox"},
		{"p changed", "p changed", "nothing changed", "cgroup"},
		{"p nonsense", "p nonsense", "p nonsense: want p, p plan or p changed", "cgroup"},
		{"unknown", "x y", "unknown command \"x\"; known are:\n" + Help, "cgroup"},
		{"another's", "N", "unknown command \"N\"; known are:\n" + Help, "cgroup"},
		{"h", "h", Help, "cgroup"},
		{"help", "help", Help, "cgroup"},
		{"?", "?", Help, "cgroup"},
		{"h with a word", "h b", `h stands alone: what is "b"?`, "cgroup"},
		{"q", "q", "", ""},
		{"quit", "quit", "", ""},
		{"q with a word", "q now", `q stands alone: what is "now"?`, "cgroup"},
		{"b lists none", "b", "no breakpoints; b WHAT sets one, as b create", "cgroup"},
		{"b", "b create", "will stop before create", "cgroup"},
		{"b with tabs", "b\t create main ", "will stop before create main", "cgroup"},
		{"b lists", "b start;b create;b create;b", "breakpoints: start, create", "cgroup"},
		{"b -X", "b start;b create;b -start", "breakpoint start removed", "cgroup"},
		{"b -X leaves the others", "b start;b create;b - start;b", "breakpoints: create", "cgroup"},
		{"b -X that is none", "b create;b -crea*", `no breakpoint "crea*"`, "cgroup"},
		{"b -", "b -", `no breakpoint ""`, "cgroup"},
		{"b not a glob", "b [", `breakpoint "[": not a glob: syntax error in pattern`, "cgroup"},
		{"b not a glob further on", "b ab[c", `breakpoint "ab[c": not a glob: syntax error in pattern`, "cgroup"},
		{"b after the end", "c;b create", "will stop before create", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := setup(t, web)
				f.run(plan)
				defer f.Close()
				var got string
				for line := range strings.SplitSeq(tc.lines, ";") {
					out, err := f.Do(t.Context(), line)
					if got = out; err != nil {
						got += err.Error()
					}
					synctest.Wait()
				}
				if diff := cmp.Diff(tc.out, got); diff != "" {
					t.Error(diff)
				}
				f.at(tc.at)
			})
		})
	}
}

func TestBreakpoints(t *testing.T) {
	for _, tc := range []struct {
		b, at string
	}{
		{"create", "create main"}, // a verb
		{"create main", "create main"},
		{"create*", "create main"},
		{"*main", "create main"},
		{"[rs]*", "sandbox"},
		{"sandbo?", "sandbox"},
		{"image", "image docker.io/lab/web:1"},
		{"image*", "image docker.io/lab/web:1"},
		{"*lab/web*", "image docker.io/lab/web:1"},
		{"*web:1", "image docker.io/lab/web:1"}, // an id may have slashes
		{"RunPodSandbox", "sandbox"},            // CRI methods
		{"*Sandbox", "sandbox"},
		{"PullImage", "image docker.io/lab/web:1"},
		{"ImageStatus", "image docker.io/lab/web:1"},
		{"CreateContainer", "create main"},
		{"Start*", "start main"},
		{"needed", ""}, // words of a title are no methods
		{"pod", ""},
		{"creat", ""},
		{"cgroup", ""}, // where it is already
	} {
		t.Run(tc.b, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := setup(t, web)
				f.run(plan)
				defer f.Close()
				f.do("b " + tc.b)
				f.do("c")
				f.at(tc.at)
			})
		})
	}
}

func TestBreakpointsWhileGoingOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := setup(t, web)
		f.run(plan)
		f.do("b start")
		f.do("b sandbox")
		f.do("c")
		f.at("sandbox")
		f.do("b -start")
		f.do("b create")
		f.do("c")
		f.at("create main")
		f.do("n") // stops before the next, breakpoint or not
		f.at("start main")
		f.do("c")
		f.at("")
		f.run(plan) // still going on
		f.at("sandbox")
		f.Close()
		synctest.Wait()
		if !f.over || f.err != nil {
			t.Errorf("over %v, error %v", f.over, f.err)
		}
	})
}

func TestNothingWaits(t *testing.T) {
	f := setup(t, web)
	for _, line := range []string{"n", "", "c", "p", "p plan", "p changed"} {
		if _, err := f.Do(t.Context(), line); !errors.Is(err, ErrNothingWaits) {
			t.Errorf("%q: %v", line, err)
		}
	}
}
