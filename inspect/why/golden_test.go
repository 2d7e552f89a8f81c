package why_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	ms  = time.Millisecond
	sec = time.Second
	mib = 1 << 20
)

// situation is a case to explain.
type situation struct {
	write func(*casetest.Script)
	found bool
	now   time.Duration
}

func start(s *casetest.Script, at time.Duration, needs ...string) {
	create := s.Action(at, at+20*ms, trace.Action{ID: "create web", Verb: trace.VerbCreate, Container: "web"}, needs...)
	s.Call(at, at+20*ms, create, "CreateContainer", "")
	run := s.Action(at+20*ms, at+40*ms, trace.Action{ID: "start web", Verb: trace.VerbStart, Container: "web"}, "create web")
	s.Call(at+20*ms, at+40*ms, run, "StartContainer", "")
}

func sandbox(s *casetest.Script, from, to time.Duration) {
	act := s.Action(from, to, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox, Reason: "no sandbox"})
	s.Call(from+ms, to, act, "RunPodSandbox", "")
}

func pull(s *casetest.Script, to time.Duration, done ...int64) {
	act := s.Action(ms, to, trace.Action{ID: "image shop/web:1", Verb: trace.VerbImage, Target: "shop/web:1", Policy: trace.PullIfNotPresent, Reason: "IfNotPresent"})
	span := s.Span(ms, to, act, &trace.ImagePull{Image: "shop/web:1", Bytes: 68 * mib})
	s.Call(ms, to, span, "PullImage", "")
	for i, d := range done {
		s.Point(time.Duration(i+1)*sec, span, &trace.ImageProgress{Image: "shop/web:1", Done: d, Total: 68 * mib, Source: "content-store"})
	}
}

func running(s *casetest.Script, at time.Duration, ready int) {
	s.Point(at, 0, &trace.PodStatus{Phase: trace.PodRunning, Ready: ready, Total: 1})
}

