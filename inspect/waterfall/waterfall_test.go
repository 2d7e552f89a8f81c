package waterfall

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var cart = trace.Pod{Namespace: "shop", Name: "cart-7d4f-a1b", UID: "9f"}

const ms = time.Millisecond

// plan returns the usual plan for one container.
func plan(container, image string) *trace.Plan {
	return &trace.Plan{Steps: []trace.PlanStep{
		{ID: "cgroup", Verb: trace.VerbCgroup},
		{ID: "dirs", Verb: trace.VerbDirs},
		{ID: "volumes", Verb: trace.VerbVolumes, Needs: []string{"dirs"}},
		{ID: "sandbox", Verb: trace.VerbSandbox, Needs: []string{"cgroup", "dirs"}},
		{ID: "image " + image, Verb: trace.VerbImage},
		{ID: "create " + container, Verb: trace.VerbCreate, Needs: []string{"sandbox", "volumes", "image " + image}},
		{ID: "start " + container, Verb: trace.VerbStart, Needs: []string{"create " + container}},
	}}
}

// call adds an action with one CRI call.
func call(t *tape.Tape, from, to time.Duration, parent trace.SpanID, a trace.Action, method string) {
	act := t.Begin(from, cart, parent, &a)
	c := t.Begin(from, cart, act, &trace.CRICall{Method: method})
	t.End(to, c, &trace.CRICall{Method: method, Code: "OK"})
	t.End(to, act, nil)
}

// slowPull is the pod of SCREENS.md: a pull determines the duration.
func slowPull() *tape.Tape {
	t := tape.New()
	t.Point(0, cart, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: "apiserver ADD"})
	sync := t.Begin(1*ms, cart, 0, &trace.Sync{Why: trace.SyncCreate, N: 1})
	t.Point(1*ms, cart, sync, plan("cart", "redis:7.2"))
	cg := t.Begin(1*ms, cart, sync, &trace.Action{ID: "cgroup", Verb: trace.VerbCgroup})
	t.End(2*ms, cg, nil)
	dirs := t.Begin(1*ms, cart, sync, &trace.Action{ID: "dirs", Verb: trace.VerbDirs})
	t.End(3*ms, dirs, nil)
	img := t.Begin(2*ms, cart, sync, &trace.Action{ID: "image redis:7.2", Verb: trace.VerbImage, Target: "redis:7.2", Policy: trace.PullIfNotPresent, Reason: "IfNotPresent"})
	vol := t.Begin(3*ms, cart, sync, &trace.Action{ID: "volumes", Verb: trace.VerbVolumes})
	for i, name := range []string{"config", "secret", "token"} {
		v := t.Begin(time.Duration(4+i)*ms, cart, vol, &trace.Volume{Op: "setup", Name: name})
		t.End(time.Duration(20+i)*ms, v, nil)
	}
	t.End(51*ms, vol, nil)
	sb := t.Begin(3*ms, cart, sync, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
	q := t.Begin(3*ms, cart, sb, &trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetRuntimeSlots}, Size: 4, Busy: 4})
	t.End(110*ms, q, nil)
	run := t.Begin(110*ms, cart, sb, &trace.CRICall{Method: "RunPodSandbox"})
	t.End(315*ms, run, &trace.CRICall{Method: "RunPodSandbox", Code: "OK"})
	t.End(315*ms, sb, nil)
	is := t.Begin(2*ms, cart, img, &trace.CRICall{Method: "ImageStatus"})
	t.End(3*ms, is, &trace.CRICall{Method: "ImageStatus", Code: "OK"})
	pull := t.Begin(4*ms, cart, img, &trace.ImagePull{Image: "redis:7.2"})
	pc := t.Begin(4*ms, cart, pull, &trace.CRICall{Method: "PullImage", Image: "redis:7.2"})
	t.Point(1900*ms, cart, pull, &trace.ImageProgress{Image: "redis:7.2", Done: 41 << 20, Total: 68 << 20})
	t.End(4104*ms, pc, &trace.CRICall{Method: "PullImage", Code: "OK"})
	t.End(4104*ms, pull, &trace.ImagePull{Image: "redis:7.2", Bytes: 68 << 20})
	t.End(4104*ms, img, nil)
	call(t, 4105*ms, 4146*ms, sync, trace.Action{ID: "create cart", Verb: trace.VerbCreate, Container: "cart"}, "CreateContainer")
	call(t, 4146*ms, 4234*ms, sync, trace.Action{ID: "start cart", Verb: trace.VerbStart, Container: "cart"}, "StartContainer")
	t.End(4235*ms, sync, nil)
	t.Point(4234*ms, cart, 0, &trace.Milestone{Name: trace.MilestoneStarted, Since: 4234 * ms})
	t.Point(4234*ms, cart, 0, &trace.PodStatus{Phase: trace.PodRunning, Total: 1})
	pr := t.Begin(4240*ms, cart, 0, &trace.Wait{For: trace.WaitProbe, Target: trace.Target{Kind: trace.TargetProbe, Name: "startup", Container: "cart"}})
	t.End(4670*ms, pr, nil)
	t.Point(4671*ms, cart, 0, &trace.Milestone{Name: trace.MilestoneReady, Since: 4671 * ms})
	return t
}

