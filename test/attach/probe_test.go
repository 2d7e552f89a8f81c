package attach

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

const probedPod = `
apiVersion: v1
kind: Pod
metadata: {name: %[1]s}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: web
    image: "%[2]s"
    command: [sh, -c, "sleep %[3]d; touch /tmp/ready; exec sleep 3600"]
    %[4]s
`

// TestProbes watches pods whose probes decide when they are ready, beside near-misses: with their specs it is certain, and a pod without a
// probe is ready when it has started.
func TestProbes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.attach(t, "--kubeconfig", b.Kubeconfig)
	// On a machine that is busy, an attempt can take longer than a second, the default timeout: as a failure, it would be another start.
	const probe = `readinessProbe: {initialDelaySeconds: %d, periodSeconds: %d, timeoutSeconds: 30, exec: {command: [test, -e, /tmp/ready]}}`
	pods := map[string]struct {
		ready int // seconds until its program is
		probe string
		want  string // within what is said of KL19; "" where it is not named
	}{
		"delayed":  {0, fmt.Sprintf(probe, 12, 10), "initialDelaySeconds (12)"},
		"periodic": {3, fmt.Sprintf(probe, 0, 10), "periodSeconds (10)"},
		"slow":     {40, fmt.Sprintf(probe, 0, 1), ""},
		"unprobed": {0, "", ""},
	}
	for name, p := range pods {
		file := filepath.Join(t.TempDir(), "pod.yaml")
		if err := os.WriteFile(file, []byte(fmt.Sprintf(probedPod, name, b.Image(lab.ImageBusybox), p.ready, p.probe)), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := b.Kubectl(t.Context(), "create", "-f", file); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		t.Cleanup(func() {
			if out, err := b.Kubectl(context.WithoutCancel(t.Context()), "delete", "--wait=false", "--ignore-not-found", "pod", name); err != nil {
				t.Logf("delete: %v: %s", err, out)
			}
		})
	}
	for name, p := range pods {
		var text string
		eventually(t, name+" is ready", func() string {
			out, err := exec.Command(b.Binary, "why", "default/"+name, "--socket", a.socket, "-o", "json").CombinedOutput()
			if text = string(out); err != nil || !strings.Contains(text, `"ready_ns"`) {
				return text
			}
			return ""
		})
		t.Log(b.kubeloupe(t, "why", "default/"+name, "--socket", a.socket))
		var r struct {
			Findings []struct{ ID, Sentence, Confidence string }
		}
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		at := slices.IndexFunc(r.Findings, func(c struct{ ID, Sentence, Confidence string }) bool { return c.ID == "KL19" })
		switch {
		case p.want == "" && at >= 0:
			t.Errorf("%s: %v is named", name, r.Findings[at])
		case p.want != "" && (at < 0 || !strings.Contains(r.Findings[at].Sentence, p.want) || r.Findings[at].Confidence != "certain"):
			t.Errorf("%s: got %v, want KL19, %s", name, r.Findings, p.want)
		}
	}
}
