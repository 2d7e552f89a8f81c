package attachvm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// run runs a script on the node.
func (b *bench) run(t *testing.T, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	out, err := b.vm.Run(ctx, script)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// eventually waits until missing says nothing.
func eventually(t *testing.T, what string, missing func() string) {
	t.Helper()
	for end := time.Now().Add(deadline); ; time.Sleep(time.Second) {
		said := missing()
		if said == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %s", what, said)
		}
	}
}

// says waits until a script on the node prints what is wanted.
func (b *bench) says(t *testing.T, script, want string) string {
	t.Helper()
	var out string
	eventually(t, script, func() string {
		var err error
		if out, err = b.vm.Run(t.Context(), script); !strings.Contains(out, want) {
			return fmt.Sprintf("want %q: %v: %s", want, err, out)
		}
		return ""
	})
	return out
}

// pod is a pod with a network, an init container and a volume, small one without: emulation makes each of these slow.
const (
	pod = `
apiVersion: v1
kind: Pod
metadata: {name: %[1]s}
spec:
  nodeName: vm
  terminationGracePeriodSeconds: 1
  initContainers:
  - {name: prepare, image: "%[2]s", command: [sh, -c, "sleep 1"]}
  containers:
  - {name: web, image: "%[2]s", command: [sleep, "36000"]}
`
	small = `
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
)

// create creates a small pod on the node, and removes it when the test ends.
func (b *bench) create(t *testing.T, name string) {
	t.Helper()
	b.createOf(t, small, name)
}

func (b *bench) createOf(t *testing.T, manifest, name string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pod.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, manifest, name, b.Image(lab.ImageBusybox)), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "create "+name, func() string {
		if out, err := b.Kubectl(t.Context(), "create", "-f", file); err != nil {
			return err.Error() + " " + out
		}
		return ""
	})
	t.Cleanup(func() { b.remove(t, name) })
}

func (b *bench) remove(t *testing.T, name string) {
	ctx := context.WithoutCancel(t.Context())
	if out, err := b.Kubectl(ctx, "delete", "--wait=false", "--ignore-not-found", "pod", name); err != nil {
		t.Logf("delete: %v: %s", err, out)
	}
}

// runs waits until a pod's containers are ready.
func (b *bench) runs(t *testing.T, name string) {
	t.Helper()
	eventually(t, name+" runs", func() string {
		out, err := b.Kubectl(t.Context(), "get", "pod", name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status} {.status.containerStatuses[0].state}`)
		if err != nil || !strings.HasPrefix(out, "True ") {
			return fmt.Sprint(out, err)
		}
		return ""
	})
}

// containers are the node's containers of pods, each by its id and how often it was started again.
func (b *bench) containers(t *testing.T, name string) string {
	t.Helper()
	out, err := b.Kubectl(t.Context(), "get", "pod", name, "-o", `jsonpath={range .status.containerStatuses[*]}{.containerID} {.restartCount}{"\n"}{end}`)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return out
}

// unharmed makes a pod that runs while the test does, and sees in the end that the node is ready and the pod's containers are the same.
func (b *bench) unharmed(t *testing.T, name string) (check func()) {
	t.Helper()
	b.create(t, name)
	b.runs(t, name)
	before := b.containers(t, name)
	return func() {
		t.Helper()
		if err := b.ready(t.Context()); err != nil {
			t.Error(err)
		}
		if after := b.containers(t, name); after != before || !strings.HasSuffix(after, " 0") {
			t.Errorf("the containers were %s, and are %s", before, after)
		}
	}
}

// attach starts kubeloupe attach on the node, as a unit of its own. Its records are in /run/kl-attach.json.
func (b *bench) attach(t *testing.T, args string) {
	t.Helper()
	b.run(t, "systemctl stop kl-attach 2>/dev/null; rm -f /run/kl-attach.*; systemd-run -q --collect --unit=kl-attach -p StandardOutput=file:/run/kl-attach.json -p StandardError=file:/run/kl-attach.err "+
		"kubeloupe attach --no-tui -o json "+args)
	b.says(t, "test -S /run/kubeloupe/attach.sock && kubeloupe inspect node >/dev/null && echo there; cat /run/kl-attach.err", "there")
	t.Cleanup(func() {
		_, _ = b.vm.Run(context.WithoutCancel(t.Context()), "systemctl stop kl-attach") // it may have ended
	})
}

// shown waits until attach shows the start of a pod, with all of these.
func (b *bench) shown(t *testing.T, name string, all ...string) string {
	t.Helper()
	var out string
	eventually(t, "the start of "+name, func() string {
		var err error
		out, err = b.vm.Run(t.Context(), "kubeloupe trace default/"+name)
		for _, want := range all {
			if !strings.Contains(out, want) {
				return fmt.Sprintf("no %q: %v\n%s", want, err, out)
			}
		}
		return ""
	})
	return out
}
