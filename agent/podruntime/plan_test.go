package podruntime

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// podWith returns a pod with app containers whose images have the containers' names.
func podWith(policy v1.RestartPolicy, names ...string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", UID: "uid"}}
	p.Spec.RestartPolicy = policy
	p.Spec.TerminationGracePeriodSeconds = new(int64(30))
	for _, n := range names {
		p.Spec.Containers = append(p.Spec.Containers, containerNamed(n))
	}
	return p
}

func containerNamed(name string) v1.Container {
	return v1.Container{Name: name, Image: name + ":1", ImagePullPolicy: v1.PullIfNotPresent}
}

func withInit(p *v1.Pod, cs ...v1.Container) *v1.Pod {
	p.Spec.InitContainers = append(p.Spec.InitContainers, cs...)
	return p
}

func sidecarNamed(name string) v1.Container {
	c := containerNamed(name)
	c.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
	return c
}

func podOf(policy v1.RestartPolicy, cs ...v1.Container) *v1.Pod {
	p := podWith(policy)
	p.Spec.Containers = cs
	return p
}

// probed adds a liveness and a startup probe with grace periods of 5 and 7 seconds.
func probed(c v1.Container) v1.Container {
	c.LivenessProbe = &v1.Probe{TerminationGracePeriodSeconds: new(int64(5))}
	c.StartupProbe = &v1.Probe{TerminationGracePeriodSeconds: new(int64(7))}
	return c
}

func hooked(c v1.Container) v1.Container {
	h := &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{c.Name}}}
	c.Lifecycle = &v1.Lifecycle{PostStart: h, PreStop: h}
	return c
}

func withDebugger(p *v1.Pod) *v1.Pod {
	c := containerNamed("dbg")
	p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, v1.EphemeralContainer{
		EphemeralContainerCommon: v1.EphemeralContainerCommon(c), TargetContainerName: "web",
	})
	return p
}

// seen builds an observation from words: "sandbox:0" is a ready sandbox of attempt 0,
// "-sandbox:0" one that is not ready, "web=running" a container in the newest sandbox,
// "web#2@0=exited/1" attempt 2 in sandbox attempt 0 that exited with 1. Newest first.
func seen(words ...string) *podstate.Pod {
	p := &podstate.Pod{UID: "uid", Name: "p", Namespace: "default", At: noon}
	newest := ""
	for _, w := range words {
		if rest, ok := strings.CutPrefix(strings.TrimPrefix(w, "-"), "sandbox:"); ok {
			s := podstate.Sandbox{ID: "sb" + rest, Ready: w[0] != '-', IPs: []string{"10.0.0.1"}}
			if _, err := fmt.Sscan(rest, &s.Attempt); err != nil {
				panic(err)
			}
			p.Sandboxes = append(p.Sandboxes, s)
			if newest == "" {
				newest = s.ID
			}
			continue
		}
		p.Containers = append(p.Containers, containerSeen(w, newest))
	}
	return p
}

func containerSeen(w, sandbox string) podstate.Container {
	who, what, _ := strings.Cut(w, "=")
	who, sb, elsewhere := strings.Cut(who, "@")
	name, attempt, _ := strings.Cut(who, "#")
	state, code, _ := strings.Cut(what, "/")
	c := podstate.Container{Name: name, SandboxID: sandbox, HasHash: true}
	if elsewhere {
		c.SandboxID = "sb" + sb
	}
	if attempt != "" {
		_, _ = fmt.Sscan(attempt, &c.Attempt)
	}
	if code != "" {
		_, _ = fmt.Sscan(code, &c.ExitCode)
	}
	c.ID = fmt.Sprintf("%s-%d", name, c.Attempt)
	for _, s := range []podstate.State{podstate.Unknown, podstate.Created, podstate.Running, podstate.Exited} {
		if strings.TrimSuffix(state, "!") == s.String() {
			c.State = s
		}
	}
	if c.State == podstate.Exited {
		c.FinishedAt = noon.Add(-5 * time.Second)
	}
	spec := containerNamed(name)
	c.Hash = criconfig.Hash(&spec)
	if strings.HasSuffix(state, "!") {
		c.Hash++ // created from another definition
	}
	return c
}

// text renders a plan: a line per step, in order, with what it waits for.
func text(p Plan) []string {
	out := []string{}
	for _, s := range p.Steps {
		line := s.ID
		if s.Attempt > 0 {
			line += fmt.Sprintf(" #%d", s.Attempt)
		}
		if s.Verb == trace.VerbKill || s.Verb == trace.VerbPreStop {
			line += fmt.Sprintf(" %ds", s.Grace)
		}
		if len(s.Needs) > 0 {
			line += " < " + strings.Join(s.Needs, ", ")
		}
		if len(s.After) > 0 {
			line += " << " + strings.Join(s.After, ", ")
		}
		out = append(out, line)
	}
	names := make([]string, 0, len(p.Waiting))
	for n, r := range p.Waiting {
		names = append(names, "wait "+n+": "+r.Reason)
	}
	slices.Sort(names)
	out = append(out, names...)
	if !p.RetryAt.IsZero() {
		out = append(out, "retry in "+p.RetryAt.Sub(noon).String())
	}
	if p.Finished {
		out = append(out, "finished")
	}
	if p.Reset {
		out = append(out, "reset")
	}
	return out
}