// retry is a pod whose first create fails and is retried after a back-off.
func retry() *tape.Tape {
	t := tape.New()
	t.Point(0, cart, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	s1 := t.Begin(1*ms, cart, 0, &trace.Sync{Why: trace.SyncCreate, N: 1})
	t.Point(1*ms, cart, s1, plan("web", "web:1"))
	call(t, 2*ms, 102*ms, s1, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox}, "RunPodSandbox")
	fail := t.Begin(103*ms, cart, s1, &trace.Action{ID: "create web", Verb: trace.VerbCreate, Container: "web"})
	t.End(113*ms, fail, &trace.Action{ID: "create web", Verb: trace.VerbCreate, Container: "web", Err: "CreateContainerConfigError: no such\nkey \x1b[31m\"a\""})
	t.End(114*ms, s1, &trace.Sync{Why: trace.SyncCreate, N: 1, Err: "create web failed"})
	bo := t.Begin(114*ms, cart, 0, &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetOther, Name: "create web"}, Cause: "10s", Class: trace.Classify("10s")})
	t.End(1114*ms, bo, nil)
	s2 := t.Begin(1115*ms, cart, 0, &trace.Sync{Why: trace.SyncRetry, N: 2})
	t.Point(1115*ms, cart, s2, plan("web", "web:1"))
	call(t, 1115*ms, 1215*ms, s2, trace.Action{ID: "create web", Verb: trace.VerbCreate, Container: "web"}, "CreateContainer")
	call(t, 1315*ms, 1415*ms, s2, trace.Action{ID: "start web", Verb: trace.VerbStart, Container: "web"}, "StartContainer")
	t.End(1416*ms, s2, nil)
	t.Point(1415*ms, cart, 0, &trace.Milestone{Name: trace.MilestoneStarted, Since: 1415 * ms})
	return t
}

