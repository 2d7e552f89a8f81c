package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

// backedOff is a pull that failed, its decision and the wait that follows.
func backedOff(s *casetest.Script, at, until time.Duration, failures, err string) {
	act := s.Action(at, at+500*ms, trace.Action{ID: "image shop/web:1", Verb: trace.VerbImage, Err: "ErrImagePull: " + err})
	s.Point(at+500*ms, act, &trace.Decision{
		By: trace.ByBackoff, Subject: "shop/web:1", Verdict: trace.VerdictWait, Reason: "attempt " + failures + " failed; the next may begin in 10s",
		Tries: int(failures[0] - '0'), Until: tape.Epoch.Add(at + 10*sec + 500*ms).UnixNano(), Cause: err,
	})
	s.Wait(at+500*ms, until, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Reason: "ErrImagePull"})
}

func TestImageBackoff(t *testing.T) {
	run(t, "KL05", []script{
		{
			name: "goes on", want: "the image web:1 cannot be pulled (it failed once), and the next attempt has to wait, 5.50s so far in back-off: not found",
			cost: 5500 * ms, current: true, now: 6 * sec,
			write: func(s *casetest.Script) { backedOff(s, 0, casetest.Open, "1", "not found") },
		},
		{
			name: "was", want: "the image web:1 could not be pulled (it failed twice), and the next attempt had to wait, 20.0s in back-off: dial tcp",
			cost: 20 * sec,
			write: func(s *casetest.Script) {
				backedOff(s, 0, 10500*ms, "1", "dial tcp: connection refused")
				backedOff(s, 10500*ms, 21*sec, "2", "dial tcp: connection refused")
				s.Action(21*sec, 22*sec, trace.Action{ID: "image shop/web:1", Verb: trace.VerbImage})
				start(s, 22*sec, "image shop/web:1")
			},
		},
		{
			name: "never to be pulled", want: "the image web:1 cannot be pulled (it failed once), and the next attempt has to wait, 900ms so far in back-off: ErrImageNeverPull",
			cost: 900 * ms, current: true, now: sec,
			write: func(s *casetest.Script) {
				s.Action(0, 100*ms, trace.Action{ID: "image shop/web:1", Verb: trace.VerbImage, Target: "shop/web:1", Err: "ErrImageNeverPull: Container image"})
				s.Wait(100*ms, casetest.Open, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRetry}, Cause: "image shop/web:1: ErrImageNeverPull: Container image"})
			},
		},
		{
			name: "not: another back-off",
			write: func(s *casetest.Script) {
				s.Wait(0, casetest.Open, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: "web"}, Reason: "CrashLoopBackOff"})
			},
			now: 6 * sec,
		},
		{
			name: "not: it failed once, and nothing waited for it",
			write: func(s *casetest.Script) {
				act := s.Action(0, sec, trace.Action{ID: "image shop/web:1", Verb: trace.VerbImage})
				s.Point(900*ms, act, &trace.Decision{By: trace.ByBackoff, Subject: "shop/web:1", Verdict: trace.VerdictWait})
				s.Action(sec, 2*sec, trace.Action{ID: "image shop/web:1", Verb: trace.VerbImage})
				start(s, 2*sec, "image shop/web:1")
			},
		},
		{
			name: "not: another pod's",
			write: func(s *casetest.Script) {
				s.PointOf(casetest.DB, 0, 0, &trace.Decision{By: trace.ByBackoff, Subject: "shop/db:1", Verdict: trace.VerdictWait})
				s.Of(casetest.DB, 0, casetest.Open, 0, &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: "db"}, Reason: "ErrImagePull"})
			},
			now: 6 * sec,
		},
	})
}