var situations = map[string]situation{
	"quick": {write: func(s *casetest.Script) {
		sandbox(s, ms, 120*ms)
		start(s, 120*ms, "sandbox")
		s.Started(160 * ms)
		running(s, 160*ms, 1)
	}},
	"slow-pull": {write: func(s *casetest.Script) {
		sandbox(s, ms, 120*ms)
		pull(s, 5*sec, 14*mib, 32*mib, 50*mib, 68*mib)
		start(s, 5*sec, "sandbox", "image shop/web:1")
		s.Started(5040 * ms)
		running(s, 5040*ms, 1)
	}},
	"nothing-known": {now: 36800 * ms, write: func(s *casetest.Script) { // as a kubelet's log at V2 has it
		s.Point(100*ms, 0, &trace.PodStatus{Phase: trace.PodPending, Total: 1})
	}},
	"pulling": {now: 4 * sec, write: func(s *casetest.Script) {
		sandbox(s, ms, 120*ms)
		pull(s, casetest.Open, 14*mib, 24*mib, 34*mib)
		s.Point(100*ms, 0, &trace.PodStatus{Phase: trace.PodPending, Total: 1})
	}},
	"image-backoff": {now: 25 * sec, write: func(s *casetest.Script) {
		const err = "rpc error: code = NotFound desc = failed to pull and unpack image \"registry.example/shop/web:1\": not found"
		sandbox(s, ms, 120*ms)
		for i, at := range []time.Duration{ms, 11 * sec} {
			act := s.Action(at, at+400*ms, trace.Action{ID: "image shop/web:1", Verb: trace.VerbImage, Target: "shop/web:1", Policy: trace.PullIfNotPresent, Reason: "IfNotPresent", Err: "ErrImagePull: " + err})
			s.Point(at+400*ms, act, &trace.Decision{
				By: trace.ByBackoff, Subject: "shop/web:1", Verdict: trace.VerdictWait, Reason: "attempt " + string(rune('1'+i)) + " failed",
				Tries: 1 + i, Until: tape.Epoch.Add(31*sec + 400*ms).UnixNano(), Cause: err,
			})
		}
		s.Wait(402*ms, 11*sec, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Reason: "ErrImagePull"})
		s.Wait(11402*ms, casetest.Open, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Reason: "ErrImagePull"})
		s.Point(500*ms, 0, &trace.PodStatus{Phase: trace.PodPending, Total: 1})
	}},
	"queue-and-probe": {write: func(s *casetest.Script) {
		act := s.Action(ms, 1500*ms, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox, Reason: "no sandbox"})
		s.Wait(ms, 1300*ms, act, trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetRuntimeSlots}, Size: 4, Busy: 4, Ahead: 37})
		s.Call(1300*ms, 1500*ms, act, "RunPodSandbox", "")
		s.Of(casetest.DB, 0, 900*ms, 0, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
		start(s, 1500*ms, "sandbox")
		s.Milestone(1540*ms, trace.MilestoneStarted)
		s.Wait(1545*ms, 2540*ms, 0, trace.Wait{For: trace.WaitProbe, Target: trace.Target{Kind: trace.TargetProbe, Name: "readiness", Container: "web"}, Until: tape.Epoch.Add(2545 * ms).UnixNano()})
		s.Span(2540*ms, 2550*ms, 0, &trace.ProbeAttempt{Container: "web", Probe: trace.ProbeReadiness, How: trace.ProbeHTTP, Result: trace.ProbeSuccess, State: trace.ProbeSays})
		s.Milestone(2550*ms, trace.MilestoneReady)
		running(s, 2550*ms, 1)
	}},
	"crash-loop": {now: 29 * sec, write: func(s *casetest.Script) {
		sandbox(s, ms, 120*ms)
		start(s, 120*ms, "sandbox")
		s.Started(160 * ms)
		running(s, 160*ms, 1)
		s.Point(20*sec, 0, &trace.PLEGEvent{Type: "ContainerDied", Name: "web"})
		running(s, 20*sec, 0)
		s.Point(20*sec, 0, &trace.Decision{
			By: trace.ByRestart, Subject: "web", Verdict: trace.VerdictWait, Reason: "it ended with exit code 3; crash-loop back-off until 12:00:40",
			Until: tape.Epoch.Add(40 * sec).UnixNano(), ExitCode: new(int32(3)), Attempt: 1,
		})
		s.Wait(20*sec, casetest.Open, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Reason: "CrashLoopBackOff", Until: tape.Epoch.Add(40 * sec).UnixNano()})
	}},
	"ending": {now: 72 * sec, write: func(s *casetest.Script) {
		sandbox(s, ms, 120*ms)
		start(s, 120*ms, "sandbox")
		s.Started(160 * ms)
		running(s, 160*ms, 1)
		s.Point(60*sec, 0, &trace.Milestone{Name: trace.MilestoneTerminating})
		act := s.Action(60*sec, casetest.Open, trace.Action{ID: "kill web", Verb: trace.VerbKill, Container: "web"})
		s.Wait(60*sec, casetest.Open, act, trace.Wait{For: trace.WaitGrace, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Limit: 30 * time.Second})
	}},
	// Nothing goes on at the end of the log, and most of the time is in no record.
	"volume-came-late": {now: 114 * sec, write: func(s *casetest.Script) {
		v := s.Action(0, 40*sec, trace.Action{ID: "volumes", Verb: trace.VerbVolumes})
		s.Wait(0, 40*sec, v, trace.Wait{For: trace.WaitAttach, Target: trace.Target{Kind: trace.TargetVolume, Name: "pvc-1"}})
	}},
	"another-label": {now: 60 * sec, write: func(s *casetest.Script) {
		v := s.Action(0, casetest.Open, trace.Action{ID: "volumes", Verb: trace.VerbVolumes})
		s.Wait(ms, casetest.Open, v, trace.Wait{
			For: trace.WaitLabel, Target: trace.Target{Kind: trace.TargetVolume, Name: "pvc-1"},
			Note: "pod shop/db has it with the SELinux label system_u:object_r:container_file_t:s0:c1,c2, and this pod needs the SELinux label system_u:object_r:container_file_t:s0:c3,c4",
		})
	}},
	// The program needed its time, and the probe's figures are not the reason.
	"slow-program": {write: func(s *casetest.Script) {
		sandbox(s, ms, 120*ms)
		start(s, 120*ms, "sandbox")
		s.Milestone(160*ms, trace.MilestoneStarted)
		at := 200 * ms
		for range 9 {
			s.Span(at, at+10*ms, 0, &trace.ProbeAttempt{Container: "web", Probe: trace.ProbeReadiness, How: trace.ProbeHTTP, Result: trace.ProbeFailure, Answer: trace.AnswerStatus, Code: 503})
			s.Wait(at+10*ms, at+sec, 0, trace.Wait{For: trace.WaitProbe, Target: trace.Target{Kind: trace.TargetProbe, Name: "readiness", Container: "web"}})
			at += sec
		}
		s.Span(at, at+10*ms, 0, &trace.ProbeAttempt{Container: "web", Probe: trace.ProbeReadiness, How: trace.ProbeHTTP, Result: trace.ProbeSuccess, State: trace.ProbeSays})
		s.Milestone(at+10*ms, trace.MilestoneReady)
		running(s, at+10*ms, 1)
	}},
	// What the kubelet rejects never starts, and no time of it is unexplained.
	"rejected": {now: 10 * sec, write: func(s *casetest.Script) {
		s.Point(ms, 0, &trace.Decision{
			By: trace.ByAdmission, Subject: "shop/web", Verdict: trace.VerdictReject, Code: "OutOfcpu", Reason: "OutOfcpu: Node didn't have enough resource: cpu, requested: 900000, used: 0, capacity: 2000",
		})
		s.Point(2*ms, 0, &trace.PodStatus{Phase: trace.PodFailed, Total: 1, Reason: "OutOfcpu"})
	}},
	// A slow pull is over when a container has done its work, and the pod is not ready because of that, and not because of a debugger.
	"no-longer-ready": {now: 40 * sec, write: func(s *casetest.Script) {
		sandbox(s, ms, 120*ms)
		pull(s, 5*sec, 14*mib, 32*mib, 50*mib, 68*mib)
		start(s, 5*sec, "sandbox", "image shop/web:1")
		s.Started(5040 * ms)
		running(s, 5040*ms, 1)
		s.Point(20*sec, 0, &trace.PodStatus{Phase: trace.PodRunning, Total: 1, Containers: []trace.ContainerStatus{
			{Name: "web", State: trace.ContainerTerminated, Reason: "Completed"}, {Name: "debugger", Ephemeral: true, State: trace.ContainerTerminated, Reason: "Completed"},
		}})
	}},
	// Of two unhealthy volumes, one is healthy again.
	"unhealthy-volume": {now: 70 * sec, write: func(s *casetest.Script) {
		sandbox(s, ms, 120*ms)
		start(s, 120*ms, "sandbox")
		s.Started(160 * ms)
		running(s, 160*ms, 1)
		for _, name := range []string{"logs", "data"} {
			s.Point(10*sec, 0, &trace.Decision{
				By: trace.ByVolumes, Subject: "volume " + name, Volume: "pv-" + name, Verdict: trace.VerdictUnhealthy, Reason: "Degraded (SlowDisk): 1 of 2 paths to the disk is down",
			})
		}
		s.Point(20*sec, 0, &trace.Decision{By: trace.ByVolumes, Subject: "volume logs", Volume: "pv-logs", Verdict: trace.VerdictHealthy})
		s.Point(60*sec, 0, &trace.Decision{
			By: trace.ByVolumes, Subject: "volume data", Volume: "pv-data", Verdict: trace.VerdictUnhealthy, Reason: "Inaccessible (NoPath): all paths to the disk are down",
		})
	}},
	"found-running": {found: true, write: func(s *casetest.Script) { running(s, sec, 1) }},
}