// inCluster is a cluster's pod: its volumes wait for the API server and a CSI driver, a hook and a probe delay it, and
// its status needs two attempts to be written to the API.
func inCluster() *tape.Tape {
	t := tape.New()
	t.Point(0, cart, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceAPI})
	early := t.Begin(0, cart, 0, &trace.StatusPatch{Op: trace.PatchStatus, Version: 1, Changed: []trace.Change{{What: trace.ChangeCondition, Name: "Initialized", To: "True"}}})
	t.End(8*ms, early, nil)
	sync := t.Begin(1*ms, cart, 0, &trace.Sync{Why: trace.SyncCreate, N: 1})
	t.Point(1*ms, cart, sync, plan("cart", "redis:7.2"))
	call(t, 1*ms, 2*ms, sync, trace.Action{ID: "image redis:7.2", Verb: trace.VerbImage, Target: "redis:7.2"}, "ImageStatus")
	call(t, 2*ms, 152*ms, sync, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox}, "RunPodSandbox")
	vol := t.Begin(2*ms, cart, sync, &trace.Action{ID: "volumes", Verb: trace.VerbVolumes})
	token := t.Begin(3*ms, cart, vol, &trace.Volume{Op: "setup", Name: "token", Plugin: "kubernetes.io/projected"})
	t.End(40*ms, t.Begin(4*ms, cart, token, &trace.Wait{For: trace.WaitObject, Target: trace.Target{Kind: trace.TargetToken, Namespace: "shop", Name: "default"}}), nil)
	t.End(42*ms, token, nil)
	t.End(200*ms, t.Begin(42*ms, cart, vol, &trace.Wait{For: trace.WaitAttach, Target: trace.Target{Kind: trace.TargetVolume, Name: "data"}, Note: "VolumeAttachment csi-1"}), nil)
	data := t.Begin(200*ms, cart, vol, &trace.Volume{Op: "setup", Name: "data", Plugin: "kubernetes.io/csi"})
	for i, m := range []string{"NodeStageVolume", "NodePublishVolume"} {
		c := t.Begin(time.Duration(200+50*i)*ms, cart, data, &trace.CSICall{Driver: "hostpath.csi.k8s.io", Method: m})
		t.End(time.Duration(250+50*i)*ms, c, &trace.CSICall{Driver: "hostpath.csi.k8s.io", Method: m, Code: "OK"})
	}
	t.Point(340*ms, cart, data, &trace.VolumeProgress{Op: "fsgroup", Path: "/p", Files: 4200, Done: true})
	t.End(350*ms, data, nil)
	t.End(350*ms, vol, nil)
	call(t, 350*ms, 400*ms, sync, trace.Action{ID: "create cart", Verb: trace.VerbCreate, Container: "cart"}, "CreateContainer")
	call(t, 400*ms, 450*ms, sync, trace.Action{ID: "start cart", Verb: trace.VerbStart, Container: "cart"}, "StartContainer")
	hook := t.Begin(450*ms, cart, sync, &trace.Action{ID: "post-start cart", Verb: trace.VerbPostStart, Container: "cart"})
	t.End(500*ms, t.Begin(450*ms, cart, hook, &trace.Wait{For: trace.WaitHook, Target: trace.Target{Kind: trace.TargetHook, Container: "cart"}, Note: "exec"}), nil)
	t.End(500*ms, hook, nil)
	t.Point(500*ms, cart, sync, &trace.Milestone{Name: trace.MilestoneStarted, Since: 500 * ms})
	t.End(501*ms, sync, nil)
	probe := func(from, to time.Duration, result string, count int) {
		e := trace.ProbeAttempt{Container: "cart", Probe: trace.ProbeReadiness, How: trace.ProbeHTTP}
		id := t.Begin(from, cart, 0, &e)
		end := e
		end.Result, end.Count, end.Threshold, end.State, end.Output = trace.ProbeResult(result), count, 1, trace.ProbeState(result), "statuscode: 500"
		t.End(to, id, &end)
	}
	probe(501*ms, 511*ms, "failure", 1)
	t.End(700*ms, t.Begin(511*ms, cart, 0, &trace.Wait{For: trace.WaitProbe, Target: trace.Target{Kind: trace.TargetProbe, Name: "readiness", Container: "cart"}}), nil)
	probe(700*ms, 720*ms, "success", 1)
	t.Point(720*ms, cart, 0, &trace.Milestone{Name: trace.MilestoneReady, Since: 720 * ms})
	try := t.Begin(721*ms, cart, 0, &trace.StatusPatch{Op: trace.PatchStatus, Version: 2})
	t.End(730*ms, try, &trace.StatusPatch{Op: trace.PatchStatus, Version: 2, Err: "connection refused"})
	t.End(800*ms, t.Begin(730*ms, cart, 0, &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetStatuses}}), nil)
	again := t.Begin(800*ms, cart, 0, &trace.StatusPatch{Op: trace.PatchStatus, Version: 2, Attempt: 2})
	t.End(810*ms, again, &trace.StatusPatch{Op: trace.PatchStatus, Version: 2, Attempt: 2, Bytes: 700, Changed: []trace.Change{{What: trace.ChangeCondition, Name: "Ready", From: "False", To: "True", FromReason: "ContainersNotReady"}}})
	probe(900*ms, 910*ms, "success", 2)
	return t
}

