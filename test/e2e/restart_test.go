package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// ending returns a manifest whose only container ends with that code, after a second: containerd notes when a container started once its start
// returns, and a program that ends before that has ended before it started.
func ending(name, policy, code string) string {
	return strings.NewReplacer("NAME", name, "POLICY", policy, "CODE", code).Replace(`
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  restartPolicy: POLICY
  containers: [{name: main, image: $BUSYBOX, command: [sh, -c, 'echo words > /dev/termination-log; sleep 1; exit CODE']}]
`)
}

// TestRestartPolicies has pods of each policy end with success and with failure. Those
// that do not restart keep their container for its logs; those that do wait in CrashLoopBackOff
// after the first restart, which comes at once.
func TestRestartPolicies(t *testing.T) {
	n := newNode(t)
	a := n.start()
	for _, c := range []struct{ name, policy, code string }{
		{"never-good", "Never", "0"},
		{"never-bad", "Never", "3"},
		{"onfailure-good", "OnFailure", "0"},
		{"onfailure-bad", "OnFailure", "3"},
		{"always-good", "Always", "0"},
	} {
		n.put(c.name+".yaml", ending(c.name, c.policy, c.code))
	}
	for name, want := range map[string]trace.ContainerStatus{
		"never-good":     {State: trace.ContainerTerminated, Reason: "Completed"},
		"never-bad":      {State: trace.ContainerTerminated, Reason: "Error", ExitCode: 3},
		"onfailure-good": {State: trace.ContainerTerminated, Reason: "Completed"},
	} {
		phase := "Succeeded"
		if want.ExitCode != 0 {
			phase = "Failed"
		}
		got := statusOf(a.phase(name, phase), "main")
		want.Name, want.Message, want.ID, want.Started, want.Finished = "main", got.Message, got.ID, got.Started, got.Finished
		if got.Started.IsZero() || got.Finished.Before(got.Started) {
			t.Errorf("%s: it ran from %v to %v", name, got.Started, got.Finished)
		}
		if diff := cmp.Diff(want, got); diff != "" || strings.TrimSpace(got.Message) != "words" {
			t.Errorf("%s: message %q (-want +got):\n%s", name, got.Message, diff)
		}
		if list := n.containers(name); len(list) != 1 || list[0].State != runtimeapi.ContainerState_CONTAINER_EXITED {
			t.Errorf("%s has containers %v, want one that has ended", name, list)
		}
	}
	for _, name := range []string{"onfailure-bad", "always-good"} {
		got := a.reason(name, "main", "CrashLoopBackOff")
		if got.State != trace.ContainerWaiting || got.Restarts != 1 || !strings.Contains(got.Message, "back-off 10s restarting failed container=main") {
			t.Errorf("%s: %+v", name, got)
		}
		verdict := a.wait("verdict on "+name, func(r *trace.Record) bool {
			d, ok := r.Event.(*trace.Decision)
			return ok && d.Verdict == trace.VerdictWait && r.Pod.Name == n.pod(name)
		})
		restart := a.wait("restart of "+name, func(r *trace.Record) bool {
			d, ok := r.Event.(*trace.Decision)
			return ok && d.Verdict == trace.VerdictRestart && r.Pod.Name == n.pod(name)
		})
		if restart.Seq > verdict.Seq {
			t.Errorf("%s waited before its first restart", name)
		}
		wait := a.wait("the back-off of "+name, func(r *trace.Record) bool {
			w, ok := r.Event.(*trace.Wait)
			return ok && w.For == trace.WaitBackoff && r.Edge == trace.EdgeBegin && r.Pod.Name == n.pod(name)
		})
		// The wait ends with the second restart, ten seconds after the exit, however late the agent noticed that.
		end := a.wait("the end of that back-off", func(r *trace.Record) bool { return r.Edge == trace.EdgeEnd && r.Span == wait.Span })
		if got.Last == nil {
			t.Errorf("%s backs off without an exit: %+v", name, got)
		} else if d := end.At().Sub(got.Last.Finished); d < 9*time.Second || d > 20*time.Second {
			t.Errorf("%s was started again %s after its exit, want about 10s", name, d)
		}
	}
}

// TestInitFails has an init container that fails for good, and one that succeeds at
// its second attempt.
func TestInitFails(t *testing.T) {
	n := newNode(t)
	a := n.start()
	n.put("fails.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: fails}
spec:
  restartPolicy: Never
  initContainers: [{name: init, image: $BUSYBOX, command: ['false']}]
  containers: [{name: main, image: $BUSYBOX, command: $WAIT}]
`)
	n.put("second.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: second}
spec:
  terminationGracePeriodSeconds: 0
  volumes: [{name: state, emptyDir: {}}]
  initContainers:
  - {name: init, image: $BUSYBOX, command: [sh, -c, '[ -e /state/been ] || { touch /state/been; exit 1; }'], volumeMounts: [{name: state, mountPath: /state}]}
  containers: [{name: main, image: $BUSYBOX, command: $WAIT}]
`)
	a.phase("fails", "Failed")
	for _, c := range n.containers("fails") {
		if c.Metadata.Name != "init" {
			t.Errorf("container %s was made although the init container failed", c.Metadata.Name)
		}
	}
	a.ready("second")
	if got := statusOf(a.phase("second", "Running"), "init"); got.Restarts != 1 {
		t.Errorf("init container: %+v, want 1 restart", got)
	}
}

// TestRestarted has a container killed from outside: it alone is started again, in the same sandbox.
func TestRestarted(t *testing.T) {
	n := newNode(t)
	a := n.start()
	n.put("pair.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: pair}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - {name: a, image: $HTTP}
  - {name: b, image: $BUSYBOX, command: $WAIT}
`)
	a.ready("pair")
	before, sandbox := n.runs("pair"), n.sandboxes("pair")[0].Id
	a.mark()
	if _, err := n.runtime.StopContainer(n.ctx(), &runtimeapi.StopContainerRequest{ContainerId: strings.Fields(before[1])[2]}); err != nil {
		t.Fatal(err)
	}
	a.status("pair", "b run again", func(s trace.PodStatus) bool {
		return s.Ready == 2 && statusOf(s, "b").Restarts == 1
	})
	after := n.runs("pair")
	if len(after) != 2 || after[0] != before[0] || !strings.HasPrefix(after[1], "b 1 ") || n.sandboxes("pair")[0].Id != sandbox {
		t.Errorf("before %v, after %v", before, after)
	}

	// The sandbox of another pod is lost: everything starts again in the next one.
	n.put("web.yaml", web)
	a.ready("web")
	a.mark()
	sandbox = n.sandboxes("web")[0].Id
	if _, err := n.runtime.StopPodSandbox(n.ctx(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: sandbox}); err != nil {
		t.Fatal(err)
	}
	a.status("web", "all run in another sandbox", func(s trace.PodStatus) bool { return s.Ready == 1 && s.SandboxID != sandbox })
	if got := n.runs("web"); len(got) != 1 {
		t.Errorf("after the sandbox was lost: %v", got)
	}
	if got := n.sandboxes("web")[0].Metadata.Attempt; got != 1 {
		t.Errorf("attempt %d of the sandbox, want 1", got)
	}
}
