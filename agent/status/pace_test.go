package status

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const ms = time.Millisecond

// moment is what the agent reports of a pod at a time since its first status.
type moment struct {
	at time.Duration
	s  v1.PodStatus
}

// with returns a copy of s with the edits.
func with(s v1.PodStatus, edits ...func(*v1.PodStatus)) v1.PodStatus {
	s = *s.DeepCopy()
	for _, e := range edits {
		e(&s)
	}
	return s
}

func ip(s *v1.PodStatus) {
	s.PodIP = "10.0.0.1"
	s.Conditions = append(s.Conditions, v1.PodCondition{Type: v1.PodReadyToStartContainers, Status: v1.ConditionTrue})
}

func message(text string) func(*v1.PodStatus) { return func(s *v1.PodStatus) { s.Message = text } }

func restarts(n int32) func(*v1.PodStatus) {
	return func(s *v1.PodStatus) { s.ContainerStatuses[0].RestartCount = n }
}

func waits(reason string) func(*v1.PodStatus) {
	return func(s *v1.PodStatus) {
		s.ContainerStatuses[0].State = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason}}
	}
}

// unready is a container that runs and is not ready, of a pod that runs.
func unready(s *v1.PodStatus) {
	s.Phase, s.ContainerStatuses[0].State = v1.PodRunning, v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.Now()}}
}

func startup(s *v1.PodStatus) { s.ContainerStatuses[0].Started = new(true) }

func inits(state v1.ContainerState) func(*v1.PodStatus) {
	return func(s *v1.PodStatus) { s.InitContainerStatuses = []v1.ContainerStatus{{Name: "init", State: state}} }
}

