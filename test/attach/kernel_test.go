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
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

// tardy is a CNI plugin that sleeps as long as a file says, and then does what portmap does.
const tardy = `#!/bin/sh
read -r delay < '%[1]s'
if [ "$CNI_COMMAND" = ADD ]; then
	sleep "$delay"
fi
'%[2]s/portmap'
`

// slowNetwork puts a plugin into the chain of the pods' network; it sleeps as long as the file says that it returns.
func (b *bench) slowNetwork(t *testing.T) (delay string) {
	t.Helper()
	delay = filepath.Join(b.CNIOwnDir, "delay")
	conf := filepath.Join(b.CNIConfDir, "10-kubeloupe.conflist")
	text, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(b.CNIOwnDir, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		delay: "0\n", filepath.Join(b.CNIOwnDir, "tardy"): fmt.Sprintf(tardy, delay, b.CNIBinDir), conf: strings.Replace(string(text), `"portmap"`, `"tardy"`, 1),
	} {
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := os.WriteFile(conf, text, 0o600); err != nil {
			t.Error(err)
		}
	})
	return delay
}

// findings is what why says of a pod that attach has seen.
func (b *bench) findings(t *testing.T, a *attached, pod string) []cause.Finding {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), b.Binary, "why", "-o", "json", "--socket", a.socket, "--", pod).Output()
	if err != nil {
		return nil // it is not known yet
	}
	var r why.Report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r.Findings
}

// speaks waits until why names a cause of a pod, with any confidence if that is "".
func (b *bench) speaks(t *testing.T, a *attached, pod, id string, confidence cause.Confidence, sentence string) {
	t.Helper()
	eventually(t, pod+" has "+id, func() string {
		all := b.findings(t, a, pod)
		for _, f := range all {
			if f.ID == id && (confidence == "" || f.Confidence == confidence) && strings.Contains(f.Sentence, sentence) {
				t.Logf("%s of %s (%s): %s; %+v", f.ID, pod, f.Confidence, f.Sentence, f.Evidence)
				return ""
			}
		}
		return fmt.Sprintf("it has %+v", all)
	})
}

// silent sees that why does not name a cause of a pod.
func (b *bench) silent(t *testing.T, a *attached, pod string, ids ...string) {
	t.Helper()
	for _, f := range b.findings(t, a, pod) {
		if slices.Contains(ids, f.ID) {
			t.Errorf("%s of %s: %s", f.ID, pod, f.Sentence)
		}
	}
}

// cheap sees that why names no cause of a pod with that ID that cost so much: on a busy machine, also what is not slow takes its time.
func (b *bench) cheap(t *testing.T, a *attached, pod, id string, much time.Duration) {
	t.Helper()
	for _, f := range b.findings(t, a, pod) {
		if f.ID == id && f.Cost >= much {
			t.Errorf("%s of %s cost %s: %s", f.ID, pod, f.Cost, f.Sentence)
		}
	}
}

// started waits until a pod that attach watches has started.
func (b *bench) started(t *testing.T, a *attached, pod string) {
	t.Helper()
	eventually(t, pod+" has started", func() string {
		out, err := exec.Command(b.Binary, "trace", pod, "--socket", a.socket).CombinedOutput()
		if text := string(out); err != nil || !strings.Contains(text, "start    web") || strings.Contains(text, "not started") {
			return text
		}
		return ""
	})
}

// TestSlowCNI has a CNI plugin sleep for one pod of two: the kernel shows which plugin it was.
func TestSlowCNI(t *testing.T) {
	b := setup(t)
	delay := b.slowNetwork(t)
	a := b.attach(t)
	b.create(t, "quick")
	b.started(t, a, "default/quick")
	if err := os.WriteFile(delay, []byte("2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.create(t, "tardy")
	b.started(t, a, "default/tardy")
	b.speaks(t, a, "default/tardy", "KL06", cause.Certain, "the slowest plugin was tardy")
	for _, f := range b.findings(t, a, "default/quick") { // on a machine that is busy, another plugin may take its time
		if f.ID == "KL06" && strings.Contains(f.Sentence, "tardy") {
			t.Errorf("%s of default/quick: %s", f.ID, f.Sentence)
		}
	}
	t.Log(b.kubeloupe(t, "trace", "default/tardy", "--socket", a.socket))
	t.Log(b.kubeloupe(t, "inspect", "node", "--socket", a.socket))
}

// apply creates a pod of this name; it is deleted when the test ends.
func (b *bench) apply(t *testing.T, name, spec string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pod.yaml")
	text := fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec:\n  terminationGracePeriodSeconds: 1\n%s", name, strings.ReplaceAll(spec, "IMAGE", b.Image(lab.ImageBusybox)))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "create "+name, func() string {
		if out, err := b.Kubectl(t.Context(), "create", "-f", file); err != nil {
			return err.Error() + " " + string(out)
		}
		return ""
	})
	t.Cleanup(func() {
		if out, err := b.Kubectl(context.WithoutCancel(t.Context()), "delete", "--timeout=90s", "--ignore-not-found", "pod", name); err != nil {
			t.Logf("delete: %v: %s", err, out)
		}
	})
}