// under returns the first n records of slowPull.
func under(n int) *tape.Tape {
	t := slowPull()
	t.Recs = t.Records()[:n]
	return t
}

// foreign is a start with only CRI calls.
func foreign() *tape.Tape {
	t := tape.New()
	one := func(from, to time.Duration, c trace.CRICall) {
		id := t.Begin(from, cart, 0, &c)
		t.End(to, id, nil)
	}
	one(0, 200*ms, trace.CRICall{Method: "RunPodSandbox"})
	one(210*ms, 900*ms, trace.CRICall{Method: "PullImage", Image: "redis:7.2"})
	one(910*ms, 950*ms, trace.CRICall{Method: "CreateContainer", Container: strings.Repeat("ab", 32)})
	one(950*ms, 1000*ms, trace.CRICall{Method: "StartContainer", Container: strings.Repeat("ab", 32)})
	return t
}

// initThenTwo is a pod with an init container and two containers. The second starts last, and the first has the slower
// image, but it is not slow enough to matter.
func initThenTwo() *tape.Tape {
	t := tape.New()
	t.Point(0, cart, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	s1 := t.Begin(0, cart, 0, &trace.Sync{Why: trace.SyncCreate, N: 1})
	t.Point(0, cart, s1, &trace.Plan{Steps: []trace.PlanStep{
		{ID: "sandbox"},
		{ID: "image setup"},
		{ID: "image a"},
		{ID: "create setup", Needs: []string{"sandbox", "image setup"}},
		{ID: "start setup", Needs: []string{"create setup"}},
	}})
	call(t, 0, 100*ms, s1, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox}, "RunPodSandbox")
	call(t, 0, 50*ms, s1, trace.Action{ID: "image setup", Verb: trace.VerbImage, Target: "setup:1"}, "ImageStatus")
	call(t, 0, 600*ms, s1, trace.Action{ID: "image a", Verb: trace.VerbImage, Target: "a:1", Reason: "Always"}, "PullImage")
	call(t, 100*ms, 150*ms, s1, trace.Action{ID: "create setup", Verb: trace.VerbCreate, Container: "setup"}, "CreateContainer")
	call(t, 150*ms, 200*ms, s1, trace.Action{ID: "start setup", Verb: trace.VerbStart, Container: "setup"}, "StartContainer")
	t.End(600*ms, s1, nil)
	short := t.Begin(200*ms-100*time.Microsecond, cart, 0, &trace.Wait{For: trace.WaitInit, Target: trace.Target{Kind: trace.TargetInitContainer, Name: "setup"}})
	t.End(200*ms, short, nil) // too short for a row
	w := t.Begin(200*ms, cart, 0, &trace.Wait{For: trace.WaitInit, Target: trace.Target{Kind: trace.TargetInitContainer, Name: "setup"}})
	t.End(1000*ms, w, nil)
	s2 := t.Begin(1000*ms, cart, 0, &trace.Sync{Why: trace.SyncAgain, N: 2})
	t.Point(1000*ms, cart, s2, &trace.Plan{Steps: []trace.PlanStep{
		{ID: "create a"},
		{ID: "create b"},
		{ID: "start a", Needs: []string{"create a"}},
		{ID: "start b", Needs: []string{"create b", "start a"}},
	}})
	call(t, 1000*ms, 1040*ms, s2, trace.Action{ID: "create a", Verb: trace.VerbCreate, Container: "a"}, "CreateContainer")
	call(t, 1000*ms, 1050*ms, s2, trace.Action{ID: "create b", Verb: trace.VerbCreate, Container: "b"}, "CreateContainer")
	call(t, 1040*ms, 1140*ms, s2, trace.Action{ID: "start a", Verb: trace.VerbStart, Container: "a"}, "StartContainer")
	call(t, 1140*ms, 1200*ms, s2, trace.Action{ID: "start b", Verb: trace.VerbStart, Container: "b"}, "StartContainer")
	t.Point(1200*ms, cart, s2, &trace.Milestone{Name: trace.MilestoneStarted, Since: 1200 * ms})
	t.End(1200*ms, s2, nil)
	return t
}