// The writes of lives of pods, at their exact times. API calls take 10 ms.
func TestPace(t *testing.T) {
	exited := func(code int32) v1.ContainerState {
		return v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: code}}
	}
	runs := v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	crashing := with(start(), ip, unready, waits("CrashLoopBackOff"), restarts(1))
	for name, c := range map[string]struct {
		life []moment
		want string // times of the patches, in milliseconds
	}{
		"a fast start": {
			[]moment{{0, start()}, {200 * ms, with(start(), ip)}, {350 * ms, with(run(), ip)}}, "0 350",
		},
		"a slow start": {
			[]moment{{0, start()}, {3 * time.Second, with(start(), ip)}, {3300 * ms, with(run(), ip)}}, "0 3300",
		},
		"a start that pulls for long": {
			[]moment{{0, start()}, {200 * ms, with(start(), ip)}, {9 * time.Second, with(run(), ip)}}, "0 700 9000",
		},
		"a start with an init container": {[]moment{
			{0, with(start(), inits(v1.ContainerState{}))},
			{2000 * ms, with(start(), ip, inits(v1.ContainerState{}))},
			{2100 * ms, with(start(), ip, inits(runs))},
			{2200 * ms, with(start(), ip, inits(exited(0)))},
			{2300 * ms, with(run(), ip, inits(exited(0)))},
		}, "0 2300"},
		"a start with probes": {[]moment{
			{0, start()},
			{200 * ms, with(start(), ip)},
			{350 * ms, with(start(), ip, unready)},
			{2000 * ms, with(start(), ip, unready, startup)},
			{2100 * ms, with(run(), ip, startup)},
		}, "0 350 2100"},
		"a start while the first write is under way": {
			[]moment{{0, start()}, {5 * ms, with(start(), ip)}, {100 * ms, with(run(), ip)}}, "0 100",
		},
		"an init container fails": {[]moment{
			{0, with(start(), inits(runs))}, {2000 * ms, with(start(), inits(exited(1)))},
		}, "0 2000"},
		"an image that cannot be pulled": {[]moment{
			{0, start()},
			{2000 * ms, with(start(), ip)},
			{2300 * ms, with(start(), ip, waits("ErrImagePull"))},
			{12 * time.Second, with(start(), ip, waits("ImagePullBackOff"))},
		}, "0 2300 12000"},
		"a restart": {
			[]moment{{0, run()}, {time.Minute, with(run(), restarts(1))}}, "0 60000",
		},
		"a restart of a container of a pod that is not ready": {
			[]moment{{0, with(start(), unready)}, {time.Minute, with(start(), unready, restarts(1))}}, "0 60000",
		},
		"a restart whose exit is seen": {[]moment{
			{0, run()},
			{60000 * ms, with(start(), unready, func(s *v1.PodStatus) { s.ContainerStatuses[0].State = exited(1) })},
			{60100 * ms, with(run(), restarts(1))},
		}, "0 60000 60100"},
		"a crash loop": {[]moment{
			{0, run()},
			{10 * time.Second, with(run(), restarts(1))},
			{11 * time.Second, crashing},
			{21 * time.Second, with(run(), restarts(2))},
			{22 * time.Second, with(crashing, restarts(2))},
		}, "0 10000 11000 21000 22000"},
		"a change that follows closely": {
			[]moment{{0, run()}, {time.Second, with(run(), message("a"))}, {1050 * ms, with(run(), message("b"))}}, "0 1000 1110",
		},
		"a change that follows less closely": {
			[]moment{{0, run()}, {time.Second, with(run(), message("a"))}, {1300 * ms, with(run(), message("b"))}}, "0 1000 1300",
		},
		"two that follow closely go together": {[]moment{
			{0, run()}, {time.Second, with(run(), message("a"))}, {1030 * ms, with(run(), message("b"))}, {1090 * ms, with(run(), message("c"))},
		}, "0 1000 1110"},
		"a change that follows while a write is under way": {
			[]moment{{0, run()}, {time.Second, with(run(), message("a"))}, {1002 * ms, with(run(), message("b"))}}, "0 1000 1102",
		},
		"what waits goes with an urgent change": {[]moment{
			{0, run()}, {time.Second, with(run(), message("a"))}, {1030 * ms, with(run(), message("b"))}, {1040 * ms, with(start(), unready)},
		}, "0 1000 1040"},
		"a step that waits goes with a failure": {
			[]moment{{0, start()}, {2000 * ms, with(start(), ip)}, {2100 * ms, with(start(), ip, waits("CreateContainerError"))}}, "0 2100",
		},
	} {
		t.Run(name, func(t *testing.T) {
			running(t, func(c *Config) { c.Settle = DefaultSettle }, func(b *bench) {
				b.live(c.life, c.want)
				last := c.life[len(c.life)-1].s
				if got := b.now("a").Status; got.Phase != last.Phase || got.Message != last.Message {
					t.Errorf("the API has %s %q", got.Phase, got.Message)
				}
			})
		})
	}
}

// While pods wait for the runtime, the first status of a pod goes with its first step, or with what is urgent.
func TestPaceOfFirst(t *testing.T) {
	for name, c := range map[string]struct {
		life []moment
		want string
	}{
		"a pod that waits for long":    {[]moment{{0, start()}, {19 * time.Second, with(start(), ip)}, {19100 * ms, with(run(), ip)}}, "10000 19100"},
		"a start within the wait":      {[]moment{{0, start()}, {time.Second, with(start(), ip)}, {1300 * ms, with(run(), ip)}}, "1300"},
		"a start that pulls for long":  {[]moment{{0, start()}, {time.Second, with(start(), ip)}, {5 * time.Second, with(run(), ip)}}, "1500 5000"},
		"a failure":                    {[]moment{{0, start()}, {200 * ms, with(start(), waits("ErrImagePull"))}}, "200"},
		"a pod that runs already":      {[]moment{{0, run()}}, "0"},
		"a pod that fails immediately": {[]moment{{0, with(start(), waits("ErrImagePull"))}}, "0"},
		"a pod that is not admitted":   {[]moment{{0, ended(1)}}, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			running(t, func(c *Config) { c.Settle, c.Busy = DefaultSettle, func() bool { return true } }, func(b *bench) {
				b.live(c.life, c.want)
			})
		})
	}
}

