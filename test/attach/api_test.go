package attach

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/inspect/cause"
)

// TestKubeletAPI watches a kubelet without its log: its metrics show that its runtime did not answer, which likely held up the pod that started
// then, and not the one before.
func TestKubeletAPI(t *testing.T) {
	b := setup(t)
	empty := filepath.Join(t.TempDir(), "kubelet.log")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var found discover.Found
	text := b.kubeloupe(t, "attach", "--check", "-o", "json", "--pid", strconv.Itoa(b.kubelet.PID()), "--kubelet-kubeconfig", b.Kubeconfig)
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		t.Fatal(err)
	}
	a := b.attach(t, "--kubelet-kubeconfig", b.Kubeconfig, "--kubelet-log", empty)
	a.says(t, "the kubelet's settings in use")
	why := func(name string) (text string) {
		eventually(t, name+" has started", func() string {
			out, err := exec.Command(b.Binary, "why", "default/"+name, "--socket", a.socket, "-o", "json").CombinedOutput()
			if text = string(out); err != nil || !strings.Contains(text, `"stage": "up"`) {
				return text
			}
			return ""
		})
		t.Log(b.kubeloupe(t, "why", "default/"+name, "--socket", a.socket))
		return text
	}
	// On a machine that is busy the runtime can be late by itself: one quiet start of three is enough.
	for n := 1; ; n++ {
		name := fmt.Sprintf("before-%d", n)
		b.create(t, name)
		text := why(name)
		if !strings.Contains(text, `"KL15"`) {
			break
		}
		if n == 3 {
			t.Fatalf("KL15 is named of the pods before: %s", text)
		}
	}
	// The kubelet's syncLoop asks the runtime every 2 s and takes no new pod while it waits for the answer: meanwhile is there before, and
	// its init container runs until the runtime has stopped.
	gate := t.TempDir()
	b.apply(t, "meanwhile", "  volumes: [{name: gate, hostPath: {path: "+gate+"}}]\n  initContainers:\n"+
		"  - {name: prepare, image: IMAGE, command: [sh, -c, 'until [ -e /gate/open ]; do sleep 0.1; done'], volumeMounts: [{name: gate, mountPath: /gate}]}\n"+
		"  containers: [{name: web, image: IMAGE, command: [sleep, '3600']}]\n")
	eventually(t, "the init container of meanwhile runs", func() string {
		out, err := b.Kubectl(t.Context(), "get", "pod", "meanwhile", "-o", "jsonpath={.status.initContainerStatuses[*].state.running.startedAt}")
		if err != nil || len(out) == 0 {
			return fmt.Sprintf("%v: %s", err, out)
		}
		return ""
	})
	runtime := found.Runtime.Process.PID
	if err := syscall.Kill(runtime, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(runtime, syscall.SIGCONT) }) // it may have ended
	if err := os.WriteFile(filepath.Join(gate, "open"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(25 * time.Second)
	if err := syscall.Kill(runtime, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	why("meanwhile")
	b.speaks(t, a, "default/meanwhile", "KL15", cause.Likely, "the container runtime did not answer") // after the next poll
}