// told are the records that attach has printed and that a test wants.
func (a *attached) told(t *testing.T, want func(*trace.Record) bool) (all []trace.Record) {
	t.Helper()
	text, err := os.ReadFile(a.records)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var r trace.Record
		if strings.HasSuffix(line, "\n") && r.ParseJSON([]byte(line)) == nil && want(&r) {
			all = append(all, r)
		}
	}
	return all
}

// TestStarvedProbe has a container's probe fail because its CPU limit is used up, beside one with the same limit that fails by itself.
func TestStarvedProbe(t *testing.T) {
	b := setup(t)
	a := b.attach(t)
	const probe = `    readinessProbe: {exec: {command: [%s]}, periodSeconds: 2, timeoutSeconds: 3}
    resources: {limits: {cpu: %s}}
`
	const busy = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do timeout 60 sh -c 'while :; do :; done' & done; wait; sleep 3600"
	// 50 ms of a processor, whatever its speed: half a second of this limit, and more than the timeout beside sixteen others.
	const work = "while read -r stat < /proc/self/stat; do set -- $stat; if [ $((${14}+${15})) -ge 5 ]; then exit 0; fi; done"
	b.apply(t, "starved", "  containers:\n  - name: web\n    image: IMAGE\n    command: [sh, -c, \""+busy+"\"]\n"+fmt.Sprintf(probe, "sh, -c, \""+work+"\"", "100m"))
	b.apply(t, "refused", "  containers:\n  - name: web\n    image: IMAGE\n    command: [sh, -c, \"sleep 20; touch /ready; sleep 3600\"]\n"+fmt.Sprintf(probe, "ls, /ready", "500m"))
	defer func() {
		if t.Failed() {
			out, err := exec.Command(b.Binary, "why", "default/starved", "--socket", a.socket).CombinedOutput()
			t.Logf("why: %v: %s", err, out)
			for _, r := range a.told(t, func(r *trace.Record) bool {
				p, ok := r.Event.(*trace.ProbeAttempt)
				return ok && r.Pod.Name == "starved" && p.Result != ""
			}) {
				t.Logf("%s %v: %+v", r.At(), r.Edge, r.Event)
			}
		}
	}()
	// Certain or likely: on a busy machine, the container does not get what its limit leaves. On one that has no processor for it at all, its
	// limit holds it back no more.
	eventually(t, "default/starved has KL20", func() string {
		all := b.findings(t, a, "default/starved")
		for _, f := range all {
			if f.ID == "KL20" && strings.Contains(f.Sentence, "the container's own CPU limit held it back") {
				t.Logf("%s (%s): %s; %+v", f.ID, f.Confidence, f.Sentence, f.Evidence)
				return ""
			}
			if share, _ := a.strained(t, "starved", trace.ResourceCPU); f.ID == "KL23" && share >= 80 && f.Cost > 10*time.Second {
				t.Logf("tasks of this machine stalled for a processor %d %% of the time: %s", share, f.Sentence)
				return ""
			}
		}
		return fmt.Sprintf("it has %+v", all)
	})
	eventually(t, "the other pod is ready after its probe has failed", func() string {
		failed := a.told(t, func(r *trace.Record) bool {
			p, ok := r.Event.(*trace.ProbeAttempt)
			return ok && r.Pod.Name == "refused" && p.Result == trace.ProbeFailure && p.Throttle != nil
		})
		ready := a.told(t, func(r *trace.Record) bool {
			m, ok := r.Event.(*trace.Milestone)
			return ok && r.Pod.Name == "refused" && m.Name == trace.MilestoneReady
		})
		if len(failed) == 0 || len(ready) == 0 {
			return fmt.Sprint(len(failed), " failures with figures of the limit, ready: ", len(ready))
		}
		return ""
	})
	b.silent(t, a, "default/refused", "KL20")
}
