package podruntime

import (
	"slices"
	"strconv"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// The wall clock is set by an hour, before or after a container's exit was seen: this neither skips nor extends its
// back-off. The runtime reports exits by the wall clock. time.Now has a monotonic reading, which the times in these
// tables lack: so the reported time is shifted instead.
func TestBackoffWhenTheClockIsSet(t *testing.T) {
	key := crashKey{uid: "u", name: "web", hash: 1}
	for name, step := range map[string]time.Duration{"forth": time.Hour, "back": -time.Hour, "not at all": 0} {
		t.Run(name, func(t *testing.T) {
			b := NewCrashBackoff(0, 0)
			b.next(key, noon, noon)
			b.next(key, noon.Add(time.Second), noon.Add(11*time.Second)) // 20 s from here
			ended := noon.Add(12 * time.Second)
			told := ended.Add(-step) // reported before the clock was set by step, seen after that
			now := ended.Add(50 * time.Millisecond)
			until := b.until(key, told, now)
			if left := until.Sub(now); left < 18*time.Second || left > 20*time.Second {
				t.Errorf("%s are left, want about 20s", left)
			}
			// A second call gives the same result.
			if again := b.until(key, told, now.Add(5*time.Second)); !again.Equal(until) {
				t.Errorf("until %s, and then %s", until, again)
			}
			// The next one doubles: nothing was reset.
			b.next(key, told, until)
			end := until.Add(time.Second)
			if left := b.until(key, end, end).Sub(end); left != 40*time.Second {
				t.Errorf("the next back-off is %s, want 40s", left)
			}
		})
	}
}

// Old versions of a container are forgotten: a pod may change often.
func TestBackoffOfEarlierVersions(t *testing.T) {
	b, now := NewCrashBackoff(0, time.Minute), time.Unix(1e9, 0)
	b.next(crashKey{"u", "other", 1}, now, now)
	for i := range 1000 {
		now = now.Add(time.Minute)
		b.next(crashKey{"u", "c", uint64(i)}, now, now)
	}
	if n := len(b.m); n > 22 {
		t.Errorf("%d are remembered, want those of the last 20 minutes and the other container's", n)
	}
	if _, ok := b.m[crashKey{"u", "other", 1}]; !ok {
		t.Error("another container is forgotten")
	}
}

// A container that waits for its back-off starts at once when the pod is resized, because its resources may be why it crashes. One that has
// the same amounts continues to wait.
func TestBackoffOfAResizedContainer(t *testing.T) {
	for name, c := range map[string]struct {
		now    v1.Container
		starts bool
	}{
		"more memory":    {sized(containerNamed("web"), "1", "128Mi"), true},
		"less CPU":       {sized(containerNamed("web"), "500m", "64Mi"), true},
		"the same":       {sized(containerNamed("web"), "1000m", "65536Ki"), false},
		"another policy": {sized(containerNamed("web"), "1", "64Mi", v1.ResourceMemory), false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				was := podOf(v1.RestartPolicyAlways, sized(containerNamed("web"), "1", "64Mi"))
				w.rt.cfg.Backoff.next(keyOf(was, &was.Spec.Containers[0]), time.Now(), time.Now())
				crashed := seen("sandbox:0", "web=exited/1")
				crashed.Containers[0].FinishedAt = time.Now()
				w.show(crashed)
				out, err := w.rt.Sync(t.Context(), podOf(v1.RestartPolicyAlways, c.now), 1, nil)
				if starts := slices.Contains(w.did(), "start web"); err != nil || starts != c.starts || out.RetryAt.IsZero() != c.starts {
					t.Errorf("it starts: %t, tried again at %s, %v; want %t", starts, out.RetryAt, err, c.starts)
				}
			})
		})
	}
}

// failing implements Probes: the liveness probe of one container has failed.
type failing string

func (f failing) Failed(id string) (probe, message string, failed bool) {
	return "liveness", "", id == string(f)
}
func (failing) Started(*v1.Pod, *v1.Container, string) bool { return true }

