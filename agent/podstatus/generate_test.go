package podstatus

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
)

func at(second int) time.Time { return time.Date(2026, 1, 1, 0, 0, second, 123, time.UTC) }

func stampAt(second int) metav1.Time { return stamp(at(second)) }

// aPod has an app container for each name.
func aPod(policy v1.RestartPolicy, names ...string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", UID: "u", Generation: 3}}
	p.Spec.RestartPolicy = policy
	for _, n := range names {
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: n, Image: "img:1"})
	}
	return p
}

func withInit(p *v1.Pod, names ...string) *v1.Pod {
	for _, n := range names {
		p.Spec.InitContainers = append(p.Spec.InitContainers, v1.Container{Name: n, Image: "img:1"})
	}
	return p
}

func withSidecar(p *v1.Pod, name string) *v1.Pod {
	p.Spec.InitContainers = append(p.Spec.InitContainers, v1.Container{Name: name, Image: "img:1", RestartPolicy: new(v1.ContainerRestartPolicyAlways)})
	return p
}

func seen(containers ...podstate.Container) *podstate.Pod {
	return &podstate.Pod{
		UID:        "u",
		Sandboxes:  []podstate.Sandbox{{ID: "s1", Ready: true, IPs: []string{"10.0.0.5"}}},
		Containers: containers,
	}
}

func running(name string) podstate.Container {
	return podstate.Container{ID: "id-" + name, Name: name, SandboxID: "s1", State: podstate.Running, StartedAt: at(5), Image: "img:1", ImageID: "sha256:1"}
}

func exited(name string, code int32) podstate.Container {
	c := running(name)
	c.State, c.ExitCode, c.FinishedAt = podstate.Exited, code, at(6)
	return c
}

func created(name string) podstate.Container {
	c := running(name)
	c.State, c.StartedAt = podstate.Created, time.Time{}
	return c
}

func old(c podstate.Container, attempt uint32) podstate.Container {
	c.ID += "-old"
	c.Attempt = attempt
	return c
}

// A container that is created and does not run has a reason, as the one that follows it.
func TestCreatedInit(t *testing.T) {
	p := withInit(withInit(aPod(v1.RestartPolicyNever, "a"), "i"), "j")
	for _, s := range Generate(p, seen(created("i")), Inputs{Now: at(9)}).InitContainerStatuses {
		if w := s.State.Waiting; w == nil || w.Reason != PodInitializing {
			t.Errorf("%s: %+v", s.Name, s.State)
		}
	}
}