// Pods that come together: the first of them does not see the others wait yet.
func TestPaceOfTheFirstOfMany(t *testing.T) {
	var busy atomic.Bool
	for name, c := range map[string]struct {
		from time.Duration // pods wait from then on
		life []moment
		want string
	}{
		"alone":                          {time.Hour, []moment{{0, start()}, {200 * ms, with(start(), ip)}, {350 * ms, with(run(), ip)}}, "20 350"},
		"alone, with a fast step":        {time.Hour, []moment{{0, start()}, {5 * ms, with(start(), ip)}, {350 * ms, with(run(), ip)}}, "20 350"},
		"others wait soon":               {10 * ms, []moment{{0, start()}, {200 * ms, with(start(), ip)}, {350 * ms, with(run(), ip)}}, "350"},
		"others wait later":              {30 * ms, []moment{{0, start()}, {200 * ms, with(start(), ip)}, {350 * ms, with(run(), ip)}}, "20 350"},
		"others wait, and it hangs":      {10 * ms, []moment{{0, start()}, {19 * time.Second, with(run(), ip)}}, "10000 19000"},
		"others wait, and it fails soon": {10 * ms, []moment{{0, start()}, {15 * ms, with(start(), waits("ErrImagePull"))}}, "15"},
	} {
		t.Run(name, func(t *testing.T) {
			busy.Store(false)
			running(t, func(c *Config) { c.Settle, c.Busy = DefaultSettle, busy.Load }, func(b *bench) {
				time.AfterFunc(c.from, func() { busy.Store(true) })
				b.live(c.life, c.want)
			})
		})
	}
}

// live sets the statuses of a pod at their times, with API calls that take 10 ms, and checks when they are written.
func (b *bench) live(life []moment, want string) {
	b.t.Helper()
	b.api.takes = 10 * ms
	p, began := b.pod("a"), time.Now()
	for _, m := range life {
		time.Sleep(m.at - time.Since(began))
		b.Set(b.t.Context(), p, m.s)
	}
	time.Sleep(time.Minute)
	if d := cmp.Diff(want, b.times(began)); d != "" {
		b.t.Errorf("patches (-want +got):\n%s", d)
	}
}

// times returns the times of the API calls, in milliseconds.
func (b *bench) times(since time.Time) string {
	synctest.Wait()
	b.api.mu.Lock()
	defer b.api.mu.Unlock()
	var out []string
	for _, at := range b.api.when {
		out = append(out, fmt.Sprint(at.Sub(since).Milliseconds()))
	}
	return strings.Join(out, " ")
}

// A pod that changes all the time is written twice a second, and again at once after a quiet time.
func TestPaceOfManyChanges(t *testing.T) {
	running(t, func(c *Config) { c.Settle = DefaultSettle }, func(b *bench) {
		p, began := b.pod("a"), time.Now()
		b.Set(b.t.Context(), p, run())
		time.Sleep(time.Second)
		for i := range 300 {
			b.Set(b.t.Context(), p, with(run(), message(fmt.Sprint(i))))
			time.Sleep(10 * ms)
		}
		time.Sleep(time.Second)
		b.Set(b.t.Context(), p, with(run(), message("later")))
		if got, want := b.times(began), "0 1000 1100 1300 1700 2200 2700 3200 3700 4200 5000"; got != want {
			t.Errorf("patches at %s, want %s", got, want)
		}
	})
}