func TestMake(t *testing.T) {
	initThenApp := func(policy v1.RestartPolicy) *v1.Pod {
		return withInit(podWith(policy, "web"), containerNamed("one"), containerNamed("two"))
	}
	shared := func(policies ...v1.PullPolicy) *v1.Pod {
		p := podWith(v1.RestartPolicyAlways, "a", "b")
		for i := range policies {
			p.Spec.Containers[i].Image, p.Spec.Containers[i].ImagePullPolicy = "same:1", policies[i]
		}
		return p
	}
	onOwn := func(p *v1.Pod, policy v1.ContainerRestartPolicy, rules ...v1.ContainerRestartRule) *v1.Pod {
		p.Spec.Containers[0].RestartPolicy, p.Spec.Containers[0].RestartPolicyRules = &policy, rules
		return p
	}
	code42 := v1.ContainerRestartRule{Action: v1.ContainerRestartRuleActionRestart, ExitCodes: &v1.ContainerRestartRuleOnExitCodes{
		Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42},
	}}
	all42 := *code42.DeepCopy()
	all42.Action = v1.ContainerRestartRuleActionRestartAllContainers
	crashing := func(*v1.Container, *podstate.Container) time.Time { return noon.Add(10 * time.Second) }
	always, onFailure, never := v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever

	for _, tc := range []struct {
		name    string
		pod     *v1.Pod
		seen    *podstate.Pod
		fresh   bool // nothing is prepared
		backoff func(*v1.Container, *podstate.Container) time.Time
		failed  map[string]string // id → probe
		waits   string            // the container that has not started
		logged  uint32
		stopped map[string]bool // sandboxes that this agent has stopped
		want    []string
		decided []trace.Verdict // checked if set
	}{
		{
			name: "new pod", pod: podWith(always, "web", "log"), fresh: true,
			want: []string{
				"cgroup", "dirs", "volumes < dirs", "sandbox < cgroup, dirs",
				"image web:1", "create web < cgroup, dirs, volumes, sandbox, image web:1", "start web < create web",
				"image log:1", "create log < cgroup, dirs, volumes, sandbox, image log:1", "start log < create log << start web",
			},
		},
		{
			name: "two containers share an image", pod: shared(v1.PullAlways, v1.PullAlways), seen: seen("sandbox:0"),
			want: []string{"image same:1", "create a < image same:1", "start a < create a", "create b < image same:1", "start b < create b << start a"},
		},
		{
			name: "they do not when their policies differ", pod: shared(v1.PullIfNotPresent, v1.PullAlways), seen: seen("sandbox:0"),
			want: []string{
				"image same:1 IfNotPresent", "create a < image same:1 IfNotPresent", "start a < create a",
				"image same:1 Always", "create b < image same:1 Always", "start b < create b << start a",
			},
		},
		{name: "all runs", pod: podWith(always, "web"), seen: seen("sandbox:0", "web=running"), want: []string{}},
		{
			name: "adoption: what all share is made, nothing restarts", pod: podWith(always, "web"), fresh: true,
			seen: seen("sandbox:0", "web=running"), want: []string{"cgroup", "dirs", "volumes < dirs"},
		},
		{
			name: "adoption: one is missing", pod: podWith(always, "web", "log"), fresh: true, seen: seen("sandbox:0", "web=running"),
			want: []string{"cgroup", "dirs", "volumes < dirs", "image log:1", "create log < cgroup, dirs, volumes, image log:1", "start log < create log"},
		},

		// Init containers.
		{
			name: "first init container", pod: initThenApp(always), seen: seen("sandbox:0"),
			want: []string{"image one:1", "create one < image one:1", "start one < create one"},
		},
		{name: "init container runs", pod: initThenApp(always), seen: seen("sandbox:0", "one=running"), want: []string{}},
		{
			name: "second init container", pod: initThenApp(always), seen: seen("sandbox:0", "one=exited/0"),
			want: []string{"image two:1", "create two < image two:1", "start two < create two"},
		},
		{
			name: "app container after them", pod: initThenApp(always), seen: seen("sandbox:0", "two=exited/0", "one=exited/0"),
			want: []string{"image web:1", "create web < image web:1", "start web < create web"},
		},
		{
			name: "an init container that was collected does not run again", pod: initThenApp(always), seen: seen("sandbox:0", "two=running"),
			want: []string{},
		},
		{
			name: "nor when an app container is there", pod: initThenApp(always), seen: seen("sandbox:0", "web=running"),
			want: []string{},
		},
		{
			name: "init container failed, Always", pod: initThenApp(always), seen: seen("sandbox:0", "one=exited/1"),
			want: []string{"image one:1", "create one #1 < image one:1", "start one #1 < create one"},
		},
		{
			name: "init container failed, OnFailure, backs off", pod: initThenApp(onFailure), seen: seen("sandbox:0", "one=exited/1"), backoff: crashing,
			want: []string{"wait one: CrashLoopBackOff", "retry in 10s"},
		},
		{name: "init container failed, Never", pod: initThenApp(never), seen: seen("sandbox:0", "one=exited/1"), want: []string{"finished"}},
		{
			name: "init container's state is unknown", pod: initThenApp(always), seen: seen("sandbox:0", "one=unknown"),
			want: []string{"kill one 30s", "image one:1", "create one #1 < image one:1, kill one", "start one #1 < create one"},
		},
		{name: "init container's state is unknown, Never", pod: initThenApp(never), seen: seen("sandbox:0", "one=unknown"), want: []string{"finished"}},
		{
			name: "init container was created and not started", pod: initThenApp(always), seen: seen("sandbox:0", "one=created"),
			want: []string{"start one"},
		},

		// Sidecars.
		{
			name: "sidecar first", pod: withInit(podWith(always, "web"), sidecarNamed("mesh")), seen: seen("sandbox:0"),
			want: []string{
				"image mesh:1", "create mesh < image mesh:1", "start mesh < create mesh",
				"image web:1", "create web < start mesh, image web:1", "start web < create web << start mesh",
			},
		},
		{
			name: "sidecar with a startup probe first", pod: withInit(podWith(always, "web"), probed(sidecarNamed("mesh"))), seen: seen("sandbox:0"),
			want: []string{"image mesh:1", "create mesh < image mesh:1", "start mesh < create mesh"},
		},
		{
			name: "sidecar that has not passed its startup probe", pod: withInit(podWith(always, "web"), probed(sidecarNamed("mesh"))),
			seen: seen("sandbox:0", "mesh=running"), waits: "mesh", want: []string{},
		},
		{
			name: "sidecar with a hook", pod: withInit(podWith(always, "web"), hooked(sidecarNamed("mesh"))), seen: seen("sandbox:0"),
			want: []string{
				"image mesh:1", "create mesh < image mesh:1", "start mesh < create mesh", "post-start mesh < start mesh",
				"image web:1", "create web < post-start mesh, image web:1", "start web < create web << post-start mesh",
			},
		},
		{
			name: "sidecar failed its startup probe", pod: withInit(podWith(never, "web"), probed(sidecarNamed("mesh"))),
			seen: seen("sandbox:0", "mesh=running"), failed: map[string]string{"mesh-0": "startup"},
			want: []string{"kill mesh 7s", "image mesh:1", "create mesh #1 < image mesh:1, kill mesh", "start mesh #1 < create mesh"},
		},
		{
			name: "app after its sidecar", pod: withInit(podWith(always, "web"), sidecarNamed("mesh")), seen: seen("sandbox:0", "mesh=running"),
			want: []string{"image web:1", "create web < image web:1", "start web < create web"},
		},
		{
			name: "sidecar ended, app runs", pod: withInit(podWith(never, "web"), sidecarNamed("mesh")), seen: seen("sandbox:0", "web=running", "mesh=exited/0"),
			want: []string{"image mesh:1", "create mesh #1 < image mesh:1", "start mesh #1 < create mesh"},
		},
		{
			name: "sidecar crashes before its app: the app waits", pod: withInit(podWith(always, "web"), sidecarNamed("mesh")),
			seen: seen("sandbox:0", "mesh=exited/1"), backoff: crashing, want: []string{"wait mesh: CrashLoopBackOff", "retry in 10s"},
		},
		{
			name: "an earlier sidecar that crashes does not hold later init containers",
			pod:  withInit(podWith(always, "web"), sidecarNamed("mesh"), containerNamed("one")),
			seen: seen("sandbox:0", "one=exited/0", "mesh=exited/1"), backoff: crashing,
			want: []string{"image web:1", "create web < image web:1", "start web < create web", "wait mesh: CrashLoopBackOff", "retry in 10s"},
		},
		{
			name: "sidecar missing later: the app does not need it", pod: withInit(podWith(always, "web", "log"), sidecarNamed("mesh")),
			seen: seen("sandbox:0", "web=exited/1"),
			want: []string{
				"image mesh:1", "create mesh < image mesh:1", "start mesh < create mesh",
				"image web:1", "create web #1 < image web:1", "start web #1 < create web << start mesh",
				"image log:1", "create log < image log:1", "start log < create log << start web",
			},
		},
		{
			name: "sidecar created later, and not started: the app does not need it", pod: withInit(podWith(always, "web"), sidecarNamed("mesh")),
			seen: seen("sandbox:0", "web=exited/1", "mesh=created"),
			want: []string{"start mesh", "image web:1", "create web #1 < image web:1", "start web #1 < create web << start mesh"},
		},
		{
			name: "sidecar missing later: the next init container does not need it", pod: withInit(podWith(always, "web"), sidecarNamed("mesh"), containerNamed("one")),
			seen: seen("sandbox:0", "one=exited/1"),
			want: []string{
				"image mesh:1", "create mesh < image mesh:1", "start mesh < create mesh",
				"image one:1", "create one #1 < image one:1", "start one #1 < create one << start mesh",
			},
		},
		{
			name: "sidecar changed", pod: withInit(podWith(always, "web"), sidecarNamed("mesh")), seen: seen("sandbox:0", "web=running", "mesh=running!"),
			want: []string{"kill mesh 30s", "image mesh:1", "create mesh #1 < image mesh:1, kill mesh", "start mesh #1 < create mesh"},
		},
		{
			name: "sidecar in an unknown state", pod: withInit(podWith(always, "web"), sidecarNamed("mesh")), seen: seen("sandbox:0", "web=running", "mesh=unknown"),
			want: []string{"kill mesh 30s", "image mesh:1", "create mesh #1 < image mesh:1, kill mesh", "start mesh #1 < create mesh"},
		},
		{
			name: "sidecars do not keep a pod whose app is done", pod: withInit(podWith(never, "web"), sidecarNamed("mesh")),
			seen: seen("sandbox:0", "web=exited/0", "mesh=exited/1"), want: []string{"finished"},
		},
		{
			name: "sidecars do not keep a pod whose init container failed", pod: withInit(podWith(never, "web"), sidecarNamed("mesh"), containerNamed("one")),
			seen: seen("sandbox:0", "one=exited/3", "mesh=exited/1"), want: []string{"finished"},
		},

		// The sandbox.
		{
			name: "sandbox is not ready", pod: podWith(always, "web"), seen: seen("-sandbox:0", "web=exited/137"),
			want: []string{"stop-sandbox sb0", "sandbox #1 < stop-sandbox sb0", "image web:1", "create web #1 < sandbox, image web:1", "start web #1 < create web"},
		},
		{
			name: "sandbox is not ready, and this agent has stopped it", pod: podWith(always, "web"), seen: seen("-sandbox:0", "web=exited/137"),
			stopped: map[string]bool{"sb0": true},
			want:    []string{"sandbox #1", "image web:1", "create web #1 < sandbox, image web:1", "start web #1 < create web"},
		},
		{
			name: "sandbox is not ready, and an older one was stopped", pod: podWith(always, "web"), seen: seen("-sandbox:1", "-sandbox:0", "web#1=exited/137"),
			stopped: map[string]bool{"sb0": true},
			want:    []string{"stop-sandbox sb1", "sandbox #2 < stop-sandbox sb1", "image web:1", "create web #2 < sandbox, image web:1", "start web #2 < create web"},
		},
		{
			name: "sandbox is not ready, its container runs", pod: podWith(always, "web"), seen: seen("-sandbox:3", "web#2=running"),
			want: []string{
				"kill web 30s", "stop-sandbox sb3 << kill web", "sandbox #4 < kill web, stop-sandbox sb3", "image web:1",
				"create web #3 < sandbox, image web:1", "start web #3 < create web",
			},
		},
		{
			name: "two sandboxes are ready", pod: podWith(always, "web"), seen: seen("sandbox:1", "sandbox:0", "web#1=running", "web@0=running"),
			want: []string{
				"kill web 30s", "kill web web-0 30s", "stop-sandbox sb1 << kill web, kill web web-0", "stop-sandbox sb0 << kill web, kill web web-0",
				"sandbox #2 < kill web, kill web web-0, stop-sandbox sb1, stop-sandbox sb0",
				"image web:1", "create web #2 < sandbox, image web:1", "start web #2 < create web",
			},
		},
		{
			name: "sandbox lost: init containers run again", pod: initThenApp(always), seen: seen("-sandbox:0", "web=exited/137", "two=exited/0", "one=exited/0"),
			want: []string{"stop-sandbox sb0", "sandbox #1 < stop-sandbox sb0", "image one:1", "create one #1 < sandbox, image one:1", "start one #1 < create one"},
		},
		{
			name: "sandbox lost: an init container waits for its back-off", pod: initThenApp(always), seen: seen("-sandbox:0", "one=exited/0"), backoff: crashing,
			want: []string{"stop-sandbox sb0", "sandbox #1 < stop-sandbox sb0", "wait one: CrashLoopBackOff", "retry in 10s"},
		},
		{
			name: "sandbox lost: a sidecar waits for its back-off", pod: withInit(podWith(always, "web"), sidecarNamed("mesh")), seen: seen("sandbox:1", "web@0=exited/137", "mesh@0=exited/1"), backoff: crashing,
			want: []string{"wait mesh: CrashLoopBackOff", "retry in 10s"},
		},
		{name: "sandbox lost, Never", pod: podWith(never, "web"), seen: seen("-sandbox:0", "web=exited/137"), want: []string{"finished"}},
		{name: "sandbox lost, Never, still running", pod: podWith(never, "web"), seen: seen("-sandbox:0", "web=running"), want: []string{"finished"}},
		{
			name: "sandbox lost before any container, Never", pod: podWith(never, "web"), seen: seen("-sandbox:0"),
			want: []string{"stop-sandbox sb0", "sandbox #1 < stop-sandbox sb0", "image web:1", "create web < sandbox, image web:1", "start web < create web"},
		},
		{name: "sandbox lost, OnFailure, all succeeded", pod: podWith(onFailure, "web"), seen: seen("-sandbox:0", "web=exited/0"), want: []string{"finished"}},
		{
			name: "sandbox lost, OnFailure, one succeeded", pod: podWith(onFailure, "web", "log"), seen: seen("-sandbox:0", "web=exited/0", "log=exited/137"),
			want: []string{"stop-sandbox sb0", "sandbox #1 < stop-sandbox sb0", "image log:1", "create log #1 < sandbox, image log:1", "start log #1 < create log"},
		},
		{name: "finished and its sandbox was collected", pod: podWith(never, "web"), seen: seen("web@0=exited/0"), want: []string{"finished"}},
		{
			name: "finished with init containers and its sandbox was collected", pod: initThenApp(onFailure),
			seen: seen("web@0=exited/0", "one@0=exited/0"), want: []string{"finished"},
		},
		{
			name: "sandbox lost while crashing: the back-off holds", pod: podWith(always, "web"), seen: seen("-sandbox:0", "web=exited/1"), backoff: crashing,
			want: []string{"stop-sandbox sb0", "sandbox #1 < stop-sandbox sb0", "wait web: CrashLoopBackOff", "retry in 10s"},
		},

		// App containers.
		{
			name: "ended, Always", pod: podWith(always, "web"), seen: seen("sandbox:0", "web#4=exited/0"),
			want: []string{"image web:1", "create web #5 < image web:1", "start web #5 < create web"},
		},
		{
			name: "failed, OnFailure", pod: podWith(onFailure, "web"), seen: seen("sandbox:0", "web=exited/2"),
			want: []string{"image web:1", "create web #1 < image web:1", "start web #1 < create web"},
		},
		{name: "succeeded, OnFailure", pod: podWith(onFailure, "web"), seen: seen("sandbox:0", "web=exited/0"), want: []string{"finished"}},
		{name: "failed, Never", pod: podWith(never, "web"), seen: seen("sandbox:0", "web=exited/2"), want: []string{"finished"}},
		{name: "one of two ended, Never", pod: podWith(never, "web", "log"), seen: seen("sandbox:0", "web=exited/2", "log=running"), want: []string{}},
		{
			name: "crash-loop", pod: podWith(always, "web", "log"), seen: seen("sandbox:0", "web=exited/2", "log=running"), backoff: crashing,
			want: []string{"wait web: CrashLoopBackOff", "retry in 10s"},
		},
		{
			name: "changed", pod: podWith(never, "web"), seen: seen("sandbox:0", "web=running!"),
			want: []string{"kill web 30s", "image web:1", "create web #1 < image web:1, kill web", "start web #1 < create web"},
		},
		{
			name: "created, not started", pod: podWith(never, "web"), seen: seen("sandbox:0", "web=created"),
			want: []string{"start web"},
		},
		{
			name: "created, not started, by an agent that was killed", pod: podWith(never, "web"), seen: seen("sandbox:0", "web=created"), fresh: true,
			want: []string{"cgroup", "dirs", "volumes < dirs", "start web < cgroup, dirs, volumes"},
		},
		{
			name: "state unknown", pod: podWith(v1.RestartPolicyOnFailure, "web"), seen: seen("sandbox:0", "web=unknown"),
			want: []string{"kill web 30s", "image web:1", "create web #1 < image web:1, kill web", "start web #1 < create web"},
		},
		{
			// It may have run to its end. Upstream's status says that it has failed, and so has the pod.
			name: "state unknown, Never", pod: podWith(never, "web"), seen: seen("sandbox:0", "web=unknown"),
			want: []string{"finished"},
		},
		{
			name: "state unknown, Never, beside another", pod: podWith(never, "web", "log"), seen: seen("sandbox:0", "web=unknown", "log=running"),
			want: []string{"kill web 30s"},
		},
		{
			name: "state unknown in a lost sandbox, Never of its own", pod: onOwn(podWith(always, "web", "log"), v1.ContainerRestartPolicyNever),
			seen: seen("-sandbox:0", "web=unknown", "log=exited/1"),
			want: []string{
				"kill web 30s", "stop-sandbox sb0 << kill web", "sandbox #1 < kill web, stop-sandbox sb0",
				"image log:1", "create log #1 < sandbox, image log:1", "start log #1 < create log",
			},
		},
		{
			name: "leftovers that are not in the spec are left alone", pod: podWith(always, "web"), seen: seen("sandbox:0", "debugger=running", "web=running"),
			want: []string{},
		},
		{
			name: "leftovers do not keep a pod", pod: podWith(never, "web"), seen: seen("sandbox:0", "debugger=running", "web=exited/0"),
			want: []string{"finished"},
		},

		// Hooks and probes.
		{
			name: "the next start waits for the hook", pod: podOf(always, hooked(containerNamed("web")), containerNamed("log")), seen: seen("sandbox:0"),
			want: []string{
				"image web:1", "create web < image web:1", "start web < create web", "post-start web < start web",
				"image log:1", "create log < image log:1", "start log < create log << post-start web",
			},
		},
		{
			name: "changed, with a hook", pod: podOf(always, hooked(containerNamed("web"))), seen: seen("sandbox:0", "web=running!"),
			want: []string{
				"pre-stop web 30s", "kill web 30s < pre-stop web", "image web:1", "create web #1 < image web:1, kill web",
				"start web #1 < create web", "post-start web #1 < start web",
			},
		},
		{
			name: "liveness failed, OnFailure: started again whatever its exit code", pod: podOf(onFailure, probed(containerNamed("web"))),
			seen: seen("sandbox:0", "web=running"), failed: map[string]string{"web-0": "liveness"},
			want: []string{"kill web 5s", "image web:1", "create web #1 < image web:1, kill web", "start web #1 < create web"},
		},
		{
			name: "liveness failed, Never", pod: podOf(never, probed(containerNamed("web"))),
			seen: seen("sandbox:0", "web=running"), failed: map[string]string{"web-0": "liveness"},
			want:    []string{"kill web 30s", "stop-sandbox sb0 << kill web"},
			decided: []trace.Verdict{trace.VerdictKill},
		},
		{
			name: "liveness failed, Never, another one runs", pod: podOf(never, probed(containerNamed("web")), containerNamed("log")),
			seen: seen("sandbox:0", "web=running", "log=running"), failed: map[string]string{"web-0": "liveness"}, want: []string{"kill web 5s"},
			decided: []trace.Verdict{trace.VerdictKill},
		},
		{
			name: "liveness failed, Never, the others have ended", pod: withInit(podOf(never, probed(containerNamed("web")), containerNamed("log")), sidecarNamed("mesh")),
			seen: seen("sandbox:0", "web=running", "log=exited/0", "mesh=running"), failed: map[string]string{"web-0": "liveness"}, fresh: true,
			want:    []string{"kill web 30s", "kill mesh 30s << kill web", "stop-sandbox sb0 << kill web, kill mesh"},
			decided: []trace.Verdict{trace.VerdictKill, trace.VerdictLeave},
		},
		{
			name: "liveness failed, own policy Never, another one crashes", pod: onOwn(podOf(always, probed(containerNamed("web")), containerNamed("log")), v1.ContainerRestartPolicyNever),
			seen: seen("sandbox:0", "web=running", "log=exited/1"), failed: map[string]string{"web-0": "liveness"}, backoff: crashing,
			want: []string{"kill web 5s", "wait log: CrashLoopBackOff", "retry in 10s"},
		},
		{
			name: "liveness failed again and again", pod: podOf(always, probed(containerNamed("web"))), backoff: crashing,
			seen: seen("sandbox:0", "web#1=running", "web=exited/137"), failed: map[string]string{"web-1": "liveness"},
			want: []string{"kill web 5s", "wait web: CrashLoopBackOff", "retry in 10s"},
		},

		// Ephemeral containers.
		{
			name: "a debugger", pod: withDebugger(podWith(always, "web")), seen: seen("sandbox:0", "web=running"),
			want: []string{"image dbg:1", "create dbg < image dbg:1", "start dbg < create dbg"},
		},
		{name: "a debugger that has ended", pod: withDebugger(podWith(always, "web")), seen: seen("sandbox:0", "web=running", "dbg=exited/1"), want: []string{}},
		{name: "a debugger keeps no pod", pod: withDebugger(podWith(never, "web")), seen: seen("sandbox:0", "web=exited/0", "dbg=running"), want: []string{"finished"}},
		{
			name: "a debugger beside an init container", pod: withDebugger(initThenApp(always)), seen: seen("sandbox:0", "one=running"),
			want: []string{"image dbg:1", "create dbg < image dbg:1", "start dbg < create dbg"},
		},

		// All containers restart.
		{
			name: "own rule restarts all", pod: withInit(onOwn(podWith(never, "web", "log"), v1.ContainerRestartPolicyNever, all42), sidecarNamed("mesh")),
			seen: seen("sandbox:0", "web=exited/42", "log=running", "mesh=running"),
			want: []string{
				"kill log log-0 0s", "remove log log-0 < kill log log-0", "kill mesh mesh-0 0s < remove log log-0", "remove mesh mesh-0 < kill mesh mesh-0",
				"remove web web-0 < remove log log-0, remove mesh mesh-0", "reset",
			},
		},
		{
			name: "own rule restarts all: init containers and sidecars after all app containers, the sources last",
			pod: withInit(onOwn(podWith(never, "web", "log", "sync"), v1.ContainerRestartPolicyNever, all42),
				sidecarNamed("mesh"), containerNamed("one")),
			seen: seen("sandbox:0", "web#1=exited/42", "web=exited/1", "log=running", "sync=exited/0", "mesh=running", "one=exited/0"),
			want: []string{
				"remove web web-0", "kill log log-0 0s", "remove log log-0 < kill log log-0", "remove sync sync-0",
				"kill mesh mesh-0 0s < remove web web-0, remove log log-0, remove sync sync-0", "remove mesh mesh-0 < kill mesh mesh-0",
				"remove one one-0 < remove web web-0, remove log log-0, remove sync sync-0",
				"remove web web-1 < remove web web-0, remove log log-0, remove sync sync-0, remove mesh mesh-0, remove one one-0", "reset",
			},
		},
		{
			name: "own rule restarts all, and the sandbox is lost", pod: onOwn(podWith(never, "web", "log"), v1.ContainerRestartPolicyNever, all42),
			seen: seen("-sandbox:0", "web=exited/42", "log=exited/0"),
			want: []string{"remove log log-0", "remove web web-0 < remove log log-0", "reset"},
		},
		{
			name: "own rule restarts all, and its sandbox was removed", pod: onOwn(podWith(never, "web", "log"), v1.ContainerRestartPolicyNever, all42),
			seen: seen("web@0=exited/42", "log@0=running"),
			want: []string{"kill log log-0 0s", "remove log log-0 < kill log log-0", "remove web web-0 < remove log log-0", "reset"},
		},
		{
			name: "all were removed, and the sandbox is lost", pod: onOwn(podWith(never, "web"), v1.ContainerRestartPolicyNever, all42),
			seen: seen("-sandbox:0"), logged: 1,
			want: []string{"stop-sandbox sb0", "sandbox #1 < stop-sandbox sb0", "image web:1", "create web #1 < sandbox, image web:1", "start web #1 < create web"},
		},
		{
			name: "its logs count the attempts", pod: podWith(always, "web"), seen: seen("sandbox:0"), logged: 3,
			want: []string{"image web:1", "create web #3 < image web:1", "start web #3 < create web"},
		},

		// Policies of one container.
		{
			name: "own policy Always, the pod's Never", pod: onOwn(podWith(never, "web"), v1.ContainerRestartPolicyAlways), seen: seen("sandbox:0", "web=exited/0"),
			want: []string{"image web:1", "create web #1 < image web:1", "start web #1 < create web"},
		},
		{
			name: "own policy Never, the pod's Always", pod: onOwn(podWith(always, "web"), v1.ContainerRestartPolicyNever), seen: seen("sandbox:0", "web=exited/1"),
			want: []string{"finished"},
		},
		{
			name: "own rule matches", pod: onOwn(podWith(never, "web"), v1.ContainerRestartPolicyNever, code42), seen: seen("sandbox:0", "web=exited/42"),
			want: []string{"image web:1", "create web #1 < image web:1", "start web #1 < create web"},
		},
		{
			name: "own rule does not match", pod: onOwn(podWith(always, "web"), v1.ContainerRestartPolicyNever, code42), seen: seen("sandbox:0", "web=exited/41"),
			want: []string{"finished"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.backoff == nil {
				tc.backoff = func(*v1.Container, *podstate.Container) time.Time { return time.Time{} }
			}
			plan := Make(Inputs{
				Pod: tc.pod, Seen: tc.seen, Stopped: tc.stopped, Now: noon, NotBefore: tc.backoff, AfterKill: func(c *v1.Container) time.Time { return tc.backoff(c, nil) }, There: There{Cgroup: !tc.fresh, Dirs: !tc.fresh, Volumes: !tc.fresh},
				Failed:  func(id string) (string, bool) { return tc.failed[id], tc.failed[id] != "" },
				Started: func(c *v1.Container, _ string) bool { return c.Name != tc.waits },
				Attempt: func(string) uint32 { return tc.logged },
			})
			if plan.Init != "" && plan.Init != tc.waits && podspec.Container(tc.pod, plan.Init).StartupProbe != nil {
				t.Errorf("waits for %s", plan.Init)
			}
			if d := cmp.Diff(tc.want, text(plan)); d != "" {
				t.Errorf("plan (-want +got):\n%s", d)
			}
			for i, want := range tc.decided {
				if len(plan.Decisions) != len(tc.decided) || plan.Decisions[i].Verdict != want {
					t.Errorf("decided %+v, want %q", plan.Decisions, tc.decided)
				}
			}
			checkGraph(t, plan, tc.seen)
		})
	}
}