func TestGenerateRunning(t *testing.T) {
	p := aPod(v1.RestartPolicyAlways, "b", "a")
	p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
	p.Status.Conditions = []v1.PodCondition{{Type: "example.com/gate", Status: v1.ConditionTrue}}
	got := Generate(p, seen(running("a"), running("b")), Inputs{Now: at(9), Runtime: "containerd", HostIPs: []string{"192.0.2.1"}})
	container := func(name string) v1.ContainerStatus {
		return v1.ContainerStatus{
			Name: name, Image: "img:1", ImageID: "sha256:1", ContainerID: "containerd://id-" + name, Ready: true, Started: new(true),
			State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: stampAt(5)}}, Resources: &v1.ResourceRequirements{},
		}
	}
	b, cpu := container("b"), v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
	b.AllocatedResources, b.Resources.Requests = cpu, cpu
	condition := func(kind v1.PodConditionType) v1.PodCondition {
		return v1.PodCondition{Type: kind, Status: v1.ConditionTrue, ObservedGeneration: 3, LastTransitionTime: stampAt(9)}
	}
	want := v1.PodStatus{
		ObservedGeneration: 3,
		Phase:              v1.PodRunning,
		QOSClass:           v1.PodQOSBurstable,
		StartTime:          new(stampAt(9)),
		HostIP:             "192.0.2.1", HostIPs: []v1.HostIP{{IP: "192.0.2.1"}},
		PodIP: "10.0.0.5", PodIPs: []v1.PodIP{{IP: "10.0.0.5"}},
		ContainerStatuses:  []v1.ContainerStatus{container("a"), b},
		AllocatedResources: cpu, Resources: &v1.ResourceRequirements{Requests: cpu, Limits: v1.ResourceList{}},
		Conditions: []v1.PodCondition{
			{Type: "example.com/gate", Status: v1.ConditionTrue},
			condition(v1.PodReadyToStartContainers), condition(v1.PodInitialized), condition(v1.PodReady),
			condition(v1.ContainersReady), condition(v1.PodScheduled),
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	// Without changes the status is the same, whatever the time.
	again := Generate(p, seen(running("a"), running("b")), Inputs{Now: at(20), Previous: &got, Runtime: "containerd", HostIPs: []string{"192.0.2.1"}})
	if d := cmp.Diff(got, again); d != "" {
		t.Errorf("a second time (-first +second):\n%s", d)
	}
}

func TestPhase(t *testing.T) {
	const (
		always, onFailure, never = v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever
	)
	static := func(p *v1.Pod) *v1.Pod {
		p.Annotations = map[string]string{podspec.AnnotationSource: "file"}
		return p
	}
	backoff := Inputs{Reasons: map[string]Reason{"a": {Reason: "CrashLoopBackOff"}}}
	done := Inputs{Terminal: true}
	cases := []struct {
		name string
		pod  *v1.Pod
		seen *podstate.Pod
		in   Inputs
		want v1.PodPhase
	}{
		{"unknown to the runtime", aPod(always, "a"), nil, Inputs{}, v1.PodPending},
		{"sandbox only", aPod(always, "a"), seen(), Inputs{}, v1.PodPending},
		{"created", aPod(always, "a"), seen(created("a")), Inputs{}, v1.PodPending},
		{"running", aPod(always, "a"), seen(running("a")), Inputs{}, v1.PodRunning},
		{"one of two runs", aPod(always, "a", "b"), seen(running("a")), Inputs{}, v1.PodPending},
		{"one ended, one runs", aPod(never, "a", "b"), seen(exited("a", 1), running("b")), Inputs{}, v1.PodRunning},
		{"Always, ended", aPod(always, "a"), seen(exited("a", 0)), Inputs{}, v1.PodRunning},
		{"Always, backing off", aPod(always, "a"), seen(exited("a", 1)), backoff, v1.PodRunning},
		{"OnFailure, failed", aPod(onFailure, "a"), seen(exited("a", 1)), Inputs{}, v1.PodRunning},
		{"OnFailure, succeeded", aPod(onFailure, "a"), seen(exited("a", 0)), Inputs{}, v1.PodSucceeded},
		{"Never, succeeded", aPod(never, "a"), seen(exited("a", 0)), Inputs{}, v1.PodSucceeded},
		{"Never, failed", aPod(never, "a", "b"), seen(exited("a", 0), exited("b", 3)), Inputs{}, v1.PodFailed},
		{"Always, ended for good", aPod(always, "a"), seen(exited("a", 0)), done, v1.PodSucceeded},
		{"Always, failed for good", aPod(always, "a"), seen(exited("a", 137)), done, v1.PodFailed},
		{"static, ended for good", static(aPod(always, "a")), seen(exited("a", 0)), done, v1.PodRunning},
		{"init running", withInit(aPod(always, "a"), "i"), seen(running("i")), Inputs{}, v1.PodPending},
		{"init done", withInit(aPod(always, "a"), "i"), seen(exited("i", 0)), Inputs{}, v1.PodPending},
		{"init done, app runs", withInit(aPod(always, "a"), "i"), seen(running("a"), exited("i", 0)), Inputs{}, v1.PodRunning},
		{"init removed, app runs", withInit(aPod(always, "a"), "i"), seen(running("a")), Inputs{}, v1.PodRunning},
		{"init failed, Never", withInit(aPod(never, "a"), "i"), seen(exited("i", 1)), Inputs{}, v1.PodFailed},
		{"init failed, OnFailure", withInit(aPod(onFailure, "a"), "i"), seen(exited("i", 1)), Inputs{}, v1.PodPending},
		{"second init to come", withInit(aPod(never, "a"), "i", "j"), seen(exited("i", 0)), Inputs{}, v1.PodPending},
		{"sidecar starting", withSidecar(aPod(always, "a"), "s"), seen(running("s")), Inputs{Started: func(*v1.Container, string) bool { return false }}, v1.PodPending},
		{"sidecar only", withSidecar(aPod(always, "a"), "s"), seen(running("s")), Inputs{}, v1.PodPending},
		{"sidecar and app", withSidecar(aPod(always, "a"), "s"), seen(running("a"), running("s")), Inputs{}, v1.PodRunning},
		{"sidecar restarts under the app", withSidecar(aPod(always, "a"), "s"), seen(running("a"), exited("s", 1)), Inputs{}, v1.PodRunning},
		{"app done, sidecar still runs", withSidecar(aPod(never, "a"), "s"), seen(exited("a", 0), running("s")), Inputs{}, v1.PodRunning},
		{"app and sidecar done", withSidecar(aPod(never, "a"), "s"), seen(exited("a", 0), exited("s", 143)), Inputs{}, v1.PodSucceeded},
		{"no way back from Failed", aPod(always, "a"), seen(running("a")), Inputs{Previous: &v1.PodStatus{Phase: v1.PodFailed}}, v1.PodFailed},
		{"evicted", aPod(always, "a"), seen(running("a")), Inputs{Failed: &Reason{Reason: "Evicted"}}, v1.PodFailed},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.in.Now, c.in.Runtime = at(9), "containerd"
			if got := Generate(c.pod, c.seen, c.in); got.Phase != c.want {
				t.Errorf("phase %s, want %s", got.Phase, c.want)
			}
		})
	}
}

