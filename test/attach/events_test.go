package attach

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// eventsPods are a pod whose image comes slowly, and one that runs out of memory.
const eventsPods = `
apiVersion: v1
kind: Pod
metadata: {name: pulls, labels: {of: events}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: web, image: %[1]q, command: [sleep, "3600"]}
---
apiVersion: v1
kind: Pod
metadata: {name: eats, labels: {of: events}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: eater, image: %[2]q, command: [tail, /dev/zero], resources: {limits: {memory: 20Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: fails, labels: {of: events}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: web, image: %[2]q, command: [sh, -c, "exit 137"]}
`

// seen is what a test reads of a record.
type seen struct {
	Kind, Edge, Observer, Also string
	Pod                        struct{ Name string }
	Event                      struct{ Name, Container, Type, Method, Why, Cause string }
}

// recorded are the records that an attach has printed.
func (a *attached) recorded(t *testing.T) (all []seen) {
	t.Helper()
	text, err := os.ReadFile(a.records)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var r seen
		if json.Unmarshal([]byte(line), &r) == nil { // the last line may be cut
			all = append(all, r)
		}
	}
	return all
}

// found is what why says of a pod that attach has seen, by rule.
func (b *bench) found(t *testing.T, a *attached, pod string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, f := range b.findings(t, a, "default/"+pod) {
		found[f.ID] = fmt.Sprintf("%s (%s) %v", f.Sentence, f.Confidence, f.Evidence)
	}
	return found
}

// TestEvents: containerd's events tell when layers of an image arrived, and that a container was killed because it was out of memory. Each
// has a near-miss: a pod whose image is there, and one that ends with the same exit code.
func TestEvents(t *testing.T) {
	b := setup(t)
	a := b.attach(t)
	if err := b.SetLimits(t.Context(), lab.Limits{Rate: 20 << 20}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.SetLimits(context.Background(), lab.Limits{}) })
	file := filepath.Join(t.TempDir(), "pods.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, eventsPods, b.Image(lab.Image60M), b.Image(lab.ImageBusybox)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := b.Kubectl(t.Context(), "create", "-f", file); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := b.Kubectl(context.WithoutCancel(t.Context()), "delete", "--timeout=90s", "pods", "-l", "of=events"); err != nil {
			t.Errorf("delete: %v: %s", err, out)
		}
	})
	var found map[string]string
	for pod, want := range map[string][2]string{"pulls": {"KL02", "took"}, "eats": {"KL27", "out of memory"}, "fails": {"KL27", "keeps exiting"}} {
		eventually(t, want[0]+" of "+pod, func() string {
			if found = b.found(t, a, pod); !strings.Contains(found[want[0]], want[1]) {
				return fmt.Sprint(found)
			}
			return ""
		})
		t.Log(pod, found)
		if pod != "pulls" && found["KL02"] != "" {
			t.Errorf("%s: %s", pod, found["KL02"])
		}
	}
	if got := b.found(t, a, "fails")["KL27"]; strings.Contains(got, "out of memory") {
		t.Errorf("a container that only exits with 137: %s", got)
	}
	t.Log(b.kubeloupe(t, "trace", "default/pulls", "--socket", a.socket))
	n := map[string]int{}
	eventually(t, "containerd's events tell all", func() string { // what is printed may be behind what why knows
		clear(n)
		for _, r := range a.recorded(t) {
			if r.Observer == "runtime-events" || strings.Contains(r.Also, "runtime-events") {
				n[strings.TrimSpace(r.Kind+" "+r.Event.Name)]++
			}
		}
		if n["runtime.span layer arrived"] < 6 || n["oom.kill eater"] == 0 || n["pleg.event eater"] == 0 || n["runtime.span container.NewTask"] == 0 {
			return fmt.Sprintf("something was not seen: %v", n)
		}
		return ""
	})
	t.Log("records that containerd's events tell:", n)
	for _, r := range a.recorded(t) {
		if r.Kind == "oom.kill" && (r.Pod.Name != "eats" || r.Event.Name != "eater") {
			t.Errorf("%+v", r)
		}
		ours := r.Pod.Name == "pulls" || r.Pod.Name == "eats" || r.Pod.Name == "fails" // others may have ended before attach began
		if ours && r.Kind == "pleg.event" && r.Event.Type == "ContainerDied" && r.Observer != "kubelet-log" && !strings.Contains(r.Also+r.Observer, "runtime-events") {
			t.Errorf("an exit that the events do not have: %+v", r)
		}
	}
}