// A container that restarted after a back-off, and whose probe fails, has waited since its exit before: it does not wait again if that is long
// enough ago. If not, it waits from the exit that the kill causes.
func TestBackoffAfterAFailedProbe(t *testing.T) {
	for name, c := range map[string]struct {
		runs   time.Duration // after a crash, 10 s of back-off and a restart, until its probe fails; the next back-off is 20 s
		starts bool
	}{
		"too early":                          {9 * time.Second, false},
		"when the back-off has ended":        {10 * time.Second, true},
		"later, but soon after its restart":  {15 * time.Second, true},
		"after it has run for a long time":   {time.Hour, true},
		"at the moment when it is restarted": {0, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				pod := always("web")
				key := keyOf(pod, &pod.Spec.Containers[0])
				w.rt.cfg.Backoff.next(key, time.Now(), time.Now())
				crashed := time.Now()
				time.Sleep(10 * time.Second)
				w.rt.cfg.Backoff.next(key, crashed, time.Now())
				time.Sleep(c.runs)
				w.rt.cfg.Probes = failing("web-2")
				p := seen("sandbox:0", "web#2=running", "web#1=exited/1")
				p.Containers[1].FinishedAt = crashed
				w.show(p)
				out, err := w.rt.Sync(t.Context(), pod, 1, nil)
				did := w.did()
				if starts := slices.Contains(did, "start web"); err != nil || starts != c.starts || !slices.Contains(did, "stop web-2") {
					t.Errorf("did %q, %v; want it to start: %t", did, err, c.starts)
				}
				if c.starts {
					return
				}
				equal(t, "the back-off ends", crashed.Add(20*time.Second), out.RetryAt)
				equal(t, "says", "back-off 20s restarting failed container=web pod=p_default(uid)", w.rt.Reasons("uid")["web"].Message)
				p = seen("sandbox:0", "web#2=exited/137", "web#1=exited/1")
				p.Containers[0].FinishedAt, p.Containers[1].FinishedAt = time.Now(), crashed
				w.show(p)
				out, err = w.rt.Sync(t.Context(), pod, 1, nil)
				equal(t, "with its own exit, it ends", time.Now().Add(20*time.Second), out.RetryAt)
				equal(t, "error", nil, err)
			})
		})
	}
}

// A back-off ends 10 minutes after the last restart, also if the container has run for a part of them only, and the next one is the first again.
func TestBackoffEndsAfterTheLastRestart(t *testing.T) {
	key, began := crashKey{uid: "u", name: "web", hash: 1}, time.Unix(1e9, 0)
	for name, c := range map[string]struct {
		runs, waits, next time.Duration
		killed            bool // because its probe failed
	}{
		"it crashes at once":              {0, crashMax, crashMax, false},
		"after some minutes":              {4 * time.Minute, crashMax, crashMax, false},
		"after half of the time and more": {6 * time.Minute, 4 * time.Minute, crashBase, false},
		"just before the end":             {crashReset - time.Second, time.Second, crashBase, false},
		"later":                           {crashReset + time.Second, 0, crashBase, false},
		"it is killed after some minutes": {6 * time.Minute, 0, crashMax, true},
		"it is killed after a long time":  {crashReset, 0, crashBase, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewCrashBackoff(0, 0)
			for range 6 {
				b.next(key, began, began)
			}
			now := began.Add(c.runs)
			until := b.until(key, now, now)
			if c.killed {
				until = b.untilAgain(key)
			}
			waits := max(0, until.Sub(now))
			b.next(key, now, now.Add(waits))
			equal(t, "it waits", c.waits, waits)
			equal(t, "the next back-off", c.next, b.delay(key))
		})
	}
}

// A container that is killed again and again because its probe fails waits for its back-off from the last kill.
func TestBackoffOfRepeatedKills(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		pod := always("web")
		exit := time.Now()
		var last time.Time
		for attempt := range 4 { // back-offs of 0, 10 and 20 s end while it runs, that of 40 s does not
			time.Sleep(30 * time.Second)
			name := "web#" + strconv.Itoa(attempt+1)
			w.rt.cfg.Probes = failing("web-" + strconv.Itoa(attempt+1))
			p := seen("sandbox:0", name+"=running", "web#0=exited/137")
			p.Containers[1].FinishedAt = exit
			w.show(p)
			out, err := w.rt.Sync(t.Context(), pod, 1, nil)
			equal(t, "error", nil, err)
			equal(t, "starts", attempt < 4-1, slices.Contains(w.did(), "start web"))
			if attempt == 4-1 {
				equal(t, "the back-off ends", last.Add(40*time.Second), out.RetryAt)
			}
			exit, last = time.Now(), time.Now()
		}
	})
}