// With grace period 0, containers that are stopped while their pod continues have no preStop hook, and sidecars wait for nobody. A pod that
// terminates has 1 s.
func TestNoGracePeriod(t *testing.T) {
	pod := withInit(podOf(v1.RestartPolicyAlways, hooked(containerNamed("web"))), sidecarNamed("mesh"))
	pod.Spec.TerminationGracePeriodSeconds = new(int64(0))
	planned := func(words ...string) Plan {
		return Make(Inputs{
			Pod: pod, Seen: seen(words...), Now: noon, There: There{Cgroup: true, Dirs: true, Volumes: true},
			NotBefore: func(*v1.Container, *podstate.Container) time.Time { return time.Time{} },
		})
	}
	for _, tc := range []struct {
		name string
		plan Plan
		want []string
	}{
		{"changed", planned("sandbox:0", "web=running!", "mesh=running"), []string{"kill web 0s"}},
		{
			"the sandbox is replaced", planned("-sandbox:0", "web=running", "mesh=running"),
			[]string{"kill web 0s", "kill mesh 0s", "stop-sandbox sb0 << kill web, kill mesh"},
		},
		{
			"terminated", MakeKill(pod, seen("sandbox:0", "web=running", "mesh=running"), nil, nil, "deleted"),
			[]string{"pre-stop web 1s", "kill web 1s < pre-stop web", "kill mesh 1s << kill web", "stop-sandbox sb0 << kill web, kill mesh"},
		},
	} {
		if d := cmp.Diff(tc.want, text(tc.plan)[:len(tc.want)]); d != "" {
			t.Errorf("%s: plan (-want +got):\n%s", tc.name, d)
		}
	}
}

