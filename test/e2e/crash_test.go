package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// crashing is a pod that has one of everything: an init container, two app containers, a
// volume on disk, one in memory and a projected file.
const crashing = `
apiVersion: v1
kind: Pod
metadata: {name: crashing}
spec:
  terminationGracePeriodSeconds: 3
  volumes:
  - {name: disk, emptyDir: {}}
  - {name: mem, emptyDir: {medium: Memory}}
  - {name: down, downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}
  initContainers: [{name: init, image: $BUSYBOX, command: [sh, -c, 'echo init >> /disk/log'], volumeMounts: [{name: disk, mountPath: /disk}]}]
  containers:
  - name: a
    image: $BUSYBOX
    command: $WAIT
    volumeMounts: [{name: disk, mountPath: /disk}, {name: mem, mountPath: /mem}, {name: down, mountPath: /down}]
  - {name: b, image: $HTTP}
`

// killPoints are the records at which the agent is killed: each step of a start, from
// the source's to the last container's, and of an end.
var killPoints = []struct {
	name   string
	at     func(*trace.Record) bool
	ending bool // the manifest is removed first
}{
	{"source has it", func(r *trace.Record) bool { e, ok := r.Event.(*trace.Source); return ok && e.Op == trace.OpAdd }, false},
	{"worker begins", func(r *trace.Record) bool { _, ok := r.Event.(*trace.Worker); return ok }, false},
	{"cgroup begins", action("cgroup", "", trace.EdgeBegin), false},
	{"cgroup is made", action("cgroup", "", trace.EdgeEnd), false},
	{"volumes begin", action("volumes", "", trace.EdgeBegin), false},
	{"volumes are mounted", action("volumes", "", trace.EdgeEnd), false},
	{"image begins", action("image", "", trace.EdgeBegin), false},
	{"sandbox begins", action("sandbox", "", trace.EdgeBegin), false},
	{"sandbox is made", action("sandbox", "", trace.EdgeEnd), false},
	{"init is created", action("create", "init", trace.EdgeEnd), false},
	{"init is started", action("start", "init", trace.EdgeEnd), false},
	{"a's creation begins", action("create", "a", trace.EdgeBegin), false},
	{"a is created", action("create", "a", trace.EdgeEnd), false},
	{"a's start begins", action("start", "a", trace.EdgeBegin), false},
	{"a is started", action("start", "a", trace.EdgeEnd), false},
	{"b is started", action("start", "b", trace.EdgeEnd), false},
	{"kill of a begins", action("kill", "a", trace.EdgeBegin), true},
	{"sandbox stops", action("stop-sandbox", "", trace.EdgeBegin), true},
	{"volumes are unmounted", action("unmount", "", trace.EdgeEnd), true},
	{"sandbox is removed", action("remove-sandbox", "", trace.EdgeEnd), true},
	{"cgroup is removed", action("remove-cgroup", "", trace.EdgeEnd), true},
}

// TestKilled kills the agent by SIGKILL at each point. The next agent brings the pod to
// where it should be: one sandbox, each container once, each volume mounted once; and,
// where the pod was to end, nothing of it.
func TestKilled(t *testing.T) {
	for i, p := range killPoints {
		t.Run(fmt.Sprintf("%02d %s", i, p.name), func(t *testing.T) {
			n := newNode(t)
			var a *agent
			if p.ending {
				a = n.launch(syscall.SIGKILL, p.at)
				n.put("crashing.yaml", crashing)
				a.ready("crashing")
				n.drop("crashing.yaml")
			} else {
				n.put("crashing.yaml", crashing)
				a = n.launch(syscall.SIGKILL, p.at)
			}
			a.dies()
			if a.cmd.ProcessState.Success() {
				t.Fatal("the agent ended by itself")
			}
			a = n.start()
			if p.ending {
				return // what is left is looked at when the node is finished
			}
			n.recovered(a)
		})
	}
}

// TestEndedWhileStarting ends the agent by SIGTERM in the middle of a start: it ends in order
// and the next one brings the pod up, once.
func TestEndedWhileStarting(t *testing.T) {
	for _, p := range killPoints {
		if p.name != "sandbox begins" && p.name != "a's creation begins" && p.name != "a is started" {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			n := newNode(t)
			n.put("crashing.yaml", crashing)
			a := n.launch(syscall.SIGTERM, p.at)
			a.dies()
			a.stop()
			n.recovered(n.start())
		})
	}
}

// TestKilledInBurst kills the agent while many pods start at once.
func TestKilledInBurst(t *testing.T) {
	n := newNode(t)
	var pods []string
	for i := range 8 {
		pods = append(pods, fmt.Sprintf("burst%d", i))
		n.put(pods[i]+".yaml", named(pods[i]))
	}
	started := 0
	a := n.launch(syscall.SIGKILL, func(r *trace.Record) bool {
		if m, ok := r.Event.(*trace.Milestone); ok && m.Name == trace.MilestoneStarted {
			started++
		}
		return started == 3
	})
	a.dies()
	a = n.start()
	a.ready(pods...)
	for _, p := range pods {
		if got := n.runs(p); len(got) != 1 {
			t.Errorf("%s runs %v", p, got)
		}
		n.await("housekeeping", func() bool { return len(n.sandboxes(p)) == 1 })
	}
}

// recovered sees that the crashing pod is as it should be: one sandbox, each container
// once, each volume mounted once.
func (n *node) recovered(a *agent) {
	n.t.Helper()
	a.ready("crashing")
	var names []string
	for _, r := range n.runs("crashing") {
		names = append(names, strings.Fields(r)[0])
	}
	if got := strings.Join(names, " "); got != "a b" {
		n.t.Errorf("containers that run: %s, want a b", got)
	}
	n.await("housekeeping", func() bool { return len(n.sandboxes("crashing")) == 1 })
	for _, c := range n.containers("crashing") {
		if c.PodSandboxId != n.sandboxes("crashing")[0].Id {
			n.t.Errorf("container %s is in a sandbox that is gone", c.Id)
		}
	}
	seen := map[string]bool{}
	for _, m := range n.mounts(n.root) {
		if seen[m] {
			n.t.Errorf("%s is mounted twice", m)
		}
		seen[m] = true
	}
	if len(seen) != 2 {
		n.t.Errorf("mounts %v, want those of the memory volume and the projected file", seen)
	}
}

// dies waits until the agent has ended, by the signal that launch sends it at a record.
func (a *agent) dies() {
	a.node.t.Helper()
	select {
	case <-a.done:
	case <-time.After(deadline):
		a.node.t.Fatalf("the agent does not end within %s: the record at which it is killed did not come", deadline)
	}
}