// stepped is a pod that a person steps for a while and then releases: its actions run one by one, although the plan's
// needs do not require it.
func stepped() *tape.Tape {
	t := tape.New()
	t.Point(0, cart, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceStep})
	sync := t.Begin(0, cart, 0, &trace.Sync{Why: trace.SyncCreate, N: 1})
	t.Point(0, cart, sync, plan("cart", "redis:7.2"))
	one := func(from, open, to time.Duration, a trace.Action, method string) {
		act := t.Begin(from, cart, sync, &a)
		w := t.Begin(from, cart, act, &trace.Wait{For: trace.WaitGate, Target: trace.Target{Kind: trace.TargetPerson}})
		t.End(open, w, nil)
		c := t.Begin(open, cart, act, &trace.CRICall{Method: method})
		t.End(to, c, &trace.CRICall{Method: method, Code: "OK"})
		t.End(to, act, nil)
	}
	one(0, 1000*ms, 1010*ms, trace.Action{ID: "cgroup", Verb: trace.VerbCgroup}, "")
	one(1010*ms, 1510*ms, 1520*ms, trace.Action{ID: "dirs", Verb: trace.VerbDirs}, "")
	one(1520*ms, 1520*ms, 1540*ms, trace.Action{ID: "volumes", Verb: trace.VerbVolumes}, "")
	one(1540*ms, 1540*ms, 1640*ms, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox}, "RunPodSandbox")
	one(1640*ms, 1640*ms, 2040*ms, trace.Action{ID: "image redis:7.2", Verb: trace.VerbImage, Target: "redis:7.2"}, "PullImage")
	one(2040*ms, 2040*ms, 2080*ms, trace.Action{ID: "create cart", Verb: trace.VerbCreate, Container: "cart"}, "CreateContainer")
	one(2080*ms, 2080*ms, 2120*ms, trace.Action{ID: "start cart", Verb: trace.VerbStart, Container: "cart"}, "StartContainer")
	t.Point(2120*ms, cart, sync, &trace.Milestone{Name: trace.MilestoneStarted, Since: 2120 * ms})
	t.End(2120*ms, sync, nil)
	return t
}

var stories = map[string]func() *tape.Tape{
	"stepped":   stepped,
	"slow-pull": slowPull, "retry": retry, "pulling": func() *tape.Tape { return under(26) }, "foreign": foreign,
	"init-then-two": initThenTwo, "in-cluster": inCluster,
	"only-seen": func() *tape.Tape { return under(1) },
}

func TestText(t *testing.T) {
	for name, story := range stories {
		for _, c := range []struct {
			suffix string
			width  int
			opt    TextOptions
		}{{"80", 80, TextOptions{}}, {"120", 120, TextOptions{}}, {"ascii-80", 80, TextOptions{ASCII: true}}} {
			t.Run(name+"-"+c.suffix, func(t *testing.T) {
				w, err := Build(story().Records(), cart)
				if err != nil {
					t.Fatal(err)
				}
				got := w.Text(c.width, c.opt)
				for line := range strings.Lines(got) {
					if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > c.width {
						t.Errorf("line of %d columns: %q", n, line)
					}
					if strings.ContainsAny(line, "\x1b\t\r") {
						t.Errorf("control character: %q", line)
					}
					if c.opt.ASCII && strings.ContainsFunc(line, func(r rune) bool { return r > '~' }) {
						t.Errorf("not ASCII: %q", line)
					}
				}
				golden(t, filepath.Join("testdata", name+"-"+c.suffix+".txt"), got)
			})
		}
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got, -update rewrites):\n%s", path, diff)
	}
}

