package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

func sleeper(name, image, policy string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: %s, imagePullPolicy: %s, command: $WAIT}]
`, name, image, policy)
}

// forget removes an image from the node.
func (n *node) forget(i lab.Image) {
	n.t.Helper()
	if _, err := n.images.RemoveImage(n.ctx(), &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: n.Image(i)}}); err != nil {
		n.t.Fatal(err)
	}
}

func pullOf(image string) func(*trace.Record) bool {
	return func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.ImagePull)
		return ok && e.Image == image && r.Edge == trace.EdgeEnd
	}
}

// TestPullPolicies has each policy with an image that is there, one that is not
// and one that nobody has.
func TestPullPolicies(t *testing.T) {
	n := newNode(t)
	n.forget(lab.Image60M)
	a := n.start()
	n.put("never.yaml", sleeper("never", "$60M", "Never"))
	if got := a.reason("never", "main", "ErrImageNeverPull"); !strings.Contains(got.Message, n.Image(lab.Image60M)) {
		t.Errorf("message %q does not name the image", got.Message)
	}
	n.put("bad.yaml", sleeper("bad", "$REGISTRY/kubeloupe/nothing:1", "IfNotPresent"))
	if got := a.reason("bad", "main", "ErrImagePull"); !strings.Contains(got.Message, "not found") {
		t.Errorf("message %q does not say what is wrong", got.Message)
	}
	if got := a.reason("bad", "main", "ImagePullBackOff"); !strings.Contains(got.Message, "Back-off pulling image") {
		t.Errorf("message %q", got.Message)
	}
	n.put("invalid.yaml", sleeper("invalid", "$REGISTRY/Upper:1", "IfNotPresent"))
	a.reason("invalid", "main", "InvalidImageName")
	n.put("present.yaml", sleeper("present", "$BUSYBOX", "IfNotPresent"))
	a.ready("present")
	if got := a.find(pullOf(n.Image(lab.ImageBusybox))); len(got) != 0 {
		t.Error("an image that is there was pulled although the policy is IfNotPresent")
	}
	n.put("always.yaml", sleeper("always", "$BUSYBOX", "Always"))
	a.ready("always")
	if got := a.find(pullOf(n.Image(lab.ImageBusybox))); len(got) != 1 {
		t.Errorf("%d pulls with policy Always, want 1", len(got))
	}

	// The image comes: the pod that may not pull it starts, once another has pulled.
	n.put("missing.yaml", sleeper("missing", "$60M", "IfNotPresent"))
	a.ready("missing", "never")
}

// TestPullProgress pulls a large image at a limited rate: progress is told, and the
// other pod's image, which is pulled meanwhile, does not wait for it.
func TestPullProgress(t *testing.T) {
	n := newNode(t)
	n.config = "serializeImagePulls: false\n"
	n.forget(lab.Image60M)
	n.forget(lab.ImageHTTP)
	a := n.start()
	n.limit(lab.Limits{Rate: 2 << 20}) // until all is there that has to happen during the pull
	n.put("large.yaml", sleeper("large", "$60M", "IfNotPresent"))
	a.wait("the large pull's beginning", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.ImagePull)
		return ok && e.Image == n.Image(lab.Image60M) && r.Edge == trace.EdgeBegin
	})
	n.put("web.yaml", web)
	a.wait("the small pull's beginning", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.ImagePull)
		return ok && e.Image == n.Image(lab.ImageHTTP) && r.Edge == trace.EdgeBegin
	})
	made := func(r *trace.Record) bool {
		return action("sandbox", "", trace.EdgeEnd)(r) && r.Pod.Name == n.pod("large")
	}
	a.wait("the sandbox of large", made)
	progress := func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.ImageProgress)
		return ok && e.Image == n.Image(lab.Image60M)
	}
	for seen := uint64(0); len(a.find(progress)) < 3; {
		seen = a.wait("progress of the large pull", func(r *trace.Record) bool { return progress(r) && r.Seq > seen }).Seq
	}
	n.limit(lab.Limits{})
	a.ready("web", "large")
	large, small := a.find(pullOf(n.Image(lab.Image60M))), a.find(pullOf(n.Image(lab.ImageHTTP)))
	if len(large) != 1 || len(small) != 1 {
		t.Fatalf("%d and %d pulls, want one of each", len(large), len(small))
	}
	if small[0].Start() > large[0].Time {
		t.Error("the small image's pull waited for the large one's end")
	}
	var done []int64
	for _, r := range a.find(progress) {
		e := r.Event.(*trace.ImageProgress)
		done = append(done, e.Done)
		if e.Total != 0 && e.Done > e.Total {
			t.Errorf("%d of %d bytes are done", e.Done, e.Total)
		}
	}
	if len(done) < 3 || !slices.IsSorted(done) {
		t.Errorf("progress of the large pull in bytes: %v, want some steps upwards", done)
	}
	sandbox := a.find(made)
	if len(sandbox) != 1 || sandbox[0].Time > large[0].Time {
		t.Error("the sandbox was not made while the image was pulled")
	}
}

// TestRemovedWhilePulling removes a pod whose image would take a minute to come.
func TestRemovedWhilePulling(t *testing.T) {
	n := newNode(t)
	n.forget(lab.Image60M)
	a := n.start()
	n.limit(lab.Limits{Rate: 1 << 20})
	n.put("large.yaml", sleeper("large", "$60M", "IfNotPresent"))
	a.wait("progress of the pull", func(r *trace.Record) bool { _, ok := r.Event.(*trace.ImageProgress); return ok })
	n.drop("large.yaml")
	if m := a.milestone("large", "gone"); m.Since > 30*time.Second {
		t.Errorf("the pod was gone after %s: it waited for its image", m.Since)
	}
}

// limit makes the registry slow for the rest of the test.
func (n *node) limit(l lab.Limits) {
	n.t.Helper()
	if err := n.SetLimits(n.ctx(), l); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		if err := n.SetLimits(n.ctx(), lab.Limits{}); err != nil {
			n.t.Error(err)
		}
	})
}
