package attachvm

import (
	"context"
	"fmt"
	"strings"
	"testing"

	vmbench "github.com/kubeloupe/kubeloupe/test/vm/bench"
)

// pod is a pod with a network, an init container and a volume.
const pod = `
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

// attach starts kubeloupe attach on the node, as a unit of its own. Its records are in /run/kl-attach.json.
func (b *bench) attach(t *testing.T, args string) {
	t.Helper()
	b.Run(t, "systemctl stop kl-attach 2>/dev/null; rm -f /run/kl-attach.*; systemd-run -q --collect --unit=kl-attach -p StandardOutput=file:/run/kl-attach.json -p StandardError=file:/run/kl-attach.err "+
		"kubeloupe attach --no-tui -o json "+args)
	b.Says(t, "test -S /run/kubeloupe/attach.sock && kubeloupe inspect node >/dev/null && echo there; cat /run/kl-attach.err", "there")
	t.Cleanup(func() {
		_, _ = b.VM.Run(context.WithoutCancel(t.Context()), "systemctl stop kl-attach") // it may have ended
	})
}

// shown waits until attach shows the start of a pod, with all of these.
func (b *bench) shown(t *testing.T, name string, all ...string) string {
	t.Helper()
	var out string
	vmbench.Eventually(t, "the start of "+name, func() string {
		var err error
		out, err = b.VM.Run(t.Context(), "kubeloupe trace default/"+name)
		for _, want := range all {
			if !strings.Contains(out, want) {
				return fmt.Sprintf("no %q: %v\n%s", want, err, out)
			}
		}
		return ""
	})
	return out
}
