package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// order returns the actions of a pod that have ended well, as "verb container".
func (a *agent) order(pod string, verbs ...string) []string {
	var out []string
	for _, r := range a.find(func(r *trace.Record) bool {
		act, ok := r.Event.(*trace.Action)
		return ok && r.Edge == trace.EdgeEnd && r.Pod.Name == pod && act.Err == "" && slices.Contains(verbs, string(act.Verb))
	}) {
		act := r.Event.(*trace.Action)
		out = append(out, string(act.Verb)+" "+act.Container)
	}
	return out
}

// TestSidecars has two sidecars, the second with a startup probe, and an app that completes: they
// start in order and end in reverse, their hooks run, and the pod has succeeded.
func TestSidecars(t *testing.T) {
	n := newNode(t)
	a := n.start()
	n.put("side.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: side}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 20
  volumes: [{name: v, emptyDir: {}}]
  initContainers:
  - name: first
    image: $BUSYBOX
    restartPolicy: Always
    command: [sh, -c, 'trap "cat /v/log; exit 0" TERM; while :; do sleep 0.1; done']
    volumeMounts: [{name: v, mountPath: /v}]
    lifecycle:
      postStart: {exec: {command: [sh, -c, 'sleep 0.3; echo first-post >> /v/log']}}
      preStop: {exec: {command: [sh, -c, 'echo first-pre >> /v/log']}}
  - name: second
    image: $BUSYBOX
    restartPolicy: Always
    command: [sh, -c, 'echo second >> /v/log; trap "echo second-end >> /v/log; exit 0" TERM; sleep 1; touch /v/up; while :; do sleep 0.1; done']
    volumeMounts: [{name: v, mountPath: /v}]
    startupProbe: {exec: {command: [test, -e, /v/up]}, periodSeconds: 1, failureThreshold: 20}
  containers:
  - {name: main, image: $BUSYBOX, command: [sh, -c, 'echo main >> /v/log; sleep 1'], volumeMounts: [{name: v, mountPath: /v}]}
`)
	a.phase("side", "Succeeded")
	n.await("the first sidecar's words", func() bool { return strings.Contains(n.log("side", "first", 0), "second-end") })
	words := strings.Fields(n.log("side", "first", 0))
	if i := slices.Index(words, "first-pre"); i >= 0 { // hooks run at once, whatever ends when
		words = slices.Delete(words, i, i+1)
	} else {
		t.Error("no preStop hook")
	}
	if got := strings.Join(words, " "); got != "first-post second main second-end" {
		t.Errorf("order %s", got)
	}
	a.wait("the end of the first sidecar", action("kill", "first", trace.EdgeEnd)) // its words come before
	if got := strings.Join(a.order(n.pod("side"), "kill"), ", "); got != "kill second, kill first" {
		t.Errorf("order %s", got)
	}
}

// TestProbesAndHooks has a liveness probe that fails, with a grace period of its own, and a postStart
// hook that fails.
func TestProbesAndHooks(t *testing.T) {
	n := newNode(t)
	a := n.start()
	n.put("sick.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: sick}
spec:
  restartPolicy: OnFailure
  terminationGracePeriodSeconds: 40
  containers:
  - name: main
    image: $BUSYBOX
    command: [sh, -c, 'trap "" TERM; while :; do sleep 1; done']
    livenessProbe: {exec: {command: ['false']}, periodSeconds: 1, failureThreshold: 1, terminationGracePeriodSeconds: 2}
`)
	n.put("hook.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: hook}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - {name: main, image: $BUSYBOX, command: $WAIT, lifecycle: {postStart: {exec: {command: [sh, -c, 'exit 3']}}}}
`)
	if ev := a.event("sick", "Killing"); ev.Message != "Container main failed liveness probe, will be restarted" {
		t.Errorf("event %q", ev.Message)
	}
	a.status("sick", "a restart", func(s trace.PodStatus) bool { return s.Restarts > 0 })
	kill := a.wait("the kill", func(r *trace.Record) bool {
		act, ok := r.Event.(*trace.Action)
		return ok && act.Verb == trace.VerbKill && r.Edge == trace.EdgeEnd && r.Pod.Name == n.pod("sick")
	})
	if kill.Dur > 15*time.Second {
		t.Errorf("killed in %s, want the probe's grace period", kill.Dur)
	}
	a.event("hook", "FailedPostStartHook")
	a.status("hook", "the hook's error", func(s trace.PodStatus) bool {
		r := statusOf(s, "main").Reason
		return r == "PostStartHookError" || r == "CrashLoopBackOff"
	})
}

// TestRestartsAll has a container by whose rules the whole pod begins again.
func TestRestartsAll(t *testing.T) {
	n := newNode(t)
	a := n.start()
	n.put("all.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: all}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  volumes: [{name: v, emptyDir: {}}]
  initContainers:
  - {name: init, image: $BUSYBOX, command: [sh, -c, 'echo init >> /v/log'], volumeMounts: [{name: v, mountPath: /v}]}
  containers:
  - name: main
    image: $BUSYBOX
    restartPolicy: Never
    restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}]
    command: [sh, -c, 'sleep 0.5; [ $(wc -l < /v/log) = 1 ] && exit 42; exit 0']
    volumeMounts: [{name: v, mountPath: /v}]
  - {name: other, image: $BUSYBOX, command: [sh, -c, 'sleep 2']}
`)
	s := a.phase("all", "Succeeded")
	if got := statusOf(s, "main"); got.Restarts != 1 || got.ExitCode != 0 {
		t.Errorf("main %+v", got)
	}
	if got := statusOf(s, "other"); got.Restarts != 1 {
		t.Errorf("other %+v", got)
	}
	for _, c := range n.containers("all") {
		if c.State != runtimeapi.ContainerState_CONTAINER_EXITED || c.Metadata.Attempt != 1 {
			t.Errorf("container %s is attempt %d", c.Metadata.Name, c.Metadata.Attempt)
		}
	}
}
