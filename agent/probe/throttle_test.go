package probe

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// limit throttles in half of the periods of 100 ms.
func limit(since time.Time) cgroup.Throttling {
	n := int64(time.Since(since) / (100 * time.Millisecond))
	return cgroup.Throttling{Periods: n, Throttled: n / 2, Stopped: time.Duration(n/2) * 50 * time.Millisecond}
}

func TestThrottle(t *testing.T) {
	type throttle = trace.Throttle
	const ms, sec = time.Millisecond, time.Second
	for _, c := range []struct {
		name       string
		own, whole bool // which of the two limits exists
		slow       time.Duration
		ran        time.Duration // before the first attempt
		answer     outcome
		want       []throttle // of the first two attempts
		asked      int        // readings for those attempts
	}{
		{
			name: "failures: since the container began, then since the one before", own: true, answer: failure("refused"), asked: 2,
			want: []throttle{{Interval: sec, Periods: 10, Throttled: 5, Stopped: 250 * ms}, {Interval: 2 * sec, Periods: 20, Throttled: 10, Stopped: 500 * ms}},
		},
		{
			name: "timeouts: the same", own: true, slow: sec, answer: failure("timed out"), asked: 4,
			want: []throttle{{Interval: 2 * sec, Periods: 20, Throttled: 10, Stopped: 500 * ms}, {Interval: 2 * sec, Periods: 20, Throttled: 10, Stopped: 500 * ms}},
		},
		{
			name: "a timeout long after: since the midst of it", own: true, slow: sec, ran: time.Hour, answer: failure("timed out"), asked: 4,
			want: []throttle{{Interval: 500 * ms, Periods: 5, Throttled: 3, Stopped: 150 * ms}, {Interval: 2 * sec, Periods: 20, Throttled: 10, Stopped: 500 * ms}},
		},
		{
			name: "the pod's limit is known of from the first figures on", whole: true, answer: failure("refused"), asked: 2,
			want: []throttle{{}, {Interval: 2 * sec, Periods: 20, Throttled: 10, Stopped: 500 * ms}},
		},
		{
			name: "the pod's limit, with a timeout", whole: true, slow: sec, answer: failure("timed out"), asked: 4,
			want: []throttle{{Interval: 500 * ms, Periods: 5, Throttled: 3, Stopped: 150 * ms}, {Interval: 2 * sec, Periods: 20, Throttled: 10, Stopped: 500 * ms}},
		},
		{name: "no limit", answer: failure("refused"), want: []throttle{{}, {}}, asked: 2},
		{name: "success is not asked about", own: true, answer: success(""), want: []throttle{{}, {}}},
		{name: "nor a slow one, when it is over", own: true, slow: 600 * ms, answer: success(""), want: []throttle{{}, {}}, asked: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				asked := 0
				w.p.cfg.CPU = func(_ *v1.Pod, id string) (own, whole cgroup.Throttling) {
					if id != "1" {
						t.Errorf("container %q", id)
					}
					asked++
					if c.own {
						own = limit(w.at)
					}
					if c.whole {
						whole = limit(w.at)
					}
					return own, whole
				}
				w.slow = c.slow
				w.answer(Readiness, c.answer)
				w.runs("1", podstate.Running)
				time.Sleep(c.ran)
				pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "web", ReadinessProbe: probeOf(func(p *v1.Probe) {
					p.PeriodSeconds, p.TimeoutSeconds, p.InitialDelaySeconds = 2, 1, 1
				})}}}}
				pod.UID = "u"
				w.p.Add(pod, nil)
				time.Sleep(4*sec + 500*ms) // two attempts: at 1 s and 3 s, or at 0 s and 2 s
				synctest.Wait()
				var got []throttle
				for _, r := range w.rec.Records() {
					if e, ok := r.Event.(*trace.ProbeAttempt); ok && r.Edge == trace.EdgeEnd && len(got) < 2 {
						if got = append(got, throttle{}); e.Throttle != nil {
							got[len(got)-1] = *e.Throttle
						}
					}
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
				if c.asked != asked && c.ran == 0 {
					t.Errorf("asked %d times, want %d", asked, c.asked)
				}
			})
		})
	}
}

// TestNewContainerBeginsAnew: figures of an earlier container are not used.
func TestNewContainerBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		began := time.Now()
		w.p.cfg.CPU = func(*v1.Pod, string) (own, whole cgroup.Throttling) { return limit(began), limit(w.at) }
		w.answer(Readiness, failure("refused"))
		w.runs("1", podstate.Running)
		pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "web", ReadinessProbe: probeOf(func(p *v1.Probe) { p.InitialDelaySeconds, p.PeriodSeconds = 1, 10 })}}}}
		pod.UID = "u"
		w.p.Add(pod, nil)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		began = time.Now()
		w.runs("2", podstate.Running)
		w.p.Changed("u")
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		evs := tracetest.Events[trace.ProbeAttempt](w.rec)
		want := &trace.Throttle{Interval: time.Second, Periods: 10, Throttled: 5, Stopped: 250 * time.Millisecond}
		if d := cmp.Diff(want, evs[len(evs)-1].Throttle); d != "" {
			t.Errorf("of %d (-want +got):\n%s", len(evs), d)
		}
	})
}
