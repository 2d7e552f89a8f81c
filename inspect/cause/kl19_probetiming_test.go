package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

// started ends a start of a pod that is not ready yet.
func started(s *casetest.Script, at time.Duration) {
	s.Action(at-40*ms, at-20*ms, trace.Action{ID: "create web", Verb: trace.VerbCreate})
	s.Action(at-20*ms, at, trace.Action{ID: "start web", Verb: trace.VerbStart}, "create web")
	s.Milestone(at, trace.MilestoneStarted)
}

func probing(s *casetest.Script, from, to time.Duration) {
	s.Wait(from, to, 0, trace.Wait{For: trace.WaitProbe, Target: trace.Target{Kind: trace.TargetProbe, Name: "readiness", Container: "web"}})
}

func attempt(s *casetest.Script, at time.Duration, result string) {
	s.Span(at, at+10*ms, 0, &trace.ProbeAttempt{Container: "web", Probe: trace.ProbeReadiness, How: trace.ProbeHTTP, Result: trace.ProbeResult(result)})
}

func TestProbeTiming(t *testing.T) {
	run(t, "KL19", []script{
		{
			name: "the period", want: "the readiness probe of web decided when it was ready: after an attempt that failed, the next had to wait for periodSeconds, which took up to 9.99s", cost: 9990 * ms, confidence: cause.Likely,
			write: func(s *casetest.Script) {
				started(s, sec)
				attempt(s, sec, "failure")
				probing(s, 1010*ms, 11*sec)
				attempt(s, 11*sec, "success")
				s.Milestone(11010*ms, trace.MilestoneReady)
			},
		},
		{
			name: "the delay", want: "the readiness probe of web decided when it was ready: its first attempt had to wait for initialDelaySeconds, which took up to 30.0s", cost: 30 * sec, confidence: cause.Likely,
			write: func(s *casetest.Script) {
				started(s, sec)
				probing(s, sec, 31*sec)
				attempt(s, 31*sec, "success")
				s.Milestone(31010*ms, trace.MilestoneReady)
			},
		},
		{
			name: "the period, with the spec", want: "the readiness probe of web decided when it was ready: after an attempt that failed, the next had to wait for periodSeconds (10), which took up to 9.99s", cost: 9990 * ms,
			write: func(s *casetest.Script) {
				s.Probe(trace.ProbeSpec{Probe: trace.ProbeReadiness, Period: 10 * sec})
				started(s, sec)
				attempt(s, sec, "failure")
				probing(s, 1010*ms, 11*sec)
				attempt(s, 11*sec, "success")
				s.Milestone(11010*ms, trace.MilestoneReady)
			},
		},
		{
			name: "the delay, with the spec", want: "the readiness probe of web decided when it was ready: its first attempt had to wait for initialDelaySeconds (30), which took up to 30.0s", cost: 30 * sec,
			write: func(s *casetest.Script) {
				s.Probe(trace.ProbeSpec{Probe: trace.ProbeReadiness, Delay: 30 * sec, Period: 10 * sec})
				started(s, sec)
				probing(s, sec, 31*sec)
				attempt(s, 31*sec, "success")
				s.Milestone(31010*ms, trace.MilestoneReady)
			},
		},
		{
			name: "no delay, with the spec", want: "the readiness probe of web decided when it was ready: its first attempt had to wait for periodSeconds (10), which took up to 7.00s", cost: 7 * sec,
			write: func(s *casetest.Script) {
				s.Probe(trace.ProbeSpec{Probe: trace.ProbeReadiness, Period: 10 * sec})
				started(s, sec)
				probing(s, sec, 8*sec)
				attempt(s, 8*sec, "success")
				s.Milestone(8010*ms, trace.MilestoneReady)
			},
		},
		{
			name: "the delay, still", want: "the readiness probe of web decided when it was ready: its first attempt had to wait for initialDelaySeconds, which took up to 19.0s so far", cost: 19 * sec, confidence: cause.Likely, current: true, now: 20 * sec,
			write: func(s *casetest.Script) {
				started(s, sec)
				probing(s, sec, casetest.Open)
			},
		},
		{
			name: "the threshold", want: "the readiness probe of web decided when it was ready: one success was not enough for successThreshold, which took 9.99s", cost: 9990 * ms,
			write: func(s *casetest.Script) {
				started(s, sec)
				attempt(s, sec, "success")
				probing(s, 1010*ms, 11*sec)
				attempt(s, 11*sec, "success")
				s.Milestone(11010*ms, trace.MilestoneReady)
			},
		},
		{
			name: "not: the program needs long, and is asked often",
			write: func(s *casetest.Script) {
				started(s, sec)
				for at := sec; at < 30*sec; at += 400 * ms {
					attempt(s, at, "failure")
					probing(s, at+10*ms, at+400*ms)
				}
				attempt(s, 30200*ms, "success")
				s.Milestone(30210*ms, trace.MilestoneReady)
			},
		},
		{
			name: "not: it is asked, and not ready yet", now: 40 * sec,
			write: func(s *casetest.Script) {
				started(s, sec)
				attempt(s, sec, "failure")
				probing(s, 1010*ms, casetest.Open)
			},
		},
		{
			name: "not: ready at once",
			write: func(s *casetest.Script) {
				started(s, sec)
				attempt(s, sec, "success")
				s.Milestone(1010*ms, trace.MilestoneReady)
				probing(s, 1010*ms, 11*sec)
				attempt(s, 11*sec, "success")
			},
		},
	})
}