// The Events about containers in an unknown state name their kind.
func TestUnknownStateMessage(t *testing.T) {
	pod := withInit(podWith(v1.RestartPolicyAlways, "web"), sidecarNamed("mesh"), containerNamed("one"))
	for container, words := range map[string][]string{
		"mesh": {"mesh=unknown"}, "one": {"mesh=running", "one=unknown"}, "web": {"mesh=running", "one=exited/0", "web=unknown"},
	} {
		plan := Make(Inputs{Pod: pod, Seen: seen(append([]string{"sandbox:0"}, words...)...), Now: noon, There: There{Cgroup: true, Dirs: true, Volumes: true}})
		want := `Init container is in "unknown" state, try killing it before restart`
		if container == "web" {
			want = `Container is in "unknown" state, try killing it before restart`
		}
		i := slices.IndexFunc(plan.Steps, func(s Step) bool { return s.Verb == trace.VerbKill && s.Container == container })
		if i < 0 || plan.Steps[i].Message != want {
			t.Errorf("%s: plan %+v, want a kill with %q", container, plan.Steps, want)
		}
	}
}

func TestSandboxFor(t *testing.T) {
	host := podWith(v1.RestartPolicyAlways, "web")
	host.Spec.HostNetwork = true
	noIP := seen("sandbox:0")
	noIP.Sandboxes[0].IPs = nil
	onHost := seen("sandbox:0")
	onHost.Sandboxes[0].HostNetwork, onHost.Sandboxes[0].IPs = true, nil
	plain := podWith(v1.RestartPolicyAlways, "web")
	for _, tc := range []struct {
		name  string
		pod   *v1.Pod
		seen  *podstate.Pod
		fault trace.SandboxFault
		want  string
	}{
		{"nothing seen", plain, nil, "", "no sandbox"},
		{"usable", plain, seen("sandbox:0"), "", ""},
		{"an older one is not ready", plain, seen("sandbox:1", "-sandbox:0"), "", ""},
		{"the newest is not ready", plain, seen("-sandbox:1", "sandbox:0"), trace.SandboxNotReady, "sandbox sb1 is not ready"},
		{"two are ready", plain, seen("sandbox:1", "sandbox:0"), trace.SandboxSurplus, "2 sandboxes are ready, one is right"},
		{"no address", plain, noIP, trace.SandboxNoAddress, "sandbox sb0 has no address"},
		{"host network needs none", host, onHost, "", ""},
		{"network changed", host, seen("sandbox:0"), trace.SandboxNetwork, "the network namespace changed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, fault, why := sandboxFor(tc.pod, tc.seen)
			if fault != tc.fault || why != tc.want || (got != nil) != (tc.want == "") {
				t.Errorf("got %v, %q, %q; want %q, %q", got, fault, why, tc.fault, tc.want)
			}
		})
	}
}

