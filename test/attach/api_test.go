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
	runtime := found.Runtime.Process.PID
	if err := syscall.Kill(runtime, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(runtime, syscall.SIGCONT) }) // it may have ended
	b.create(t, "meanwhile")
	eventually(t, "meanwhile is seen", func() string { // on a machine that is busy, the kubelet has it late
		out, err := exec.Command(b.Binary, "why", "default/meanwhile", "--socket", a.socket).CombinedOutput()
		if err != nil {
			return string(out)
		}
		return ""
	})
	time.Sleep(25 * time.Second)
	if err := syscall.Kill(runtime, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	why("meanwhile")
	b.speaks(t, a, "default/meanwhile", "KL15", cause.Likely, "the container runtime did not answer") // after the next poll
}
