package podruntime

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Random pods and observations: plans never panic, are acyclic, never kill what they keep, never run two of a container
// at once, and do nothing twice.
func TestRandomPlans(t *testing.T) {
	for seed := range uint64(5_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		stopped := map[string]bool{"sb1": r.IntN(2) == 0, "sb2": r.IntN(2) == 0}
		pod, seen := randomPod(r), randomSeen(r)
		in := Inputs{
			Pod: pod, Seen: seen, Stopped: stopped, Now: noon, There: There{Cgroup: r.IntN(2) == 0, Dirs: r.IntN(2) == 0, Volumes: r.IntN(2) == 0},
			NotBefore: func(*v1.Container, *podstate.Container) time.Time {
				return noon.Add(time.Duration(r.IntN(3)-1) * time.Second)
			},
			AfterKill: func(*v1.Container) time.Time { return noon.Add(time.Duration(r.IntN(3)-1) * time.Second) },
		}
		bad := map[string]string{"": "liveness", names[r.IntN(len(names))] + "-2": "startup", "a-1": "liveness"}
		if r.IntN(2) == 0 {
			in.Failed = func(id string) (string, bool) { return bad[id], bad[id] != "" }
			in.Started = func(*v1.Container, string) bool { return seed%3 > 0 }
		}
		plan := Make(in)
		checkGraph(t, plan, seen)
		if endsPod(plan) {
			checkEnd(t, plan, seen, in)
			checkKill(t, plan, seen, stopped)
		} else {
			checkKeeps(t, plan, seen, in)
			checkGround(t, plan, in)
		}
		grace := new(r.Int64N(60))
		checkGraph(t, MakeKill(pod, seen, stopped, grace, "deleted"), nil)
		checkKill(t, MakeKill(pod, seen, stopped, grace, "deleted"), seen, stopped)
		checkGraph(t, MakeClean(seen, r.IntN(2) == 0, r.IntN(2) == 0), seen)
		if t.Failed() {
			t.Fatalf("seed %d: pod %+v\nseen %+v\nplan %q", seed, pod.Spec, seen, text(plan))
		}
	}
}

// endsPod reports whether a plan stops the pod's sandbox, and creates no other.
func endsPod(p Plan) bool {
	has := func(v trace.Verb) bool { return slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Verb == v }) }
	return has(trace.VerbStopSandbox) && !has(trace.VerbSandbox)
}

// checkEnd checks that a pod is stopped without being finished only if each of its app containers that runs must be killed, that one of them
// does, and that nothing is started.
func checkEnd(t *testing.T, p Plan, seen *podstate.Pod, in Inputs) {
	t.Helper()
	killed := 0
	for i := range in.Pod.Spec.Containers {
		for _, c := range seen.Containers {
			if c.Name != in.Pod.Spec.Containers[i].Name || c.SandboxID != seen.Sandbox().ID {
				continue
			}
			if c.State == podstate.Running {
				killed++
				if in.Failed == nil {
					t.Errorf("%s runs as it should, and the pod ends", c.ID)
				} else if _, failed := in.Failed(c.ID); !failed {
					t.Errorf("%s runs as it should, and the pod ends", c.ID)
				}
			}
			break // older ones do not count
		}
	}
	if killed == 0 || p.Finished || p.Reset || !p.RetryAt.IsZero() {
		t.Errorf("the pod ends, and %d of its app containers are killed", killed)
	}
	for _, s := range p.Steps {
		if s.Verb != trace.VerbKill && s.Verb != trace.VerbPreStop && s.Verb != trace.VerbStopSandbox {
			t.Errorf("the pod ends, and %q is planned", s.ID)
		}
	}
}

// checkKeeps checks that a container is only killed for a reason.
func checkKeeps(t *testing.T, p Plan, seen *podstate.Pod, in Inputs) {
	t.Helper()
	replaced := slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Verb == trace.VerbSandbox })
	for _, s := range p.Steps {
		switch s.Verb {
		case trace.VerbKill:
			c := seen.Container(s.Target)
			if c == nil || c.State == podstate.Exited || c.State == podstate.Created {
				t.Errorf("%q kills what does not run", s.ID)
				continue
			}
			spec := podspec.Container(in.Pod, c.Name)
			stray := seen.Sandbox() != nil && c.SandboxID != seen.Sandbox().ID
			unwell := in.Failed != nil
			if unwell {
				_, unwell = in.Failed(c.ID)
			}
			if !replaced && !stray && !p.Reset && !unwell && c.State == podstate.Running && (spec == nil || !changed(spec, c)) {
				t.Errorf("%q kills a container that runs as it should", s.ID)
			}
		case trace.VerbCreate:
			if last := seen.Newest(s.Container); last != nil && s.Attempt != last.Attempt+1 {
				t.Errorf("%q is attempt %d after attempt %d", s.ID, s.Attempt, last.Attempt)
			}
		case trace.VerbStart:
			if s.Target == "" && !slices.ContainsFunc(p.Steps, func(o Step) bool { return o.Verb == trace.VerbCreate && o.Container == s.Container }) {
				t.Errorf("%q starts what nobody creates", s.ID)
			}
		}
	}
	if p.Finished && p.RetryAt != (time.Time{}) {
		t.Error("finished, and yet to be tried again")
	}
}