func TestMakeKill(t *testing.T) {
	pod := withInit(podWith(v1.RestartPolicyAlways, "web", "log"), sidecarNamed("mesh"), hooked(sidecarNamed("later")))
	for _, tc := range []struct {
		name  string
		seen  *podstate.Pod
		grace *int64
		stop  map[string]bool // stopped already
		want  []string
	}{
		{name: "nothing seen", want: []string{}},
		{
			name: "sidecars last, then the sandbox", seen: seen("sandbox:0", "web=running", "log=exited/0", "mesh=running"),
			want: []string{"kill web 30s", "kill mesh 30s << kill web", "stop-sandbox sb0 << kill web, kill mesh"},
		},
		{
			name: "a shorter grace period", seen: seen("sandbox:0", "web=running"), grace: new(int64(0)),
			want: []string{"kill web 1s", "stop-sandbox sb0 << kill web"},
		},
		{
			name: "unknown counts as running, created does not, a debugger does", seen: seen("-sandbox:0", "web=unknown", "log=created", "debugger=running"),
			want: []string{"kill web 30s", "kill debugger 30s", "stop-sandbox sb0 << kill web, kill debugger"},
		},
		{
			name: "a sandbox that is not ready may have its network", seen: seen("-sandbox:0", "web=exited/0"), want: []string{"stop-sandbox sb0"},
		},
		{
			name: "stopped already", seen: seen("-sandbox:1", "-sandbox:0", "web#1=exited/0"), stop: map[string]bool{"sb1": true, "sb0": true}, want: []string{},
		},
		{
			name: "stopped already, and ready all the same", seen: seen("sandbox:0"), stop: map[string]bool{"sb0": true}, want: []string{"stop-sandbox sb0"},
		},
		{
			name: "two of a name, two sandboxes", seen: seen("sandbox:1", "sandbox:0", "web#1=running", "web@0=running"),
			want: []string{"kill web 30s", "kill web web-0 30s", "stop-sandbox sb1 << kill web, kill web web-0", "stop-sandbox sb0 << kill web, kill web web-0"},
		},
		{
			name: "sidecars in reverse, hooks at once", seen: seen("sandbox:0", "web=running", "mesh=running", "later=running"),
			want: []string{
				"kill web 30s", "pre-stop later 30s", "kill later 30s < pre-stop later << kill web",
				"kill mesh 30s << kill web, kill later", "stop-sandbox sb0 << kill web, kill later, kill mesh",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := MakeKill(pod, tc.seen, tc.stop, tc.grace, "deleted")
			if d := cmp.Diff(tc.want, text(plan)); d != "" {
				t.Errorf("plan (-want +got):\n%s", d)
			}
			checkGraph(t, plan, tc.seen)
		})
	}
}