// brief returns a container's status in one line.
func brief(s v1.ContainerStatus) string {
	var b strings.Builder
	part := func(st v1.ContainerState) {
		switch {
		case st.Running != nil:
			b.WriteString("running")
		case st.Terminated != nil:
			b.WriteString("terminated " + st.Terminated.Reason)
		case st.Waiting != nil:
			b.WriteString("waiting " + st.Waiting.Reason)
		}
	}
	part(s.State)
	if s.LastTerminationState != (v1.ContainerState{}) {
		b.WriteString(", last ")
		part(s.LastTerminationState)
	}
	if s.RestartCount > 0 {
		b.WriteString(", restarts " + string(rune('0'+s.RestartCount)))
	}
	if s.Ready {
		b.WriteString(", ready")
	}
	return b.String()
}

func TestContainer(t *testing.T) {
	unknown := running("a")
	unknown.State = podstate.Unknown
	second := running("a")
	second.Attempt = 2
	oom := exited("a", 137)
	oom.Reason = "OOMKilled"
	crash := exited("a", 1)
	crash.Attempt = 3
	prior := func(s v1.ContainerStatus) *v1.PodStatus {
		s.Name = "a"
		return &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{s}}
	}
	ran := prior(v1.ContainerStatus{ContainerID: "containerd://x", RestartCount: 4, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}})
	because := func(reason string) map[string]Reason { return map[string]Reason{"a": {Reason: reason, Message: "m"}} }
	deleted := aPod(v1.RestartPolicyAlways, "a")
	deleted.DeletionTimestamp = new(stampAt(1))
	app := aPod(v1.RestartPolicyAlways, "a")
	cases := []struct {
		name string
		pod  *v1.Pod
		seen *podstate.Pod
		in   Inputs
		want string
	}{
		{"to come", app, nil, Inputs{}, "waiting ContainerCreating"},
		{"to come, after init", withInit(aPod(v1.RestartPolicyAlways, "a"), "i"), nil, Inputs{}, "waiting PodInitializing"},
		{"image cannot be pulled", app, seen(), Inputs{Reasons: because("ImagePullBackOff")}, "waiting ImagePullBackOff"},
		{"created", app, seen(created("a")), Inputs{}, "waiting ContainerCreating"},
		{"running", app, seen(running("a")), Inputs{}, "running, ready"},
		{"running, not ready", app, seen(running("a")), Inputs{Ready: func(*v1.Container, string) bool { return false }}, "running"},
		{"running, not started", app, seen(running("a")), Inputs{Started: func(*v1.Container, string) bool { return false }}, "running"},
		{"a reason does not matter while it runs", app, seen(running("a")), Inputs{Reasons: because("CrashLoopBackOff")}, "running, ready"},
		{"completed", app, seen(exited("a", 0)), Inputs{}, "terminated Completed"},
		{"failed", app, seen(exited("a", 2)), Inputs{}, "terminated Error"},
		{"out of memory", app, seen(oom), Inputs{}, "terminated OOMKilled"},
		{"restarted", app, seen(second, old(exited("a", 1), 1)), Inputs{}, "running, last terminated Error, restarts 2, ready"},
		{"restarted, first attempt removed", app, seen(second, old(exited("a", 1), 1), old(exited("a", 0), 0)), Inputs{}, "running, last terminated Error, restarts 2, ready"},
		{"crash loop", app, seen(crash, old(exited("a", 0), 2)), Inputs{Reasons: because("CrashLoopBackOff")}, "waiting CrashLoopBackOff, last terminated Error, restarts 3"},
		{"no restart, no reason", aPod(v1.RestartPolicyNever, "a"), seen(exited("a", 1)), Inputs{Reasons: because("CrashLoopBackOff")}, "terminated Error"},
		{"being deleted", deleted, seen(exited("a", 1)), Inputs{Reasons: because("CrashLoopBackOff")}, "terminated Error"},
		{"lost", app, seen(unknown), Inputs{Previous: ran}, "terminated ContainerStatusUnknown, restarts 5"},
		{"unknown, never seen running", app, seen(unknown), Inputs{}, "waiting ContainerCreating"},
		{"removed while running", app, seen(), Inputs{Previous: ran}, "waiting ContainerCreating, last terminated ContainerStatusUnknown, restarts 5"},
		{"removed after its end", app, seen(), Inputs{Previous: prior(v1.ContainerStatus{RestartCount: 1, State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{Reason: "Error"}}})}, "terminated Error, restarts 1"},
		{"restarted, the one before removed", app, seen(second), Inputs{Previous: prior(v1.ContainerStatus{ContainerID: "containerd://x", State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{Reason: "OOMKilled"}}})}, "running, last terminated OOMKilled, restarts 2, ready"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.in.Now, c.in.Runtime = at(9), "containerd"
			if got := brief(Generate(c.pod, c.seen, c.in).ContainerStatuses[0]); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestMessageIsCut(t *testing.T) {
	c := exited("a", 1)
	c.Message = strings.Repeat("x", 20<<10)
	got := Generate(aPod(v1.RestartPolicyNever, "a", "b", "c"), seen(c), Inputs{}).ContainerStatuses[0]
	if n := len(got.State.Terminated.Message); n != 4<<10 {
		t.Errorf("message of %d bytes, want 4096", n)
	}
}