// checkGround checks that missing shared parts are created, once, before everything that needs them.
func checkGround(t *testing.T, p Plan, in Inputs) {
	t.Helper()
	if p.Finished || p.Reset {
		return
	}
	steps := map[string]Step{}
	for _, s := range p.Steps {
		steps[s.ID] = s
	}
	var rests func(s Step, on string) bool
	rests = func(s Step, on string) bool {
		return slices.ContainsFunc(s.Needs, func(id string) bool { return id == on || rests(steps[id], on) })
	}
	for _, g := range []struct {
		id    string
		there bool
		verbs []trace.Verb
	}{
		{"cgroup", in.There.Cgroup, []trace.Verb{trace.VerbSandbox, trace.VerbCreate, trace.VerbStart, trace.VerbResizePod}},
		{"dirs", in.There.Dirs, []trace.Verb{trace.VerbVolumes, trace.VerbSandbox, trace.VerbCreate, trace.VerbStart}},
		{"volumes", in.There.Volumes, []trace.Verb{trace.VerbCreate, trace.VerbStart}},
	} {
		if _, planned := steps[g.id]; planned == g.there {
			t.Errorf("%s is there: %v, and planned: %v", g.id, g.there, planned)
		}
		for _, s := range p.Steps {
			if !g.there && slices.Contains(g.verbs, s.Verb) && !rests(s, g.id) {
				t.Errorf("%q does not need that %s succeeds, which is not there", s.ID, g.id)
			}
		}
	}
}

// checkKill checks that everything that may run is killed, and each sandbox that is not known to be stopped is stopped.
func checkKill(t *testing.T, p Plan, seen *podstate.Pod, stopped map[string]bool) {
	t.Helper()
	targets := map[string]int{}
	for _, s := range p.Steps {
		if s.Verb != trace.VerbPreStop {
			targets[s.Target]++
		}
	}
	if seen == nil {
		return
	}
	for _, c := range seen.Containers {
		want := 0
		if c.State == podstate.Running || c.State == podstate.Unknown {
			want = 1
		}
		if targets[c.ID] != want {
			t.Errorf("container %s is %s and is killed %d times", c.ID, c.State, targets[c.ID])
		}
	}
	for _, s := range seen.Sandboxes {
		want := 0
		if s.Ready || !stopped[s.ID] {
			want = 1
		}
		if targets[s.ID] != want {
			t.Errorf("sandbox %s is ready: %v, stopped before: %v, and is stopped %d times", s.ID, s.Ready, stopped[s.ID], targets[s.ID])
		}
	}
}

var names = []string{"a", "b", "c", "i", "j", "k"} //nolint:gochecknoglobals // a constant table

func randomPod(r *rand.Rand) *v1.Pod {
	policies := []v1.RestartPolicy{v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever}
	p := podWith(policies[r.IntN(3)], names[:1+r.IntN(3)]...)
	p.Spec.HostNetwork = r.IntN(10) == 0
	for _, n := range names[3 : 3+r.IntN(4)] {
		if r.IntN(4) == 0 {
			withInit(p, hooked(probed(sidecarNamed(n))))
		} else if r.IntN(2) == 0 {
			withInit(p, sidecarNamed(n))
		} else {
			withInit(p, containerNamed(n))
		}
	}
	if r.IntN(4) == 0 {
		withDebugger(p)
	}
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		if r.IntN(3) == 0 {
			c.Image, c.ImagePullPolicy = "same:1", []v1.PullPolicy{v1.PullAlways, v1.PullNever}[r.IntN(2)]
		}
		if r.IntN(4) == 0 {
			*c = hooked(probed(*c))
		}
		if r.IntN(5) == 0 {
			c.RestartPolicyRules = []v1.ContainerRestartRule{{
				Action:    v1.ContainerRestartRuleActionRestartAllContainers,
				ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{2}},
			}}
			c.RestartPolicy = new(v1.ContainerRestartPolicy(policies[r.IntN(3)]))
		}
	}
	return p
}

