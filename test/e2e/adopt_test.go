package e2e

import (
	"maps"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// named gives the web pod another name.
func named(name string) string { return strings.Replace(web, "name: web,", "name: "+name+",", 1) }

// TestAdopted ends the agent by SIGTERM and by SIGKILL: the pods continue and the next
// agent restarts none of their containers. Meanwhile one manifest goes, one changes and one comes.
func TestAdopted(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			n := newNode(t)
			a := n.start()
			n.put("several.yaml", several)
			for _, name := range []string{"stays", "goes", "changes"} {
				n.put(name+".yaml", named(name))
			}
			a.ready("several", "stays", "goes", "changes")
			stays, all := n.runs("stays"), n.runs("several")
			old := n.sandboxes("changes")[0].Labels[labelUID]
			a.end(sig)
			if len(n.runs("goes")) != 1 || len(n.runs("changes")) != 1 {
				t.Error("pods do not go on without the agent")
			}

			n.drop("goes.yaml")
			n.put("changes.yaml", strings.Replace(named("changes"), "image: $HTTP", "image: $HTTP\n    env: [{name: NEW, value: x}]", 1))
			n.put("comes.yaml", named("comes"))
			a = n.start()
			for _, name := range []string{"stays", "several"} {
				if m := a.milestone(name, "started"); !m.Adopted {
					t.Errorf("%s was not adopted", name)
				}
			}
			a.ready("stays", "comes", "several", "changes")
			a.gone("goes")
			if diff := cmp.Diff(append(stays, all...), append(n.runs("stays"), n.runs("several")...)); diff != "" {
				t.Errorf("adopted containers (-before +after):\n%s", diff)
			}
			if got := n.sandboxes("changes"); len(got) != 1 || got[0].Labels[labelUID] == old {
				t.Errorf("the pod whose manifest changed has sandboxes %v", got)
			}
			if got := n.sandboxes("goes"); len(got) != 0 {
				t.Errorf("the pod whose manifest went has sandboxes %v", got)
			}
			gone := a.wait("old pod gone", func(r *trace.Record) bool {
				m, ok := r.Event.(*trace.Milestone)
				return ok && m.Name == trace.MilestoneGone && r.Pod.UID == old
			})
			sandbox := a.wait("new sandbox", func(r *trace.Record) bool {
				return action("sandbox", "", trace.EdgeBegin)(r) && r.Pod.Name == n.pod("changes")
			})
			if sandbox.Seq < gone.Seq {
				t.Error("the changed pod's sandbox was begun before the old pod was gone")
			}
			n.await("container a to write", func() bool { return strings.HasSuffix(n.read("order"), "a") })
			if got := n.read("order"); got != "one\ntwo\na" {
				t.Errorf("containers wrote %q: init containers ran again", got)
			}
		})
	}
}

// TestIdentity compares labels and annotations of real containers with what an upstream
// kubelet of 1.37 puts there, so that either agent adopts the other's pods.
func TestIdentity(t *testing.T) {
	n := newNode(t)
	a := n.start()
	n.put("web.yaml", web)
	a.ready("web")
	sandbox, container := n.sandboxes("web")[0], n.containers("web")[0]
	uid := sandbox.Labels[labelUID]
	if len(uid) != 32 {
		t.Errorf("UID %q: a static pod's is an MD5 in hexadecimal digits", uid)
	}
	id := map[string]string{labelPod: n.pod("web"), "io.kubernetes.pod.namespace": "default", labelUID: uid}
	want := map[string]string{"app": "shop"}
	maps.Copy(want, id)
	if diff := cmp.Diff(want, sandbox.Labels); diff != "" {
		t.Errorf("labels of the sandbox (-want +got):\n%s", diff)
	}
	id[labelContainer] = "web"
	if diff := cmp.Diff(id, container.Labels); diff != "" {
		t.Errorf("labels of the container (-want +got):\n%s", diff)
	}
	got := container.Annotations
	if len(got["io.kubernetes.container.hash"]) == 0 {
		t.Error("the container has no hash")
	}
	delete(got, "io.kubernetes.container.hash") // the name of the image has the registry's port in it
	wantAnn := map[string]string{
		"io.kubernetes.container.restartCount": "0", "io.kubernetes.container.terminationMessagePath": "/dev/termination-log",
		"io.kubernetes.container.terminationMessagePolicy": "File", "io.kubernetes.pod.terminationGracePeriod": "3",
	}
	if diff := cmp.Diff(wantAnn, got); diff != "" {
		t.Errorf("annotations of the container (-want +got):\n%s", diff)
	}
	ann := sandbox.Annotations
	if ann["note"] != "hello" || ann["kubernetes.io/config.source"] != "file" || ann["kubernetes.io/config.hash"] != uid || ann["kubernetes.io/config.seen"] == "" {
		t.Errorf("annotations of the sandbox: %v", ann)
	}
	status, err := n.runtime.ContainerStatus(n.ctx(), &runtimeapi.ContainerStatusRequest{ContainerId: container.Id})
	if err != nil {
		t.Fatal(err)
	}
	if want := n.logs + "/default_" + n.pod("web") + "_" + uid + "/web/0.log"; status.Status.LogPath != want {
		t.Errorf("log %s, want %s", status.Status.LogPath, want)
	}
	n.await("the container to log", func() bool { return n.log("web", "web", 0) == "listening on [::]:8080\n" })
}
