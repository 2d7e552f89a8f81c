package e2e

import (
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestImageVolume mounts what is in images: one that has to be pulled, a directory of one, and one that nobody may pull, which only the
// container that mounts it waits for.
func TestImageVolume(t *testing.T) {
	n := newNode(t)
	n.forget(lab.ImageHTTP)
	a := n.start()
	n.put("never.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: never}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - {name: main, image: $BUSYBOX, command: $WAIT, volumeMounts: [{name: tools, mountPath: /tools}]}
  - {name: other, image: $BUSYBOX, command: $WAIT}
  volumes:
  - {name: tools, image: {reference: $HTTP, pullPolicy: Never}}
`)
	if e := a.event("never", "ErrImageNeverPull"); !strings.Contains(e.Message, n.Image(lab.ImageHTTP)) {
		t.Errorf("message %q does not name the image", e.Message)
	}
	a.reason("never", "main", "ErrImageNeverPull")
	a.status("never", "a running container other", func(s trace.PodStatus) bool { return statusOf(s, "other").State == trace.ContainerRunning })
	n.put("tools.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: tools}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: $BUSYBOX
    command: $WAIT
    volumeMounts:
    - {name: web, mountPath: /web}
    - {name: tools, mountPath: /tools, subPath: bin}
  volumes:
  - {name: web, image: {reference: $HTTP, pullPolicy: IfNotPresent}}
  - {name: tools, image: {reference: $BUSYBOX}}
`)
	a.ready("tools")
	if got := a.find(pullOf(n.Image(lab.ImageHTTP))); len(got) != 1 {
		t.Errorf("%d pulls of the image, want 1", len(got))
	}
	for command, want := range map[string]string{
		"test -x /web/httpd && echo there":         "there",
		"/tools/busybox echo from the image":       "from the image",
		"touch /web/x 2>&1 || true":                "touch: /web/x: Read-only file system",
		"test -e /tools/bin && echo whole || true": "",
	} {
		if got := n.exec("tools", "main", "sh", "-c", command); got != want {
			t.Errorf("%s says %q, want %q", command, got, want)
		}
	}
	// The image is there now: the pod that may not pull it starts.
	a.ready("never")
}