func TestMakeClean(t *testing.T) {
	for _, tc := range []struct {
		name             string
		seen             *podstate.Pod
		remove, noCgroup bool
		want             []string
	}{
		{name: "nothing seen", want: []string{"unmount", "remove-cgroup"}},
		{name: "again", noCgroup: true, want: []string{"unmount"}},
		{name: "remains stay", seen: seen("-sandbox:0", "web=exited/0"), want: []string{"unmount", "remove-cgroup"}},
		{
			name: "remains go", seen: seen("-sandbox:1", "-sandbox:0", "web#1=exited/0", "web@7=exited/0"), remove: true,
			want: []string{
				"unmount", "remove-sandbox sb1", "remove-sandbox sb0", "remove web web-0", "remove-cgroup",
				"remove-dirs < unmount, remove-sandbox sb1, remove-sandbox sb0, remove web web-0",
			},
		},
		{name: "nothing seen, gone", remove: true, want: []string{"unmount", "remove-cgroup", "remove-dirs < unmount"}},
		{name: "again, gone", remove: true, noCgroup: true, want: []string{"unmount", "remove-dirs < unmount"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := MakeClean(tc.seen, tc.remove, tc.noCgroup)
			if d := cmp.Diff(tc.want, text(plan)); d != "" {
				t.Errorf("plan (-want +got):\n%s", d)
			}
			removes := slices.ContainsFunc(plan.Steps, func(s Step) bool { return s.Verb == trace.VerbRemove })
			equal(t, "removes a container", slices.Contains(tc.want, "remove web web-0"), removes)
			checkGraph(t, plan, tc.seen)
		})
	}
}

