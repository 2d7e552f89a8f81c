package attach

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

// TestSpans: attach receives containerd's spans and places them below the calls that containerd's log tells of. So a slow network of a pod and
// a slow registry are certain. Each has a near-miss, and nothing is told twice by events and spans.
func TestSpans(t *testing.T) {
	b := setup(t)
	file := b.slowNetwork(t)
	delay := func(seconds string) {
		if err := os.WriteFile(file, []byte(seconds+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := b.attach(t, "--otlp-http", fmt.Sprintf("127.0.0.1:%d", b.OTLPPort))
	if err := b.SetLimits(t.Context(), lab.Limits{Rate: 2 << 20, Latency: 300 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.SetLimits(context.Background(), lab.Limits{}) })
	run := func(name string, image lab.Image) {
		file := filepath.Join(t.TempDir(), name+".yaml")
		text := fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, labels: {of: spans}}\nspec:\n  terminationGracePeriodSeconds: 1\n  containers:\n  - {name: web, image: %q, command: [sleep, \"3600\"]}\n", name, b.Image(image))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := b.Kubectl(t.Context(), "create", "-f", file); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		eventually(t, name+" runs", func() string {
			if out, err := b.Kubectl(t.Context(), "get", "pod", name, "-o", "jsonpath={.status.phase}"); err != nil || string(out) != "Running" {
				return string(out)
			}
			return ""
		})
	}
	t.Cleanup(func() {
		if out, err := b.Kubectl(context.WithoutCancel(t.Context()), "delete", "--timeout=90s", "pods", "-l", "of=spans"); err != nil {
			t.Errorf("delete: %v: %s", err, out)
		}
	})
	run("spans-warm", lab.ImageBusybox)
	run("spans-near", lab.ImageBusybox)
	run("spans-pull", lab.ImageSmallFiles)
	delay("2")
	run("spans-net", lab.ImageBusybox)
	delay("0")
	for pod, rule := range map[string]string{"spans-pull": "KL02", "spans-net": "KL06"} {
		var found map[string]string
		eventually(t, rule+" of "+pod, func() string {
			if found = b.found(t, a, pod); !strings.Contains(found[rule], "(certain)") {
				return fmt.Sprint(found)
			}
			return ""
		})
		t.Log(pod, found)
	}
	long := func(pod string) string {
		if pod == "spans-pull" {
			return "unpack layer" // beside a pull, which can take long on a busy machine, the rest may be too short to be drawn
		}
		return "shim creates task"
	}
	for _, pod := range []string{"spans-near", "spans-pull", "spans-net"} {
		eventually(t, "the spans of "+pod, func() string {
			text := b.kubeloupe(t, "trace", "default/"+pod, "--socket", a.socket)
			if drawn, _, _ := strings.Cut(text, "why:"); !strings.Contains(drawn, long(pod)) || !a.tasks(t)[pod] {
				return text
			}
			return ""
		})
	}
	time.Sleep(5 * time.Second) // what is late and told twice comes
	for pod, rules := range map[string][]string{"spans-near": {"KL02", "KL03", "KL06"}, "spans-pull": {"KL06"}, "spans-net": {"KL02", "KL03"}} {
		found := b.found(t, a, pod)
		for _, rule := range rules {
			if found[rule] != "" {
				t.Errorf("%s: %s", pod, found[rule])
			}
		}
		text := b.kubeloupe(t, "trace", "default/"+pod, "--socket", a.socket)
		t.Log(text)
		drawn, _, _ := strings.Cut(text, "why:")
		if !strings.Contains(drawn, long(pod)) || strings.Contains(drawn, "layer arrived)") || strings.Contains(drawn, "layer unpacked)") || strings.Count(drawn, "make task") > 2 {
			t.Errorf("%s: spans are missing, or something is told twice", pod)
		}
	}
	n := 0
	for _, r := range a.recorded(t) {
		if r.Observer == "" && r.Kind == "runtime.span" {
			if n++; r.Pod.Name == "" {
				t.Errorf("a span of no pod: %+v", r)
			}
		}
	}
	t.Logf("%d spans", n)
}

// tasks are the pods of which there is a span of a shim that creates a task.
func (a *attached) tasks(t *testing.T) map[string]bool {
	t.Helper()
	tasks := map[string]bool{}
	for _, r := range a.recorded(t) {
		if r.Observer == "" && r.Kind == "runtime.span" && r.Event.Name == "containerd.task.v3.Task/Create" {
			tasks[r.Pod.Name] = true
		}
	}
	return tasks
}
