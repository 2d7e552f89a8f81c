package step

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

const knownSteps = ": must be one of cgroup, dirs, volumes, claims, sandbox, image, create, start, post-start, resize, resize-pod, pre-stop, kill, " +
	"stop-sandbox, release-claims, remove, unmount, remove-sandbox, remove-cgroup, remove-dirs, or a CRI method such as PullImage"

func TestCommands(t *testing.T) {
	const none = "no action waits: it runs, or the plan is done"
	const wantPath = "want p, p plan, p changed, or a path that begins with request, pod or status, for example p pod.spec.containers[0].image"
	for _, tc := range []struct {
		name  string
		lines string // separated by ;
		out   string // of the last one, after its error
		at    string
	}{
		{"n", "n", "", "sandbox"},
		{"next", " next ", "", "sandbox"},
		{"empty", "", "", "sandbox"},
		{"blank", "\t ", "", "sandbox"},
		{"n with a count", "n 3", `n takes no argument: remove "3"`, "cgroup"},
		{"c", "c", "", ""},
		{"continue", "continue", "", ""},
		{"c with an action", "c create", `c takes no argument: remove "create"`, "cgroup"},
		{"n after the end", "c;n", none, ""},
		{"c after the end", "c;c", none, ""},
		{"p after the end", "c;p", none, ""},
		{"p plan after the end", "c;p plan", none, ""},
		{"p nonsense after the end", "c;p x", "p x: " + wantPath, ""},
		{"p", "p", "pod cgroup\n{\n  \"id\": \"cgroup\"\n}", "cgroup"},
		{"print", "print\trequest", "pod cgroup\n{\n  \"id\": \"cgroup\"\n}", "cgroup"},
		{"p plan", "p plan", "▶ cgroup\n· sandbox\n· image docker.io/lab/web:1\n· create main\n· start main", "cgroup"},
		{"p plan later", "n;p plan", "✓ cgroup                     0ms\n▶ sandbox\n· image docker.io/lab/web:1\n· create main\n· start main", "sandbox"},
		{"p changed", "p changed", "nothing changed", "cgroup"},
		{"p nonsense", "p nonsense", "p nonsense: " + wantPath, "cgroup"},
		{"unknown", "x y", "unknown command \"x\"; known are:\n" + Help, "cgroup"},
		{"another's", "N", "unknown command \"N\"; known are:\n" + Help, "cgroup"},
		{"h", "h", Help, "cgroup"},
		{"help", "help", Help, "cgroup"},
		{"?", "?", Help, "cgroup"},
		{"h with a word", "h b", `h takes no argument: remove "b"`, "cgroup"},
		{"q", "q", "", ""},
		{"quit", "quit", "", ""},
		{"q with a word", "q now", `q takes no argument: remove "now"`, "cgroup"},
		{"b lists none", "b", "no breakpoints; b WHAT sets one, such as b create", "cgroup"},
		{"b", "b create", "will stop before create", "cgroup"},
		{"b with tabs", "b\t create main ", "will stop before create main", "cgroup"},
		{"b lists", "b start;b create;b create;b", "breakpoints:\n  1  before start\n  2  before create", "cgroup"},
		{"b -X", "b start;b create;b -start", "breakpoint before start removed", "cgroup"},
		{"b -X leaves the others", "b start;b create;b - start;b", "breakpoints:\n  2  before create", "cgroup"},
		{"b -X that is none", "b create;b -crea*", `breakpoint "crea*" not found: must be one of 1 (before create)`, "cgroup"},
		{"b -", "b -", `breakpoint "" not found: no breakpoints are known`, "cgroup"},
		{"b of nothing", "b creat", `break: step "creat" not found (did you mean create?)` + knownSteps, "cgroup"},
		{"b of a title's word", "b needed", `break: step "needed" not found` + knownSteps, "cgroup"},
		{"until of nothing", "until raedy", `until: milestone "raedy" not found (did you mean ready?): must be one of started, ready, gone`, "cgroup"},
		{"until no action", "until imge", `until: step "imge" not found (did you mean image?)` + knownSteps, "cgroup"},
		{"b not a glob", "b [", `break: "[": not a glob: syntax error in pattern`, "cgroup"},
		{"b not a glob further on", "b ab[c", `break: "ab[c": not a glob: syntax error in pattern`, "cgroup"},
		{"b after the end", "c;b create", "will stop before create", ""},
		{"b -N", "b start;b create;b -2", "breakpoint before create removed", "cgroup"},
		{"clear", "b start;clear start", "breakpoint before start removed", "cgroup"},
		{"b on error", "b on error", "will stop on error", "cgroup"},
		{"b with all", "break after Create* if dur>1s && container==main #2", "will stop after Create* if dur>1s && container==main #2", "cgroup"},
		{"b with a mistake", "b create if size>1", `break: column 11: no field "size" (fields: dur, err, code, container, image or attempt)`, "cgroup"},
		{"s", "s", "", "sandbox"},
		{"s into", "s;s", "", "sandbox"},
		{"until", "until create", "", "create main"},
		{"until nothing", "until", "until: want started, ready, gone, or an action such as create", "cgroup"},
		{"until a mistake", "until [", `until: "[": not a glob: syntax error in pattern`, "cgroup"},
		{"until once", "until create;c;b", "no breakpoints; b WHAT sets one, such as b create", ""},
		{"retry of what has not failed", "retry", "retry: cgroup has not failed; only what failed can be done again", "cgroup"},
		{"retry of nothing", "c;retry", none, ""},
		{"fail", "fail unavailable", "", "cgroup"},
		{"fail of nothing", "c;fail 5", none, ""},
		{"fail without a code", "fail", "fail: want a gRPC code, for example fail Unavailable", "cgroup"},
		{"fail with OK", "fail OK", "fail: OK is no failure", "cgroup"},
		{"fail with nonsense", "fail x", `fail: "x" is no gRPC code: want one such as Unavailable, NotFound, DeadlineExceeded or Unknown`, "cgroup"},
		{"delay without a time", "delay", `delay "": want a time up to 1h0m0s, for example delay 2s`, "cgroup"},
		{"delay for ever", "delay 1000h", `delay "1000h": want a time up to 1h0m0s, for example delay 2s`, "cgroup"},
		{"delay of nothing", "c;delay 1s", none, ""},
		{"a path", "p pod.spec.containers[1].image", "lab/log:2", "cgroup"},
		{"all of a path", "p pod.spec.containers[*].name", "main\nlog", "cgroup"},
		{"a path of what some have", "p pod.spec.containers[*].tty", "true", "cgroup"},
		{"a path in quotes", "p {.pod.metadata.annotations['a.b/c']}", "d", "cgroup"},
		{"a path of the status", "p status.podIPs", "[\n  \"10.0.0.1\"\n]", "cgroup"},
		{"a path of the request", "p request.id", "cgroup", "cgroup"},
		{"a path too far", "p pod.spec.x", "pod.spec has no x; it has containers", "cgroup"},
		{"an index too far", "p pod.spec.containers[2]", "pod.spec.containers is a list of 2: want [0] to [1] or [*]", "cgroup"},
		{"a path below a value", "p pod.metadata.name.x", "pod.metadata.name is web, with nothing below it", "cgroup"},
		{"an open bracket", "p pod.spec.containers[1", "column 20: the bracket is not closed", "cgroup"},
		{"where", "n;where", "pod       default/web u1\nat        before  sandbox   2 of 5\nbecause   the pod has none\nplan      creation: no sandbox\nno breakpoints; b WHAT sets one, such as b create", "sandbox"},
		{"where nothing waits", "c;w", "pod       default/web u1\nat        nothing waits\nno breakpoints; b WHAT sets one, such as b create", ""},
		{"shell", "! ls", "shell: only in a session on the agent's own terminal", "cgroup"},
		{"transcript", "transcript x", "transcript: only in a session on the agent's own terminal", "cgroup"},
		{"inspect nothing", "i", "nothing of the pod is on the node", "cgroup"},
		{"diff", "diff", "nothing changed", "cgroup"},
		{"diff of nonsense", "diff x", "diff x: want diff (since the last stop) or diff start (since the first)", "cgroup"},
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
		{"*web:1", "image docker.io/lab/web:1"}, // an ID may have slashes
		{"RunPodSandbox", "sandbox"},            // CRI methods
		{"*Sandbox", "sandbox"},
		{"PullImage", "image docker.io/lab/web:1"}, // in an action
		{"ImageStatus", "image docker.io/lab/web:1"},
		{"CreateContainer", "create main"},
		{"Start*", "start main"},
		{"cgroup", ""}, // where it already is
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
		f.do("n") // stops before the next action, with or without breakpoint
		f.at("start main")
		f.do("c")
		f.at("")
		f.run(plan) // still running
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