// checkGraph checks what must be true of every plan.
func checkGraph(t *testing.T, p Plan, seen *podstate.Pod) {
	t.Helper()
	at := map[string]int{}
	for i, s := range p.Steps {
		if _, twice := at[s.ID]; twice {
			t.Errorf("two steps are called %q", s.ID)
		}
		at[s.ID] = i
	}
	killed, started := map[string]int{}, map[string]int{}
	for i, s := range p.Steps {
		for _, id := range slices.Concat(s.Needs, s.After) {
			// Steps wait only for earlier ones, so there is no cycle and a gated pod can run them in order.
			if j, ok := at[id]; !ok || j >= i {
				t.Errorf("step %q waits for %q, which is not before it", s.ID, id)
			}
		}
		switch s.Verb {
		case trace.VerbKill:
			killed[s.Container] = i
		case trace.VerbStart:
			started[s.Container] = i
		case trace.VerbSandbox, trace.VerbStopSandbox, trace.VerbRemoveSandbox, trace.VerbImage:
			if s.Verb != trace.VerbSandbox && s.Target == "" {
				t.Errorf("step %q has no target", s.ID)
			}
		}
	}
	for name, i := range started {
		if k, ok := killed[name]; ok && k > i {
			t.Errorf("%s is killed after it is started", name)
		}
		if c := seen.Newest(name); c != nil && c.State == podstate.Running {
			if _, ok := killed[name]; !ok {
				t.Errorf("%s runs, is not killed and is started", name)
			}
		}
	}
	if p.Finished && len(p.Steps) > 0 {
		t.Errorf("finished, and yet there is something to do: %v", text(p))
	}
}