// seg is a Segment without its intervals.
type seg struct {
	Label      string
	Start, End time.Duration
}

func segs(in []Segment) []seg {
	out := make([]seg, 0, len(in))
	for _, s := range in {
		out = append(out, seg{s.Label(), s.Start, s.End})
	}
	return out
}

func TestPath(t *testing.T) {
	for _, c := range []struct {
		name        string
		tape        *tape.Tape
		path, tail  []seg
		waits       []WaitTotal
		floor       time.Duration
		unexplained time.Duration
		cause       string
	}{
		{
			name: "the pull decides, not what ran beside it", tape: slowPull(),
			path: []seg{
				{"unexplained", 0, 2 * ms},
				{"pull", 2 * ms, 4104 * ms},
				{"unexplained", 4104 * ms, 4105 * ms},
				{"create cart", 4105 * ms, 4146 * ms},
				{"start cart", 4146 * ms, 4234 * ms},
			},
			tail:  []seg{{"unexplained", 4234 * ms, 4240 * ms}, {"wait probe", 4240 * ms, 4670 * ms}, {"unexplained", 4670 * ms, 4671 * ms}},
			floor: (205 + 41 + 88) * ms, unexplained: 3 * ms,
			cause: "pull 4.10s: image not on the node (68 MiB, 17 MiB/s)",
		},
		{
			name: "a failed try and its back-off are on the path", tape: retry(),
			path: []seg{
				{"unexplained", 0, 2 * ms},
				{"sandbox", 2 * ms, 102 * ms},
				{"unexplained", 102 * ms, 103 * ms},
				{"create web", 103 * ms, 113 * ms},
				{"unexplained", 113 * ms, 114 * ms},
				{"wait backoff", 114 * ms, 1114 * ms},
				{"unexplained", 1114 * ms, 1115 * ms},
				{"create web", 1115 * ms, 1215 * ms},
				{"unexplained", 1215 * ms, 1315 * ms},
				{"start web", 1315 * ms, 1415 * ms},
			},
			waits: []WaitTotal{{trace.WaitBackoff, 1000 * ms}},
			floor: 300 * ms, unexplained: 105 * ms,
			cause: "wait backoff 1.00s: create web, 10s",
		},
		{
			name: "an init container, and starts in order", tape: initThenTwo(),
			path: []seg{
				{"sandbox", 0, 100 * ms},
				{"create setup", 100 * ms, 150 * ms},
				{"start setup", 150 * ms, 200 * ms},
				{"wait init", 200 * ms, 1000 * ms},
				{"create a", 1000 * ms, 1040 * ms},
				{"start a", 1040 * ms, 1140 * ms},
				{"start b", 1140 * ms, 1200 * ms},
			},
			waits: []WaitTotal{{trace.WaitInit, 800 * ms}},
			floor: (100 + 50 + 50 + 40 + 100 + 60) * ms,
			cause: "wait init 800ms: init container setup",
		},
		{
			name: "one by one behind a gate", tape: stepped(),
			path: []seg{
				{"wait gate", 0, 1000 * ms},
				{"cgroup", 1000 * ms, 1010 * ms},
				{"wait gate", 1010 * ms, 1510 * ms},
				{"dirs", 1510 * ms, 1520 * ms},
				{"volumes", 1520 * ms, 1540 * ms},
				{"sandbox", 1540 * ms, 1640 * ms},
				{"pull", 1640 * ms, 2040 * ms},
				{"create cart", 2040 * ms, 2080 * ms},
				{"start cart", 2080 * ms, 2120 * ms},
			},
			waits: []WaitTotal{{trace.WaitGate, 1500 * ms}},
			floor: 180 * ms,
			cause: "wait gate 1.50s: the person who steps",
		},
		{
			name: "CRI calls alone", tape: foreign(),
			path: []seg{
				{"sandbox", 0, 200 * ms},
				{"unexplained", 200 * ms, 210 * ms},
				{"pull", 210 * ms, 900 * ms},
				{"unexplained", 900 * ms, 910 * ms},
				{"create abababababab", 910 * ms, 950 * ms},
				{"start abababababab", 950 * ms, 1000 * ms},
			},
			floor: 290 * ms, unexplained: 20 * ms,
			cause: "pull 690ms: redis:7.2",
		},
		{
			name: "volumes wait, a hook and a probe take their time", tape: inCluster(),
			path: []seg{
				{"unexplained", 0, 2 * ms},
				{"volumes", 2 * ms, 4 * ms},
				{"wait object", 4 * ms, 40 * ms},
				{"volumes", 40 * ms, 42 * ms},
				{"wait attach", 42 * ms, 200 * ms},
				{"volumes", 200 * ms, 350 * ms},
				{"create cart", 350 * ms, 400 * ms},
				{"start cart", 400 * ms, 450 * ms},
				{"wait hook", 450 * ms, 500 * ms},
			},
			tail:  []seg{{"unexplained", 500 * ms, 501 * ms}, {"readiness probe", 501 * ms, 511 * ms}, {"wait probe", 511 * ms, 700 * ms}, {"readiness probe", 700 * ms, 720 * ms}},
			waits: []WaitTotal{{trace.WaitAttach, 158 * ms}, {trace.WaitHook, 50 * ms}, {trace.WaitObject, 36 * ms}},
			floor: 250 * ms, unexplained: 2 * ms,
			cause: "wait attach 158ms: volume data, VolumeAttachment csi-1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := Build(c.tape.Records(), cart)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.path, segs(w.Path)); diff != "" {
				t.Errorf("path (-want +got):\n%s", diff)
			}
			if c.tail != nil {
				if diff := cmp.Diff(c.tail, segs(w.Tail)); diff != "" {
					t.Errorf("tail (-want +got):\n%s", diff)
				}
			}
			if diff := cmp.Diff(c.waits, w.Waits); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
			if w.Floor != c.floor || w.Unexplained != c.unexplained {
				t.Errorf("floor %v, unexplained %v; want %v, %v", w.Floor, w.Unexplained, c.floor, c.unexplained)
			}
			if got := w.Cause(); got != c.cause {
				t.Errorf("cause %q, want %q", got, c.cause)
			}
		})
	}
}

