package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

const several = `
apiVersion: v1
kind: Pod
metadata: {name: several}
spec:
  terminationGracePeriodSeconds: 3
  volumes: [{name: out, hostPath: {path: $DIR}}]
  initContainers:
  - {name: one, image: $BUSYBOX, command: [sh, -c, 'sleep 0.2; echo one >> /out/order'], volumeMounts: [{name: out, mountPath: /out}]}
  - {name: two, image: $BUSYBOX, command: [sh, -c, 'echo two >> /out/order'], volumeMounts: [{name: out, mountPath: /out}]}
  containers:
  - name: a
    image: $BUSYBOX
    command: [sh, -c, 'trap "echo TERM >> /out/a-ended; exit 0" TERM; echo a >> /out/order; while :; do sleep 0.1; done']
    volumeMounts: [{name: out, mountPath: /out}]
  - {name: b, image: $HTTP}
  - {name: c, image: $BUSYBOX, command: [sh, -c, 'trap "" TERM; while :; do sleep 1; done']}
`

// TestLifecycle takes a pod with two init containers and three app containers from
// its manifest to its end: order, names, one sandbox, the grace period for the container
// that ignores SIGTERM, none for those that do not.
func TestLifecycle(t *testing.T) {
	n := newNode(t)
	a := n.start()
	const grace = 12 // seconds: clearly more than a container takes that ends by itself, on a busy machine too
	n.put("several.yaml", strings.Replace(several, "GracePeriodSeconds: 3", fmt.Sprint("GracePeriodSeconds: ", grace), 1))
	a.ready("several")
	n.await("container a to write", func() bool { return n.read("order") == "one\ntwo\na" })
	var names []string
	for _, r := range n.runs("several") {
		names = append(names, strings.Join(strings.Fields(r)[:2], " "))
	}
	if diff := cmp.Diff([]string{"a 0", "b 0", "c 0"}, names); diff != "" {
		t.Errorf("what runs (-want +got):\n%s", diff)
	}

	a.mark()
	n.drop("several.yaml")
	a.gone("several")
	if got := n.read("a-ended"); got != "TERM" {
		t.Errorf("container a was told %q", got)
	}
	for _, c := range []struct {
		container string
		killed    bool
	}{{"a", false}, {"c", true}} {
		r := a.find(action("kill", c.container, trace.EdgeEnd))
		if len(r) != 1 {
			t.Fatalf("container %s was ended %d times", c.container, len(r))
		}
		if waited := r[0].Dur.Seconds() >= grace; waited != c.killed {
			t.Errorf("container %s took %s to end; grace period used up: want %v", c.container, r[0].Dur, c.killed)
		}
	}
	if left := n.left(); len(left) > 0 {
		t.Errorf("left after the pod was gone: %v", left)
	}
}

// TestReadded removes a pod and adds the same manifest again at once: the same UID
// ends and starts again.
func TestReadded(t *testing.T) {
	n := newNode(t)
	a := n.start()
	n.put("web.yaml", web)
	a.ready("web")
	first := n.runs("web")
	a.mark()
	n.drop("web.yaml")
	a.milestone("web", "terminating")
	n.put("web.yaml", web)
	a.gone("web")
	a.ready("web")
	second := n.runs("web")
	if len(second) != 1 || cmp.Equal(first, second) {
		t.Errorf("first %v, then %v: want one other container", first, second)
	}
}

// TestRemovedWhileStarting removes a pod whose init container runs, and one whose sandbox is being made.
func TestRemovedWhileStarting(t *testing.T) {
	n := newNode(t)
	a := n.start()
	n.put("slow.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: slow}
spec:
  terminationGracePeriodSeconds: 0
  initContainers: [{name: init, image: $BUSYBOX, command: $WAIT}]
  containers: [{name: main, image: $BUSYBOX, command: $WAIT}]
`)
	n.put("web.yaml", web)
	a.wait("sandbox of web begun", func(r *trace.Record) bool {
		return r.Pod.Name == n.pod("web") && action("sandbox", "", trace.EdgeBegin)(r)
	})
	n.drop("web.yaml")
	a.gone("web")
	a.wait("init container of slow", action("start", "init", trace.EdgeEnd))
	n.drop("slow.yaml")
	a.gone("slow")
	if got := a.find(action("create", "main", trace.EdgeBegin)); len(got) != 0 {
		t.Error("the app container was created although its init container never ended")
	}
}

// TestChanged gives a pod another image: the old pod ends, then the new one starts; never both.
func TestChanged(t *testing.T) {
	n := newNode(t)
	a := n.start()
	n.put("web.yaml", web)
	a.ready("web")
	old := n.sandboxes("web")[0]
	a.mark()
	n.put("web.yaml", strings.ReplaceAll(web, "image: $HTTP", "image: $BUSYBOX\n    command: $WAIT"))
	gone := a.wait("old pod gone", func(r *trace.Record) bool {
		m, ok := r.Event.(*trace.Milestone)
		return ok && m.Name == trace.MilestoneGone && r.Pod.UID == old.Labels[labelUID]
	})
	begun := a.wait("new sandbox", func(r *trace.Record) bool {
		return action("sandbox", "", trace.EdgeBegin)(r) && r.Pod.UID != old.Labels[labelUID]
	})
	if begun.Seq < gone.Seq {
		t.Error("the new pod's sandbox was begun before the old pod was gone")
	}
	a.ready("web")
	if got := n.sandboxes("web"); len(got) != 1 || got[0].Labels[labelUID] == old.Labels[labelUID] {
		t.Errorf("sandboxes after the change: %v", got)
	}
	if got := n.containers("web"); len(got) != 1 || got[0].State != runtimeapi.ContainerState_CONTAINER_RUNNING {
		t.Errorf("containers after the change: %v", got)
	}
}

const web = `
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: shop}, annotations: {note: hello}}
spec:
  terminationGracePeriodSeconds: 3
  containers:
  - name: web
    image: $HTTP
`
