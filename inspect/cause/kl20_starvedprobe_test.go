package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

// usage tells of the second that ends at a time; busy and stalls are in percent of it.
func usage(s *casetest.Script, at time.Duration, busy int, stalls ...trace.Stall) {
	u := &trace.Usage{Interval: sec, CPUs: 2, Busy: 2 * sec * time.Duration(busy) / 100, CPU: 20 * ms, Stalls: stalls}
	s.PointOf(node(), at, 0, u)
}

func stall(resource string, percent int) trace.Stall {
	return trace.Stall{Resource: trace.Resource(resource), Some: sec * time.Duration(percent) / 100}
}

func TestStarvedProbe(t *testing.T) {
	timesOut := func(s *casetest.Script, kind, state string) {
		started(s, sec)
		s.Span(sec, 2*sec, 0, &trace.ProbeAttempt{
			Container: "web", Probe: trace.ProbeKind(kind), Result: trace.ProbeFailure, State: trace.ProbeState(state), TimedOut: true, Output: "Get \"http://10.0.0.7/\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
		})
	}
	// held is an attempt that fails with the figures of the container's limit, of the second before its end.
	held := func(s *casetest.Script, from, to time.Duration, output string, throttled int64, stopped time.Duration) {
		s.Span(from, to, 0, &trace.ProbeAttempt{
			Container: "web", Probe: trace.ProbeReadiness, Result: trace.ProbeFailure, State: trace.ProbeDenies, Output: output, TimedOut: output == "timed out",
			Throttle: &trace.Throttle{Interval: sec, Periods: 10, Throttled: throttled, Stopped: stopped},
		})
	}
	ready := func(s *casetest.Script) {
		probing(s, 2*sec, 11*sec)
		attempt(s, 11*sec, "success")
		s.Milestone(11010*ms, trace.MilestoneReady)
	}
	run(t, "KL20", []script{
		{
			name: "busy", want: "the readiness probe of web ran into its timeout once while the node's processors were saturated, which cost 10.0s", cost: 10 * sec, confidence: cause.Likely,
			write: func(s *casetest.Script) { timesOut(s, "readiness", ""); usage(s, 2*sec, 98); ready(s) },
		},
		{
			name: "stalled", want: "the readiness probe of web ran into its timeout once", cost: 10 * sec, confidence: cause.Likely,
			write: func(s *casetest.Script) {
				timesOut(s, "readiness", "")
				usage(s, 2*sec, 80, stall("cpu", 60))
				ready(s)
			},
		},
		{
			name: "a liveness probe gives up", want: "the liveness probe of web ran into its timeout once", confidence: cause.Likely,
			write: func(s *casetest.Script) {
				timesOut(s, "liveness", "failure")
				usage(s, 2*sec, 98)
				s.Milestone(2*sec, trace.MilestoneReady)
			},
		},
		{
			name: "its own limit", want: "the readiness probe of web ran into its timeout once while the container's own CPU limit held it back, which cost 10.0s",
			cost: 10 * sec, confidence: cause.Certain,
			write: func(s *casetest.Script) { started(s, sec); held(s, sec, 2*sec, "timed out", 9, 800*ms); ready(s) },
		},
		{
			name: "its own limit, and a busy node", want: "the readiness probe of web ran into its timeout once while the container's own CPU limit held it back", cost: 10 * sec, confidence: cause.Certain,
			write: func(s *casetest.Script) {
				started(s, sec)
				held(s, sec, 2*sec, "timed out", 9, 800*ms)
				usage(s, 2*sec, 98)
				ready(s)
			},
		},
		{
			name: "a start that its own limit holds back", want: "the readiness probe of web failed twice while the container's own CPU limit held it back, which cost 1.20s",
			cost: 1200 * ms, confidence: cause.Likely,
			write: func(s *casetest.Script) {
				started(s, sec)
				probing(s, sec, 2*sec)
				held(s, 2*sec, 2*sec, "connection refused", 8, 600*ms)
				probing(s, 2*sec, 3*sec)
				held(s, 3*sec, 3*sec, "connection refused", 8, 600*ms)
				probing(s, 3*sec, 4*sec)
				attempt(s, 4*sec, "success")
				s.Milestone(4010*ms, trace.MilestoneReady)
			},
		},
		{
			name:  "not: a limit that is seldom used up",
			write: func(s *casetest.Script) { started(s, sec); held(s, sec, 2*sec, "timed out", 2, 800*ms); ready(s) },
		},
		{
			name:  "not: a limit that is used up late in each period",
			write: func(s *casetest.Script) { started(s, sec); held(s, sec, 2*sec, "timed out", 9, 100*ms); ready(s) },
		},
		{
			name:  "not: an idle node",
			write: func(s *casetest.Script) { timesOut(s, "readiness", ""); usage(s, 2*sec, 30); ready(s) },
		},
		{
			name: "not: busy at another time",
			write: func(s *casetest.Script) {
				timesOut(s, "readiness", "")
				usage(s, 2*sec, 30)
				usage(s, 5*sec, 99)
				ready(s)
			},
		},
		{
			name: "not: the program refuses",
			write: func(s *casetest.Script) {
				started(s, sec)
				attempt(s, sec, "failure")
				usage(s, 2*sec, 99)
				ready(s)
			},
		},
		{
			name: "not: liveness times out once and recovers",
			write: func(s *casetest.Script) {
				timesOut(s, "liveness", "success")
				usage(s, 2*sec, 98)
				s.Milestone(2*sec, trace.MilestoneReady)
			},
		},
	})
}
