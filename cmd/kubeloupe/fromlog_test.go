package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestFromLog analyzes a log of upstream's kubelet, which test/kubeletlogs made.
func TestFromLog(t *testing.T) {
	v4 := filepath.Join("..", "..", "inspect", "attach", "kubeletlog", "testdata", "v4.log.gz")
	plain := "I1122 08:00:01.000000       1 a.go:1] \"SyncLoop ADD\" source=\"api\" pods=[\"shop/web\"]\n" +
		"E1122 08:00:02.000000       1 a.go:1] \"Error syncing pod, skipping\" err=\"network is not ready: container runtime network not ready: x\" pod=\"shop/web\" podUID=\"u\"\n" +
		"I1122 08:00:09.000000       1 a.go:1] \"other\"\n"
	for name, c := range map[string]struct {
		args, in string
		code     int
		want     []string
	}{
		"why --all":           {"why --all --from " + v4, "", 0, []string{"shop/no-secret is gone", "seen by: kubelet log V4", "shop/web is gone"}},
		"why":                 {"why shop/web --from " + v4, "", 0, []string{"sandbox", "wait init", "poll", "KL21", "seen by: kubelet log V4"}},
		"why JSON":            {"why shop/no-image --from " + v4 + " -o json", "", 0, []string{`"id": "KL05"`, `"seen_by": [`, "seen by: kubelet log V4"}},
		"--fail-on":           {"why --all --from " + v4 + " --fail-on KL11", "", exitHeld, []string{"shop/no-secret"}},
		"trace":               {"trace shop/web --from " + v4, "", 0, []string{"init container prepare", "seen by: kubelet log V4"}},
		"trace --all":         {"trace --all --from " + v4, "", 0, []string{"shop/web", "seen by: kubelet log V4"}},
		"inspect":             {"inspect pods --from " + v4, "", 0, []string{"No pods", "seen by: kubelet log V4"}},
		"events":              {"events --from " + v4 + " --kind pod.milestone", "", 0, []string{"shop/web"}},
		"stdin":               {"why --all --from - --log-zone UTC", plain, 0, []string{"shop/web", "the runtime has no pod network", "not in the log at this level"}},
		"no pod":              {"why --all --from -", "I1122 08:00:01.000000       1 a.go:1] \"other\"\n", 0, []string{"No pods: no line of the log (1 entry)", "1 entry\n"}},
		"cut":                 {"why --all --from -", "I1122 08:00:01.000000       1 a.go:1] \"other\" a=\"b\n", 0, []string{"1 entry, 1 entry is cut\n"}},
		"the node":            {"why --all --from - --fail-on KL15", "E1122 08:00:01.000000       1 a.go:1] \"Skipping pod synchronization\" err=\"PLEG is not healthy: pleg was last seen active 9m0s ago\"\n", exitHeld, []string{"the node: the container runtime did not answer", "No pods"}},
		"short, and no more":  {"why --all --from -", "I1122 08:00:01.000000       1 a.go:1] \"Eviction manager: attempting to reclaim\" resourceName=\"memory\"\n", 0, []string{"No pods: no line of the log (1 entry)"}},
		"not ready":           {"why --all --from - --fail-on KL15", "I1122 08:00:01.000000       1 a.go:1] \"Node became not ready\" node=\"n\" condition={\"reason\":\"KubeletNotReady\",\"message\":\"PLEG is not healthy: pleg was last seen active 3m9s ago\"}\n", exitHeld, []string{"the node: the container runtime did not answer"}},
		"rejected":            {"why --all --from -", "I1122 08:00:01.000000       1 a.go:1] \"Pod admission denied\" pod=\"shop/web\" podUID=\"u\" reason=\"OutOfcpu\" message=\"Node didn't have enough resource: cpu.\"\n", 0, []string{"shop/web has failed", "the kubelet rejected it: Node didn't have enough resource: cpu."}},
		"not known":           {"why --all --from -", "I1122 08:00:01.000000       1 a.go:1] \"Probe failed\" probeType=\"Readiness\" pod=\"shop/web\" podUID=\"u\" containerName=\"a\" output=\"503\"\n", 0, []string{"only mentioned, so that nothing is known of their starts: shop/web"}},
		"wrong zone":          {"why --all --from - --log-zone Mars", plain, 2, []string{"--log-zone", "must be a time zone"}},
		"no log":              {"why --all --from -", "hello\n", 2, []string{"neither"}},
		"two logs":            {"why shop/full --from " + v4 + " --from " + strings.TrimSuffix(v4, ".log.gz") + ".containerd.log.gz", "", 0, []string{"create three", "container runtime log", "seen by: kubelet log V4"}},
		"the runtime's alone": {"why --all --from " + strings.TrimSuffix(v4, ".log.gz") + ".containerd.log.gz", "", 0, []string{"shop/web", "give the kubelet's log too"}},
		"the same twice":      {"why --all --from " + v4 + " --from " + v4, "", 0, []string{"shop/web", "note: " + v4 + ": left out: " + v4 + " has the same content"}},
		"a directory":         {"why --all --from " + filepath.Dir(v4), "", 0, []string{"shop/web", "container runtime log"}},
		"nothing":             {"why --all --from . --from -", "", 2, []string{"standard input"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := execute(strings.Fields(c.args), strings.NewReader(c.in), &out, &errs)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String()+errs.String(), want) {
					t.Errorf("%q is missing in:\n%s%s", want, out.String(), errs.String())
				}
			}
		})
	}
}

// TestLogYear says that the year is that of the file's time.
func TestLogYear(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubelet.log")
	if err := os.WriteFile(file, []byte("I1122 08:00:01.000000       1 a.go:1] \"SyncLoop ADD\" source=\"api\" pods=[\"shop/web\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, time.Time{}, time.Date(2021, 12, 1, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := execute([]string{"events", "--from", file, "-o", "json", "--log-zone", "UTC"}, strings.NewReader(""), &out, &errs); code != 0 || !strings.Contains(out.String(), `"2021-11-22T08:00:01`) {
		t.Errorf("exit code %d:\n%s%s", code, out.String(), errs.String())
	}
}

// TestSeenInHeader says in the UI's header what is shown from a file.
func TestSeenInHeader(t *testing.T) {
	v2 := filepath.Join("..", "..", "inspect", "attach", "kubeletlog", "testdata", "v2")
	o := observed{from: v2 + ".log.gz", more: []string{v2 + ".containerd.log.gz"}}
	src, closing, err := o.open(t.Context(), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	defer closing()
	at := &atEnd{source: src, log: o.log}
	if at.label() != "FILE" {
		t.Errorf("got %q before anything was read", at.label())
	}
	for at.label() != "FILE kubelet log V2, runtime log" {
		if _, _, err := at.Next(t.Context(), make([]trace.Record, 0, 64)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSeenByJSON sees that reports for programs say what they are made from, too.
func TestSeenByJSON(t *testing.T) {
	for _, args := range [][]string{{"trace", "--all"}, {"trace", "shop/web"}, {"inspect", "pods"}, {"inspect", "pod", "shop/web"}} {
		var out, errs bytes.Buffer
		args = append(args, "--from", "../../inspect/attach/kubeletlog/testdata/v4.log.gz", "-o", "json")
		if code := execute(args, nil, &out, &errs); code != exitOK {
			t.Fatalf("%q: %d: %s", args, code, errs.String())
		}
		var got struct {
			SeenBy []string `json:"seen_by"`
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		if len(got.SeenBy) == 0 || !strings.Contains(got.SeenBy[0], "kubelet log V4") {
			t.Errorf("%q: seen_by is %q", args, got.SeenBy)
		}
	}
}