// A deletion is one PATCH and one DELETE, however the end of the containers and of what else the pod has come; a slow cleanup
// delays the news that no container runs by 100 ms, by 1 s on a node that works, by 3 s on a busy one.
func TestPaceOfDeletion(t *testing.T) {
	for _, c := range []struct {
		cleanup       time.Duration
		busy, working bool // since 50 ms after the end of the containers
		want          string
	}{
		{0, false, false, "patch delete 0 10"},
		{60 * ms, false, false, "patch delete 60 70"},
		{time.Second, false, false, "patch patch delete 100 1000 1010"},
		{900 * ms, false, true, "patch delete 900 910"},
		{2 * time.Second, false, true, "patch patch delete 950 2000 2010"},
		{time.Second, true, true, "patch delete 1000 1010"},
		{4 * time.Second, true, true, "patch patch delete 2950 4000 4010"},
	} {
		busy, working, cleanup, want := c.busy, c.working, c.cleanup, c.want
		var held, begun atomic.Bool
		held.Store(true)
		running(t, func(c *Config) {
			c.Settle, c.Running = DefaultSettle, func(types.UID) bool { return held.Load() }
			c.Busy, c.Working = func() bool { return busy && begun.Load() }, func() bool { return working && begun.Load() }
		}, func(b *bench) {
			b.api.takes = 10 * ms
			p := b.pod("a")
			runs := run()
			b.Set(b.t.Context(), p, runs)
			time.Sleep(time.Minute)
			b.calls()
			p = b.change("a", deleting)
			b.Observe(b.t.Context(), p.UID, p)
			b.Set(b.t.Context(), p, runs) // the containers are being stopped
			time.Sleep(60 * ms)
			began := time.Now()
			time.AfterFunc(50*ms, func() { begun.Store(true) })
			b.Set(b.t.Context(), p, ended(0))
			time.Sleep(cleanup)
			held.Store(false)
			b.Gone(b.t.Context(), p)
			time.Sleep(time.Minute)
			times := b.times(began)
			var verbs []string
			for _, c := range b.calls() {
				verbs = append(verbs, strings.Fields(c)[0])
			}
			if got := strings.Join(verbs, " ") + " " + times; got != want {
				t.Errorf("a cleanup of %s, busy %v: %s, want %s", cleanup, busy, got, want)
			}
		})
	}
}

// A pod that takes its time to end has its generation observed after half a second.
func TestPaceOfGeneration(t *testing.T) {
	running(t, func(c *Config) { c.Settle = DefaultSettle }, func(b *bench) {
		p, runs := b.pod("a"), run()
		b.Set(b.t.Context(), p, runs)
		time.Sleep(time.Minute)
		b.calls()
		began := time.Now()
		p = b.change("a", deleting)
		b.Observe(b.t.Context(), p.UID, p)
		b.Set(b.t.Context(), p, runs)
		time.Sleep(time.Minute)
		if got := b.times(began); got != "500" || b.now("a").Status.ObservedGeneration != 2 {
			t.Errorf("patches at %s, generation %d", got, b.now("a").Status.ObservedGeneration)
		}
	})
}

// A pod that is being deleted and loses its readiness while it runs is written at once.
func TestPaceOfReadinessAtTheEnd(t *testing.T) {
	running(t, func(c *Config) { c.Settle = DefaultSettle }, func(b *bench) {
		p := b.pod("a", deleting)
		b.Set(b.t.Context(), p, run())
		b.calls()
		b.Set(b.t.Context(), p, with(start(), unready))
		expect(t, "not ready", b.calls(), "patch a")
	})
}

// Thirty pods at once need two writes each, as one pod does; small changes of thirty pods go at once.
func TestPaceOfManyPods(t *testing.T) {
	running(t, func(c *Config) { c.Settle = DefaultSettle }, func(b *bench) {
		b.api.takes = 10 * ms
		var pods []*v1.Pod
		for i := range 30 {
			pods = append(pods, b.pod(fmt.Sprint("p", i)))
		}
		set := func(s v1.PodStatus) {
			for _, p := range pods {
				b.Set(b.t.Context(), p, s)
			}
		}
		set(start())
		time.Sleep(4 * time.Second)
		set(with(start(), ip))
		time.Sleep(300 * ms)
		set(with(run(), ip))
		time.Sleep(time.Second)
		if n := len(b.calls()); n != 60 {
			t.Errorf("%d writes for 30 starts, want 60", n)
		}
		set(with(run(), ip, restarts(1)))
		time.Sleep(40 * ms) // eight at a time
		if n := len(b.calls()); n != 30 {
			t.Errorf("%d writes for 30 restarts, want 30", n)
		}
	})
}
