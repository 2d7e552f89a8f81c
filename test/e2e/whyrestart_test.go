package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
)

// stubborn is a pod whose container ends only by SIGKILL, after its grace period.
const stubborn = `
apiVersion: v1
kind: Pod
metadata: {name: stubborn}
spec:
  terminationGracePeriodSeconds: 20
  containers: [{name: main, image: $BUSYBOX, command: [sh, -c, 'trap "" TERM; while :; do sleep 1; done']}]
`

// slow is a pod that starts for longer than this test needs.
const slow = `
apiVersion: v1
kind: Pod
metadata: {name: slow}
spec:
  terminationGracePeriodSeconds: 0
  initContainers: [{name: first, image: $BUSYBOX, command: [sh, -c, 'sleep 600']}]
  containers: [{name: main, image: $BUSYBOX, command: $WAIT}]
`

// why is what the agent says of a pod, once it is so.
func (n *node) why(pod, what string, is func(*why.Report) bool) *why.Report {
	n.t.Helper()
	var r *why.Report
	n.await(what, func() bool {
		out, err := n.run("why", "default/"+n.pod(pod), "-o", "json", "--socket", n.socket())
		if err != nil {
			return false // it has not been seen yet
		}
		r = &why.Report{}
		if err := json.Unmarshal([]byte(out), r); err != nil {
			n.t.Fatalf("%v: %s", err, out)
		}
		return is(r)
	})
	return r
}

// finding is what the agent says of a pod, once it names a cause.
func (n *node) finding(pod, id string) *why.Report {
	n.t.Helper()
	return n.why(pod, id+" of "+pod, func(r *why.Report) bool {
		return slices.ContainsFunc(r.Findings, func(f cause.Finding) bool { return f.ID == id })
	})
}

// TestWhyAfterRestart kills the agent while one pod terminates and one starts. The next agent says of both what it does with them, that it
// found them, and never that their starts were seen.
func TestWhyAfterRestart(t *testing.T) {
	n := newNode(t)
	a := n.start()
	n.put("stubborn.yaml", stubborn)
	a.ready("stubborn")
	n.put("slow.yaml", slow)
	a.wait("init container runs", action("start", "first", trace.EdgeEnd))
	n.drop("stubborn.yaml")
	a.wait("kill", action("kill", "main", trace.EdgeBegin))
	a.end(syscall.SIGKILL)
	n.start()

	r := n.why("stubborn", "the end of what terminated", func(r *why.Report) bool { return !r.Gone.IsZero() })
	if r.Stage != cause.Over || !r.Found || r.Ending.IsZero() || len(r.Path) > 0 || r.Incomplete || len(r.EndPhases) == 0 {
		t.Errorf("%+v", r)
	}
	if want := "it was found running and was ended by housekeeping: no source has it."; r.Cause != want {
		t.Errorf("why it ended: %q, want %q", r.Cause, want)
	}
	r = n.why("slow", "the start that goes on", func(r *why.Report) bool { return len(r.Waiting) > 0 })
	if r.Stage != cause.Down || r.SeenReady || !r.Found || !strings.Contains(r.Cause, "init container first") {
		t.Errorf("%+v", r)
	}
}

// TestStoppedAgent stops the agent by SIGSTOP while a container's start goes on without it: that time is the agent's, and neither the
// runtime's nor the container's.
func TestStoppedAgent(t *testing.T) {
	n := newNode(t)
	n.put("slow.yaml", strings.Replace(slow, "sleep 600", "sleep 3", 1))
	a := n.start()
	a.wait("init container runs", action("start", "first", trace.EdgeEnd))
	began := time.Now()
	if err := a.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Second) // what the agent does not see
	if err := a.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	stopped := time.Since(began)
	a.ready("slow")
	r := n.finding("slow", "KL40")
	for _, f := range r.Findings {
		switch {
		case f.ID == "KL40" && (f.Confidence != cause.Certain || f.Cost < 7*time.Second || f.Cost > stopped+time.Second),
			f.ID == "KL21" && f.Cost > 6*time.Second, f.ID == "KL15", f.ID == "KL16":
			t.Errorf("%s %s %s: %s", f.ID, f.Confidence, f.Cost, f.Sentence)
		}
	}
}
