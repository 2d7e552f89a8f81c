package attachvm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// overlay is deploy/attach with the program of the node's own disk, so that no image is needed.
const overlay = `
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [%q]
images: [{name: ghcr.io/kubeloupe/kubeloupe, newName: %q, newTag: %q}]
patches:
- target: {kind: DaemonSet}
  patch: |
    - {op: add, path: /spec/template/spec/containers/0/command, value: [/node/kubeloupe]}
    - {op: add, path: /spec/template/spec/containers/0/volumeMounts/-, value: {name: node, mountPath: /node, readOnly: true}}
    - {op: add, path: /spec/template/spec/volumes/-, value: {name: node, hostPath: {path: /usr/local/bin}}}
`

// inContainer runs a command in the DaemonSet's container. The API server does not reach the node, so that kubectl exec does not work.
const inContainer = `ctr -n k8s.io tasks exec --exec-id "$(cat /proc/sys/kernel/random/uuid)" "$(ctr -n k8s.io containers ls -q 'labels."io.kubernetes.container.name"==attach')" /node/kubeloupe `

// TestContainer runs deploy/attach: attach reads the node's journal from within its container. A further attach there raises the kubelet's
// verbosity and is killed: the verbosity is put back.
func TestContainer(t *testing.T) {
	b := setup(t)
	b.daemonSet(t)
	b.Says(t, inContainer+"inspect node", "containerd v")
	b.Create(t, "by-container")
	b.Runs(t, "by-container")
	t.Log(b.Says(t, inContainer+"trace default/by-container", "start    web"))

	b.Run(t, "systemd-run -q --collect --unit=kl-raise "+inContainer+"attach --no-tui --control-socket none --raise-verbosity 5 --for 10m")
	b.fifth(t, true)
	b.Run(t, "pkill -KILL -f '^/node/kubeloupe attach .*--raise-verbosity'")
	b.fifth(t, false)
}

// daemonSet applies deploy/attach, and removes it when the test ends.
func (b *bench) daemonSet(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	base, err := filepath.Abs("../../deploy/attach")
	if err != nil {
		t.Fatal(err)
	}
	if base, err = filepath.Rel(dir, base); err != nil {
		t.Fatal(err)
	}
	image := b.Image(lab.ImageBusybox)
	colon := strings.LastIndexByte(image, ':')
	text := fmt.Appendf(nil, overlay, base, image[:colon], image[colon+1:])
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := b.Kubectl(t.Context(), "apply", "-k", dir); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := b.Kubectl(context.WithoutCancel(t.Context()), "delete", "--wait=true", "-k", dir); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	if out, err := b.Kubectl(t.Context(), "rollout", "status", "-n", "kubeloupe", "ds/kubeloupe-attach", "--timeout", deadline.String()); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
