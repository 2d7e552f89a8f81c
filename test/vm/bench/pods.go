package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// Small is a pod without network, volume and token: emulation makes each of these slow. Its name and image are the arguments of a manifest.
const Small = `
apiVersion: v1
kind: Pod
metadata: {name: %[1]s}
spec:
  nodeName: vm
  hostNetwork: true
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 1
  containers:
  - {name: web, image: "%[2]s", command: [sleep, "36000"]}
`

// Create creates a small pod on the node, and removes it when the test ends.
func (b *Bench) Create(t *testing.T, name string) {
	t.Helper()
	b.CreateOf(t, Small, name)
}

// CreateOf creates a pod of a manifest as [Small], and removes it when the test ends.
func (b *Bench) CreateOf(t *testing.T, manifest, name string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pod.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, manifest, name, b.Image(lab.ImageBusybox)), 0o600); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "create "+name, func() string {
		if out, err := b.Kubectl(t.Context(), "create", "-f", file); err != nil {
			return err.Error() + " " + out
		}
		return ""
	})
	t.Cleanup(func() { b.Remove(t, name) })
}

// Remove deletes a pod, and does not wait for its end.
func (b *Bench) Remove(t *testing.T, name string) {
	ctx := context.WithoutCancel(t.Context())
	if out, err := b.Kubectl(ctx, "delete", "--wait=false", "--ignore-not-found", "pod", name); err != nil {
		t.Logf("delete: %v: %s", err, out)
	}
}

// Runs waits until a pod is ready.
func (b *Bench) Runs(t *testing.T, name string) {
	t.Helper()
	Eventually(t, name+" runs", func() string {
		out, err := b.Kubectl(t.Context(), "get", "pod", name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status} {.status.containerStatuses[0].state}`)
		if err != nil || !strings.HasPrefix(out, "True ") {
			return fmt.Sprint(out, err)
		}
		return ""
	})
}

// Containers are the containers of a pod, each by its id and how often it was started again.
func (b *Bench) Containers(t *testing.T, name string) string {
	t.Helper()
	out, err := b.Kubectl(t.Context(), "get", "pod", name, "-o", `jsonpath={range .status.containerStatuses[*]}{.containerID} {.restartCount}{"\n"}{end}`)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return out
}

// Unharmed makes a pod that runs while the test does. check sees that the node is ready and the pod's containers are the same.
func (b *Bench) Unharmed(t *testing.T, name string) (check func()) {
	t.Helper()
	b.Create(t, name)
	b.Runs(t, name)
	before := b.Containers(t, name)
	return func() {
		t.Helper()
		if err := b.Ready(t.Context()); err != nil {
			t.Error(err)
		}
		if after := b.Containers(t, name); after != before || !strings.HasSuffix(after, " 0") {
			t.Errorf("the containers were %s, and are %s", before, after)
		}
	}
}