// The limit may be in the middle of a multi-byte character.
func TestMessageIsCutBetweenCharacters(t *testing.T) {
	c := exited("a", 1)
	c.Message = "x" + strings.Repeat("\u00e9", 20<<10)
	got := Generate(aPod(v1.RestartPolicyNever, "a", "b", "c"), seen(c), Inputs{}).ContainerStatuses[0].State.Terminated.Message
	if len(got) != 4<<10-1 || !utf8.ValidString(got) {
		t.Errorf("message of %d bytes, valid %t, want 4095, and valid", len(got), utf8.ValidString(got))
	}
}

func TestConditions(t *testing.T) {
	gated := aPod(v1.RestartPolicyAlways, "a")
	gated.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "x"}}
	own := aPod(v1.RestartPolicyAlways, "a")
	own.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: v1.PodInitialized}, {ConditionType: v1.PodReadyToStartContainers}}
	later := aPod(v1.RestartPolicyAlways, "a")
	later.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: v1.PodScheduled}}
	noSandbox := seen(running("a"))
	noSandbox.Sandboxes[0].IPs = nil
	twoReady := seen()
	twoReady.Sandboxes = append(twoReady.Sandboxes, podstate.Sandbox{ID: "s0", Ready: true})
	notReady := seen()
	notReady.Sandboxes[0].Ready = false
	noIP := seen()
	noIP.Sandboxes[0].IPs = nil
	hostNetwork := aPod(v1.RestartPolicyAlways, "a")
	hostNetwork.Spec.HostNetwork = true
	cases := []struct {
		name string
		pod  *v1.Pod
		seen *podstate.Pod
		kind v1.PodConditionType
		want string
	}{
		{"no sandbox", aPod("", "a"), nil, v1.PodReadyToStartContainers, "False PodSandboxNotReady no pod sandbox exists"},
		{"sandbox not ready", aPod("", "a"), notReady, v1.PodReadyToStartContainers, "False PodSandboxNotReady pod sandbox is not ready"},
		{"two sandboxes", aPod("", "a"), twoReady, v1.PodReadyToStartContainers, "False PodSandboxNotReady multiple pod sandboxes are ready and need to be reconciled"},
		{"no address", aPod("", "a"), noIP, v1.PodReadyToStartContainers, "False PodSandboxNotReady pod sandbox has no IP address"},
		{"other network", hostNetwork, seen(), v1.PodReadyToStartContainers, "False PodSandboxNotReady network namespace mode changed and sandbox needs to be recreated"},
		{"sandbox ready", aPod("", "a"), seen(), v1.PodReadyToStartContainers, "True"},
		{"not initialized", withInit(aPod("", "a"), "i", "j"), seen(exited("i", 0)), v1.PodInitialized, "False ContainersNotInitialized containers with incomplete status: [j]"},
		{"sidecar started", withSidecar(aPod("", "a"), "s"), seen(running("s")), v1.PodInitialized, "True"},
		{"app ran: sidecar may restart", withSidecar(aPod("", "a"), "s"), seen(running("a"), exited("s", 1)), v1.PodInitialized, "True"},
		{"succeeded", aPod(v1.RestartPolicyNever, "a"), seen(exited("a", 0)), v1.PodInitialized, "True PodCompleted"},
		{"succeeded is not ready", aPod(v1.RestartPolicyNever, "a"), seen(exited("a", 0)), v1.PodReady, "False PodCompleted"},
		{"failed is not ready", aPod(v1.RestartPolicyNever, "a"), seen(exited("a", 1)), v1.ContainersReady, "False PodFailed"},
		{"one not ready", aPod("", "a", "b"), seen(running("a")), v1.ContainersReady, "False ContainersNotReady containers with unready status: [b]"},
		{"sidecar not ready", withSidecar(aPod("", "a"), "s"), seen(running("a"), exited("s", 1)), v1.PodReady, "False ContainersNotReady containers with unready status: [s]"},
		{"gate", gated, seen(running("a")), v1.PodReady, `False ReadinessGatesNotReady corresponding condition of pod readiness gate "x" does not exist.`},
		{"gates of the agent's own conditions", own, seen(running("a")), v1.PodReady, "True"},
		{"one of them is false", own, noSandbox, v1.PodReady, `False ReadinessGatesNotReady the status of pod readiness gate "PodReadyToStartContainers" is not "True", but False`},
		{"one of them comes later", later, seen(running("a")), v1.PodReady, `False ReadinessGatesNotReady corresponding condition of pod readiness gate "PodScheduled" does not exist.`},
		{"gate does not matter", gated, seen(running("a")), v1.ContainersReady, "True"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := Generate(c.pod, c.seen, Inputs{Now: at(9)})
			cond := findCondition(s.Conditions, c.kind)
			if got := strings.TrimSpace(string(cond.Status) + " " + cond.Reason + " " + cond.Message); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestTransitionTimes(t *testing.T) {
	p := aPod(v1.RestartPolicyAlways, "a")
	first := Generate(p, seen(), Inputs{Now: at(1)})
	second := Generate(p, seen(running("a")), Inputs{Now: at(2), Previous: &first})
	third := Generate(p, seen(exited("a", 1)), Inputs{Now: at(3), Previous: &second})
	want := map[v1.PodConditionType]int{
		v1.PodReadyToStartContainers: 1, v1.PodInitialized: 1, v1.PodReady: 3, v1.ContainersReady: 3, v1.PodScheduled: 1,
	}
	for _, c := range third.Conditions {
		if !c.LastTransitionTime.Time.Equal(stampAt(want[c.Type]).Time) {
			t.Errorf("%s changed at %s, want second %d", c.Type, c.LastTransitionTime, want[c.Type])
		}
	}
	if !third.StartTime.Equal(first.StartTime) {
		t.Errorf("start time moved from %s to %s", first.StartTime, third.StartTime)
	}
}

func TestIPs(t *testing.T) {
	dual := seen()
	dual.Sandboxes[0].IPs = []string{"not an address", "fd00::5", "10.0.0.5", "10.0.0.6"}
	down := seen()
	down.Sandboxes[0].Ready = false
	host := aPod("", "a")
	host.Spec.HostNetwork = true
	before := &v1.PodStatus{PodIP: "10.0.0.9", PodIPs: []v1.PodIP{{IP: "10.0.0.9"}}}
	cases := []struct {
		name string
		pod  *v1.Pod
		seen *podstate.Pod
		in   Inputs
		want string
	}{
		{"IPv4 first", aPod("", "a"), dual, Inputs{HostIPs: []string{"192.0.2.1"}}, "10.0.0.5 fd00::5"},
		{"the node's addresses do not decide", aPod("", "a"), dual, Inputs{HostIPs: []string{"2001:db8::1"}}, "10.0.0.5 fd00::5"},
		{"IPv6 first", aPod("", "a"), dual, Inputs{HostIPs: []string{"192.0.2.1"}, Family: podstate.IPv6}, "fd00::5 10.0.0.5"},
		{"node unknown", aPod("", "a"), dual, Inputs{}, "10.0.0.5 fd00::5"},
		{"host network", host, seen(), Inputs{HostIPs: []string{"192.0.2.1", "2001:db8::1"}}, "192.0.2.1 2001:db8::1"},
		{"kept when the sandbox is down", aPod("", "a"), down, Inputs{Previous: before}, "10.0.0.9"},
		{"a new sandbox has its own", aPod("", "a"), seen(), Inputs{Previous: before}, "10.0.0.5"},
		{"none", aPod("", "a"), nil, Inputs{}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := Generate(c.pod, c.seen, c.in)
			var ips []string
			for _, ip := range s.PodIPs {
				ips = append(ips, ip.IP)
			}
			if got := strings.Join(ips, " "); got != c.want || !strings.HasPrefix(c.want, s.PodIP) {
				t.Errorf("pod IPs %q, IP %q, want %q", got, s.PodIP, c.want)
			}
		})
	}
}

func TestReasonAndMessage(t *testing.T) {
	p := aPod(v1.RestartPolicyAlways, "a")
	evicted := Generate(p, seen(running("a")), Inputs{Now: at(1), Failed: &Reason{"Evicted", "low on memory"}, Disruption: "the node is"})
	later := Generate(p, seen(exited("a", 137)), Inputs{Now: at(2), Previous: &evicted})
	if later.Phase != v1.PodFailed || later.Reason != "Evicted" || later.Message != "low on memory" {
		t.Errorf("an eviction was forgotten: %s %s %s", later.Phase, later.Reason, later.Message)
	}
	// Another agent finds it in the API.
	p.Status = *evicted.DeepCopy()
	found := Generate(p, seen(exited("a", 0)), Inputs{Now: at(3), Terminal: true})
	if found.Phase != v1.PodFailed || found.Reason != "Evicted" || found.Message != "low on memory" {
		t.Errorf("another agent forgot an eviction: %s %s %s", found.Phase, found.Reason, found.Message)
	}
	p.Status = v1.PodStatus{}
	for _, s := range []v1.PodStatus{evicted, later, found} {
		c := findCondition(s.Conditions, v1.DisruptionTarget)
		if c == nil || c.Status != v1.ConditionTrue || c.Reason != "TerminationByKubelet" || c.Message != "the node is" || c.LastTransitionTime.Unix() != at(1).Unix() {
			t.Errorf("DisruptionTarget: %+v", c)
		}
	}
	if over := Generate(p, seen(running("a")), Inputs{Now: at(1), Failed: &Reason{"Evicted", "over its limit"}}); findCondition(over.Conditions, v1.DisruptionTarget) != nil {
		t.Error("a pod over its own limit is to blame itself")
	}
	rejected := Rejected(p, Reason{"NodePorts", "port 80 is taken"}, at(1))
	if rejected.Phase != v1.PodFailed || rejected.Reason != "NodePorts" || rejected.Message != "Pod was rejected: port 80 is taken" {
		t.Errorf("rejected: %+v", rejected)
	}
}

func TestTrace(t *testing.T) {
	p := withSidecar(withInit(aPod(v1.RestartPolicyAlways, "a", "b"), "i"), "s")
	crash := exited("b", 7)
	crash.Attempt = 2
	p.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "dbg", Image: "img:1"}}}
	look := seen(running("a"), crash, running("s"), exited("i", 0), running("dbg"))
	s := Generate(p, look, Inputs{Now: at(1), Runtime: "containerd", Reasons: map[string]Reason{"b": {"CrashLoopBackOff", "back-off 20s"}}})
	want := trace.PodStatus{
		Phase: trace.PodRunning, Ready: 2, Total: 3, Restarts: 2, IP: "10.0.0.5", SandboxID: "s1",
		Containers: []trace.ContainerStatus{
			{Name: "i", Init: true, State: trace.ContainerTerminated, Reason: "Completed", ID: "id-i", Started: stampAt(5).UTC(), Finished: stampAt(6).UTC()},
			{Name: "s", Init: true, State: trace.ContainerRunning, ID: "id-s", Started: stampAt(5).UTC()},
			{Name: "a", State: trace.ContainerRunning, ID: "id-a", Started: stampAt(5).UTC()},
			{Name: "b", State: trace.ContainerWaiting, Reason: "CrashLoopBackOff", Message: "back-off 20s", ID: "id-b", ExitCode: 7, Restarts: 2, Last: &trace.ContainerExit{
				Reason: "Error", ID: "id-b", ExitCode: 7, Started: stampAt(5).UTC(), Finished: stampAt(6).UTC(),
			}},
			{Name: "dbg", Ephemeral: true, State: trace.ContainerRunning, ID: "id-dbg", Started: stampAt(5).UTC()},
		},
	}
	if d := cmp.Diff(want, Trace(p, s, look)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Statuses have the signal that the runtime reports, not the spec's, and only with the feature gate ContainerStopSignals.
func TestStopSignals(t *testing.T) {
	for _, tc := range []struct {
		on       bool
		reported string
		want     *v1.Signal
	}{
		{true, "SIGQUIT", new(v1.SIGQUIT)},
		{true, "", nil},
		{false, "SIGQUIT", nil},
	} {
		pod := aPod(v1.RestartPolicyAlways, "a")
		pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{StopSignal: new(v1.SIGUSR1)}
		c := running("a")
		c.StopSignal = tc.reported
		got := Generate(pod, seen(c), Inputs{Now: at(9), StopSignals: tc.on}).ContainerStatuses[0].StopSignal
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("gate %t, reported %q (-want +got):\n%s", tc.on, tc.reported, diff)
		}
	}
}

// What kubectl get pods shows of a pod whose init container crashes, and of one that was rejected.
func TestTraceBeforeContainersRun(t *testing.T) {
	p := withSidecar(withInit(aPod(v1.RestartPolicyAlways, "a"), "i"), "s")
	crash := exited("i", 1)
	crash.Attempt = 4
	look := seen(crash)
	if got := Trace(p, Generate(p, look, Inputs{Now: at(1)}), look); got.Ready != 0 || got.Total != 2 || got.Restarts != 4 {
		t.Errorf("ready %d of %d, %d restarts; want 0 of 2, 4 restarts", got.Ready, got.Total, got.Restarts)
	}
	if got := Trace(p, Rejected(p, Reason{"OutOfpods", "no room"}, at(1)), nil); got.Ready != 0 || got.Total != 2 {
		t.Errorf("rejected: ready %d of %d, want 0 of 2", got.Ready, got.Total)
	}
}