// TestAnyPartHolds builds from every prefix, suffix and with every record missing: the path has no gaps, ends
// correctly, and nothing panics.
func TestAnyPartHolds(t *testing.T) {
	check := func(t *testing.T, recs []trace.Record) {
		t.Helper()
		w, err := Build(recs, cart)
		if err != nil {
			if !errors.Is(err, ErrNoRecords) {
				t.Fatal(err)
			}
			return
		}
		var at, total time.Duration
		for _, s := range w.Path {
			if s.Start != at || s.End <= s.Start {
				t.Fatalf("path has a hole or an empty segment at %v: %v", at, segs(w.Path))
			}
			at = s.End
			total += s.Dur()
		}
		if total != w.Length() {
			t.Fatalf("path adds up to %v, want %v", total, w.Length())
		}
		for _, r := range w.Rows() {
			if r.Start < 0 || r.End < r.Start || r.End > w.End {
				t.Fatalf("row out of bounds: %+v of %v", r, w.End)
			}
		}
		w.Text(80, TextOptions{})
		w.Text(1, TextOptions{ASCII: true})
	}
	for _, story := range stories {
		recs := story().Records()
		for i := range recs {
			check(t, recs[:i])
			check(t, recs[i:])
			check(t, append(append([]trace.Record(nil), recs[:i]...), recs[i+1:]...))
		}
	}
}