func TestText(t *testing.T) {
	for name, sit := range situations {
		t.Run(name, func(t *testing.T) {
			s := casetest.New(t)
			if sit.found {
				s = casetest.Found(t)
			}
			sit.write(s)
			r := why.Explain(s.Case(sit.now))
			for _, width := range []int{80, 120} {
				var b strings.Builder
				if err := why.Text(&b, r, why.TextOptions{Width: width}); err != nil {
					t.Fatal(err)
				}
				fits(t, b.String(), width)
				if width == 80 {
					golden(t, filepath.Join("testdata", name+".txt"), b.String()+"\n"+why.Brief(r)+"\n")
				}
			}
		})
	}
}

func TestJSON(t *testing.T) {
	b, err := json.MarshalIndent(report(t, "image-backoff"), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "image-backoff.json"), string(b)+"\n")
}

// TestNothingKnown explains cases with few or no records.
func TestNothingKnown(t *testing.T) {
	for _, c := range []*cause.Case{{}, {Pod: casetest.Web, Now: tape.Epoch}, casetest.New(t).Case(0), casetest.Found(t).Case(0)} {
		var b strings.Builder
		r := why.Explain(c)
		if err := why.Text(&b, r, why.TextOptions{Width: 1}); err != nil || b.Len() == 0 || r.Cause == "" {
			t.Errorf("%q, %v", b.String(), err)
		}
		fits(t, b.String(), 60)
	}
}

func fits(t *testing.T, text string, width int) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if n := utf8.RuneCountInString(line); n > width {
			t.Errorf("%d columns, %d are allowed: %s", n, width, line)
		}
		if strings.ContainsRune(line, 0x1b) || strings.TrimRight(line, " ") != line {
			t.Errorf("escapes, or spaces at its end: %q", line)
		}
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}
