package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// hanging is a CNI plugin whose ADD hangs for pods of certain names, as long as a file is there; then it does what
// portmap does.
const hanging = `#!/bin/sh
case "$CNI_COMMAND $CNI_ARGS" in
ADD*K8S_POD_NAME=hung-*) while [ -e '%[1]s' ]; do sleep 0.2; done ;;
esac
exec '%[2]s/portmap'
`

// hangADD puts that plugin into the lab's chain until the test ends, or resume is called.
func (n *node) hangADD() (resume func()) {
	n.t.Helper()
	file := filepath.Join(n.dir, "hang")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		n.t.Fatal(err)
	}
	if err := os.MkdirAll(n.CNIOwnDir, 0o755); err != nil {
		n.t.Fatal(err)
	}
	plugin := filepath.Join(n.CNIOwnDir, "hanging")
	if err := os.WriteFile(plugin, fmt.Appendf(nil, hanging, file, n.CNIBinDir), 0o755); err != nil {
		n.t.Fatal(err)
	}
	conf := filepath.Join(n.CNIConfDir, "10-kubeloupe.conflist")
	text, err := os.ReadFile(conf)
	if err != nil {
		n.t.Fatal(err)
	}
	n.network(conf, strings.Replace(string(text), `"portmap"`, `"hanging"`, 1), true)
	resume = func() { _ = os.Remove(file) }
	n.t.Cleanup(func() {
		resume()
		n.network(conf, string(text), false)
		if err := os.Remove(plugin); err != nil {
			n.t.Error(err)
		}
	})
	return resume
}

// network writes containerd's CNI configuration and waits until it has read it.
func (n *node) network(conf, text string, hanging bool) {
	n.t.Helper()
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil { // containerd does not see a file that is moved there
		n.t.Fatal(err)
	}
	n.await("containerd to read its CNI configuration", func() bool {
		r, err := n.runtime.Status(n.ctx(), &runtimeapi.StatusRequest{Verbose: true})
		return err == nil && strings.Contains(r.Info["cniconfig"], `"hanging"`) == hanging
	})
}

const crashes = `
apiVersion: v1
kind: Pod
metadata: {name: crashes}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{name: dir, hostPath: {path: $DIR}}]
  containers:
  - name: main
    image: $BUSYBOX
    command: [sh, -c, 'trap "exit 0" TERM; [ -e /dir/crashed ] && sleep infinity & while [ ! -e /dir/crash ]; do sleep 0.1; done; [ -e /dir/crashed ] && wait; touch /dir/crashed; exit 1']
    volumeMounts: [{name: dir, mountPath: /dir}]
`

// TestHangingPodsStopNobody has more pods than the runtime has slots whose CNI ADD hangs: a new pod starts, an old one
// ends, a crashed container is started again, and the agent ends on SIGTERM, all while they hang.
func TestHangingPodsStopNobody(t *testing.T) {
	n := newNode(t, "--runtime-slots", "3")
	a := n.start()
	n.put("old.yaml", named("old"))
	n.put("crashes.yaml", crashes)
	a.ready("old", "crashes")
	resume := n.hangADD()

	bounded := a.attacked()
	a.mark()
	var hung []string
	for i := range 5 {
		name := fmt.Sprintf("hung-%d", i)
		hung = append(hung, n.pod(name))
		n.put(name+".yaml", named(name))
	}
	call := func(edge trace.Edge) func(*trace.Record) bool {
		return func(r *trace.Record) bool {
			e, ok := r.Event.(*trace.CRICall)
			return ok && e.Method == "RunPodSandbox" && r.Edge == edge && slices.Contains(hung, r.Pod.Name)
		}
	}
	n.await("all slots to be held by calls that hang", func() bool { return len(a.find(call(trace.EdgeBegin))) >= 3 })

	n.put("plain.yaml", named("plain"))
	n.drop("old.yaml")
	if err := os.WriteFile(filepath.Join(n.scratch, "crash"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a.ready("plain")
	a.gone("old")
	a.status("crashes", "a restart", func(s trace.PodStatus) bool {
		c := statusOf(s, "main")
		return c.Restarts == 1 && c.State == trace.ContainerRunning
	})
	if ended := a.find(call(trace.EdgeEnd)); len(ended) != 0 {
		t.Errorf("%d of the calls that should hang have ended", len(ended))
	}
	named := a.find(func(r *trace.Record) bool {
		w, ok := r.Event.(*trace.Wait)
		return ok && r.Pod.Name == n.pod("plain") && slices.ContainsFunc(w.Behind, func(h trace.Holder) bool {
			return h.Call == "sandbox" && slices.Contains(hung, h.Pod.Name)
		})
	})
	if len(named) == 0 {
		t.Error("the new pod's wait does not name the pods that hang")
	}
	bounded("pods whose CNI ADD hangs")
	a.stop()
	resume()
}