func TestErrors(t *testing.T) {
	if _, err := Build(slowPull().Recs, trace.Pod{Name: "other"}); !errors.Is(err, ErrNoRecords) {
		t.Errorf("other pod: %v", err)
	}
	tp := tape.New()
	tp.Point(0, cart, 0, &trace.Milestone{Name: trace.MilestoneStarted, Adopted: true})
	if _, err := Build(tp.Recs, cart); !errors.Is(err, ErrAdopted) {
		t.Errorf("adopted pod: %v", err)
	}
}

// TestSeveralWaits: all targets of a kind of wait are named, up to a number.
func TestSeveralWaits(t *testing.T) {
	for n, want := range map[int]string{
		1: "wait init 100ms: init container 0, sleeps",
		2: "wait init 200ms: init container 0, init container 1",
		5: "wait init 500ms: init container 0, init container 1, init container 2 and 2 more",
	} {
		tp := tape.New()
		tp.Point(0, cart, 0, &trace.Milestone{Name: trace.MilestoneSeen})
		at := time.Duration(0)
		for i := range n {
			w := tp.Begin(at, cart, 0, &trace.Wait{For: trace.WaitInit, Target: trace.Target{Kind: trace.TargetInitContainer, Name: fmt.Sprint(i)}, Note: "sleeps"})
			at += 100 * ms
			tp.End(at, w, nil)
		}
		tp.Point(at, cart, 0, &trace.Milestone{Name: trace.MilestoneStarted, Since: at})
		w, err := Build(tp.Records(), cart)
		if err != nil {
			t.Fatal(err)
		}
		if w.Cause() != want {
			t.Errorf("cause %q, want %q", w.Cause(), want)
		}
	}
}

// TestShareIsOfTheStart: a wait after the start, however long, is not part of it.
func TestShareIsOfTheStart(t *testing.T) {
	tp := slowPull()
	late := tp.Records()
	for i := range late {
		if late[i].Time > tape.Epoch.Add(4670*ms-1).UnixNano() {
			late[i].Time += int64(time.Minute)
		}
	}
	w, err := Build(late, cart)
	if err != nil {
		t.Fatal(err)
	}
	var marked []string
	for _, ln := range w.Layout(120, 0).Lines {
		if strings.Contains(ln.After, "◀") {
			marked = append(marked, ln.Text()+": "+ln.After)
		}
	}
	want := []string{"image    redis:7.2: 4.10s ◀ 97 % 68 MiB, 17 MiB/s"}
	if diff := cmp.Diff(want, marked); diff != "" || w.Ready < time.Minute {
		t.Errorf("ready %v, marked (-want +got):\n%s", w.Ready, diff)
	}
}

// TestRoomForNotes: the longest bar leaves room for the text after it.
func TestRoomForNotes(t *testing.T) {
	w, err := Build(slowPull().Records(), cart)
	if err != nil {
		t.Fatal(err)
	}
	for width := 90; width <= 200; width++ {
		for _, spare := range []int{0, (width - 76) / 4} {
			l := w.Layout(width, spare)
			for _, ln := range l.Lines {
				if end := l.Labels + ln.Bar + max(ln.Cols, 1) + 1 + len([]rune(ln.After)); ln.Kind == RowAction && end > width {
					t.Errorf("in %d columns, spare %d: %q ends at %d", width, spare, ln.After, end)
				}
			}
		}
		if text := w.Text(width, TextOptions{}); !strings.Contains(text, "◀ 97 % 68 MiB, 17 MiB/s\n") {
			t.Errorf("in %d columns:\n%s", width, text)
		}
	}
}

func TestNowMovesWhatIsOpen(t *testing.T) {
	w, err := BuildAt(under(26).Recs, cart, tape.Epoch.Add(3*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if w.End != 3*time.Second || w.Started != -1 {
		t.Errorf("end %v, started %v", w.End, w.Started)
	}
	if want := "not started after 3.00s; now image redis:7.2 for 3.00s."; w.Why() != want {
		t.Errorf("why %q, want %q", w.Why(), want)
	}
}