func randomSeen(r *rand.Rand) *podstate.Pod {
	if r.IntN(10) == 0 {
		return nil
	}
	p := &podstate.Pod{UID: "uid", Name: "p", Namespace: "default", At: noon}
	n := r.IntN(3)
	for i := n; i > 0; i-- {
		s := podstate.Sandbox{ID: fmt.Sprintf("sb%d", i), Attempt: uint32(i), Ready: r.IntN(4) > 0, HostNetwork: r.IntN(10) == 0}
		if r.IntN(6) > 0 {
			s.IPs = []string{"10.0.0.1"}
		}
		p.Sandboxes = append(p.Sandboxes, s)
	}
	for attempt := 2; attempt >= 0; attempt-- {
		for _, name := range append(slices.Clone(names), "debugger", "dbg") {
			if r.IntN(3) > 0 {
				continue
			}
			spec := containerNamed(name)
			c := podstate.Container{
				ID: fmt.Sprintf("%s-%d", name, attempt), Name: name, Attempt: uint32(attempt), SandboxID: fmt.Sprintf("sb%d", 1+r.IntN(max(n, 1))),
				State: podstate.State(r.IntN(4)), ExitCode: int32(r.IntN(3)), HasHash: r.IntN(8) > 0, Hash: criconfig.Hash(&spec),
			}
			if r.IntN(8) == 0 {
				c.Hash++
			}
			p.Containers = append(p.Containers, c)
		}
	}
	return p
}

func TestCrashBackoff(t *testing.T) {
	key := crashKey{uid: "u", name: "web", hash: 1}
	after := func(d time.Duration) time.Time { return noon.Add(d) }
	b := NewCrashBackoff(0, time.Minute)
	if got := b.until(key, noon, noon); !got.IsZero() {
		t.Errorf("before the first restart: wait until %s, want none", got)
	}
	// It exits one second after each restart.
	now := noon
	for i, want := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, time.Minute} {
		b.next(key, now, now)
		ended := now.Add(time.Second)
		if got := b.until(key, ended, ended).Sub(ended); got != want {
			t.Errorf("restart %d: back-off %s, want %s", i+1, got, want)
		}
		now = ended.Add(want)
	}
	if got := b.until(crashKey{uid: "u", name: "web", hash: 2}, noon, noon); !got.IsZero() {
		t.Error("a changed container must start afresh")
	}
	// It ran for more than ten minutes: the back-off is reset. It ends at that moment.
	b = NewCrashBackoff(0, time.Minute)
	b.next(key, noon, noon)
	if got := b.until(key, after(10*time.Minute), after(10*time.Minute)); !got.Equal(after(10 * time.Minute)) {
		t.Errorf("ran for just ten minutes: until %s", got)
	}
	if got := b.until(key, after(10*time.Minute+1), after(10*time.Minute+1)); !got.IsZero() {
		t.Errorf("ran for longer: until %s, want none", got)
	}
	b.next(key, after(time.Second), after(11*time.Second))
	b.next(key, after(time.Hour), after(time.Hour))
	if got := b.until(key, after(time.Hour), after(time.Hour)).Sub(after(time.Hour)); got != 10*time.Second {
		t.Errorf("after a long run: %s, want the first delay", got)
	}
	b.forget("u")
	if got := b.until(key, after(time.Hour), after(time.Hour)); !got.IsZero() {
		t.Error("a forgotten pod backs off")
	}
	if short := NewCrashBackoff(0, time.Second); func() time.Time { short.next(key, noon, noon); return short.until(key, noon, noon) }() != noon.Add(time.Second) {
		t.Error("the maximum does not bound the first delay")
	}
	if got := NewCrashBackoff(0, 0).maximum; got != 5*time.Minute {
		t.Errorf("maximum %s by default, want 5m", got)
	}
}

// The delays of an agent that starts with a shorter one: feature gate ReduceDefaultCrashLoopBackOffDecay.
func TestReducedCrashBackoff(t *testing.T) {
	for _, tc := range []struct {
		first, maximum time.Duration
		want           []time.Duration
	}{
		{time.Second, time.Minute, []time.Duration{1, 2, 4, 8, 16, 32, 60, 60}},
		{time.Second, 5 * time.Minute, []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}},
		{10 * time.Second, 3 * time.Second, []time.Duration{3, 3}},
	} {
		b, now, key := NewCrashBackoff(tc.first, tc.maximum), noon, crashKey{uid: "u", name: "web"}
		for i, want := range tc.want {
			b.next(key, now, now)
			ended := now.Add(time.Second)
			until := b.until(key, ended, ended)
			if got := until.Sub(ended); got != want*time.Second {
				t.Errorf("%s to %s, restart %d: %s, want %s", tc.first, tc.maximum, i+1, got, want*time.Second)
			}
			now = until
		}
	}
}
