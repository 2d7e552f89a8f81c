package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/ownnet"
	"github.com/kubeloupe/kubeloupe/test/product"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		want, goos string
		uid        int
		use, why   string // why: in it, or in the error
	}{
		{auto, "linux", 0, containerd, ""},
		{auto, "linux", 1000, sim, "need root, and this is user 1000"},
		{auto, "darwin", 0, sim, "need Linux, and this is darwin"},
		{containerd, "linux", 0, containerd, ""},
		{containerd, "linux", 1000, "", "needs Linux and root"},
		{sim, "linux", 0, sim, ""},
		{"docker", "linux", 0, "", `-runtime "docker": want auto`},
	} {
		use, why, err := choose(c.want, c.goos, c.uid)
		if err != nil {
			why = err.Error()
		}
		if use != c.use || !strings.Contains(why, c.why) || (c.why == "") != (why == "") || (err != nil) != (c.use == "") {
			t.Errorf("%s on %s as %d: %s, %q, %v; want %s, %q", c.want, c.goos, c.uid, use, why, err, c.use, c.why)
		}
	}
}

// The agent takes every manifest only if no placeholder is left, and none of the container's own variables is lost.
func TestManifests(t *testing.T) {
	vars := simVars()
	vars["SCRATCH"], vars["HOST_PORT"] = "/scratch", "8080"
	for _, s := range samples() {
		text, err := manifest(s.name, vars)
		if err != nil {
			t.Fatal(err)
		}
		if left := regexp.MustCompile(`\$\w+`).FindString(text); left != "" {
			t.Errorf("%s: %s is left", s.name, left)
		}
	}
	all, err := files.ReadDir("manifests")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(samples()) {
		t.Errorf("%d manifests, %d samples", len(all), len(samples()))
	}
	if text, err := manifest("notes", vars); err != nil || !strings.Contains(text, "hello from $(POD_NAME)") {
		t.Errorf("notes: the reference to POD_NAME is lost: %v\n%s", err, text)
	}
	delete(vars, "HOST_PORT")
	if _, err := manifest("front", vars); err == nil || !strings.Contains(err.Error(), "$HOST_PORT") {
		t.Errorf("error without a port: %v", err)
	}
}

func TestProgress(t *testing.T) {
	p := newProgress([]sample{{"web", ready}, {"job", succeeded}, {"bad", backOff}})
	of := func(name string, e trace.Event) {
		p.apply(&trace.Record{Pod: trace.Pod{Namespace: "shop", Name: name + "-" + nodeName, UID: name}, Event: e})
	}
	check := func(missing string) {
		t.Helper()
		if diff := cmp.Diff(missing, p.missing()); diff != "" {
			t.Errorf("missing (-want +got):\n%s", diff)
		}
	}
	for _, name := range []string{"web", "job", "bad", "other"} {
		of(name, &trace.Milestone{Name: trace.MilestoneSeen})
	}
	of("web", &trace.Milestone{Name: trace.MilestoneStarted})
	of("bad", &trace.Wait{For: trace.WaitQueue})
	of("job", &trace.PodStatus{Phase: trace.PodRunning})
	check("web to be ready, job to be succeeded, bad to be back-off")
	of("web", &trace.Milestone{Name: trace.MilestoneReady})
	of("job", &trace.PodStatus{Phase: trace.PodSucceeded})
	check("bad to be back-off")
	of("bad", &trace.Wait{For: trace.WaitBackoff})
	check("")
	for _, name := range []string{"web", "job", "bad"} {
		if p.gone() {
			t.Errorf("all are said to be gone before %s is", name)
		}
		of(name, &trace.Milestone{Name: trace.MilestoneGone})
	}
	if !p.gone() || p.err != nil {
		t.Errorf("gone %v, error %v", p.gone(), p.err)
	}
	of("web", &trace.Decision{Verdict: trace.VerdictReject, Reason: "too many pods"})
	if p.err == nil || !strings.Contains(p.err.Error(), "shop/web-demo was rejected: too many pods") {
		t.Errorf("error of a rejected pod: %v", p.err)
	}
}

// agentBinary builds the agent.
func agentBinary(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "kubeloupe")
	if err := product.Build(t.Context(), bin); err != nil {
		t.Fatal(err)
	}
	return bin
}

func TestMain(m *testing.M) { ownnet.Main(m.Run, lab.Build, product.Fetch) }

// The demo without a terminal, from nothing to nothing, on both runtimes.
func TestDemo(t *testing.T) {
	bin := agentBinary(t)
	t.Run("sim", func(t *testing.T) {
		temp := shortTemp(t)
		out, log := play(t, options{runtime: sim, bin: bin})
		checkOutput(t, out, "nginx:latest")
		if !strings.Contains(log, "simulated runtime") {
			t.Errorf("it does not say that the runtime is simulated:\n%s", log)
		}
		checkEmpty(t, temp)
	})
	t.Run("containerd", func(t *testing.T) {
		needRoot(t)
		temp := shortTemp(t)
		out, log := play(t, options{runtime: containerd, bin: bin})
		checkOutput(t, out, "/kubeloupe/60m")
		if !strings.Contains(out, "fetch layer") {
			t.Errorf("the waterfall has none of containerd's spans:\n%s", out)
		}
		if !strings.Contains(log, "the pods and the lab are gone") {
			t.Errorf("it does not say that all is gone:\n%s", log)
		}
		checkEmpty(t, temp)
	})
	// What quitting the UI leaves: pods and no agent. And a lab that was there before.
	t.Run("sweep", func(t *testing.T) {
		needRoot(t)
		temp := shortTemp(t)
		dir := filepath.Join(temp, "lab")
		l, err := lab.Up(t.Context(), lab.Config{Dir: dir, Log: t.Output()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := l.Down(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		}()
		o := options{runtime: containerd, bin: bin, labDir: dir, out: t.Output(), log: t.Output()}
		d, err := setup(t.Context(), o, containerd)
		if err != nil {
			t.Fatal(err)
		}
		leavePods(t, d)
		if n, err := sandboxes(t.Context(), l); err != nil || n == 0 {
			t.Fatalf("%d pods are left to be swept, %v", n, err)
		}
		if _, err := setup(t.Context(), o, containerd); err == nil || !strings.Contains(err.Error(), "has 2 pods") {
			t.Errorf("a second demo in a lab with pods: %v", err)
		}
		if err := d.close(); err != nil {
			t.Error(err)
		}
		if n, err := sandboxes(t.Context(), l); err != nil || n != 0 {
			t.Errorf("%d pods are left, %v", n, err)
		}
		if _, err := os.Stat(d.dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", d.dir, err)
		}
		if err := l.Ready(t.Context()); err != nil {
			t.Errorf("the lab that was there before is down: %v", err)
		}
	})
}

// leavePods starts two pods and ends the agent.
func leavePods(t *testing.T, d *demo) {
	t.Helper()
	two := []sample{{"web", ready}, {"notes", ready}}
	for _, s := range two {
		if err := d.put(s); err != nil {
			t.Fatal(err)
		}
	}
	a, err := d.launch(d.manifests)
	if err != nil {
		t.Fatal(err)
	}
	p := newProgress(two)
	for !p.arrived() {
		r, err := a.next(t.Context())
		if err != nil {
			t.Fatalf("%v: %s", err, &a.stderr)
		}
		p.apply(&r)
	}
	if err := a.stop(nil); err != nil {
		t.Fatal(err)
	}
}

// An interrupt deletes the pods before the demo ends.
func TestInterrupted(t *testing.T) {
	bin := agentBinary(t)
	temp := shortTemp(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	first := writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "seen from file") {
			cancel()
		}
		return out.Write(p)
	})
	err := run(ctx, options{runtime: sim, bin: bin, out: first, log: t.Output()})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the interrupted demo returns %v", err)
	}
	if !strings.Contains(out.String(), "gone after") {
		t.Errorf("no pod was deleted:\n%s", out.String())
	}
	checkEmpty(t, temp)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func play(t *testing.T, o options) (out, log string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	o.out, o.log = &stdout, &stderr
	err := run(t.Context(), o)
	if err != nil {
		t.Errorf("%v\n%s\n%s", err, &stderr, &stdout)
	}
	return stdout.String(), stderr.String()
}

// checkOutput looks for what a reader is promised.
func checkOutput(t *testing.T, out, pulled string) {
	t.Helper()
	for _, want := range []string{
		"agent ready on demo",
		"shop/stages-demo .* start seed",
		"shop/notes-demo .* ready after",
		"batch/report-demo .* phase Succeeded",
		"batch/crash-demo .* waits: backoff",
		"\nbatch/big-demo   Running .* critical path\n",
		"batch/big-demo .* pull .*" + pulled,
		"\nwhy: image pull is the critical path: ",
		"\nsum: pull ",
		" CRITICAL PATH\n",
		"agent stopped on demo",
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%q is not in the output", want)
		}
	}
	for _, s := range samples() {
		if !regexp.MustCompile(`/` + s.name + `-demo .* gone after`).MatchString(out) {
			t.Errorf("%s is not gone", s.name)
		}
	}
	if strings.ContainsRune(out, '\x1b') {
		t.Error("there is an escape code in the output")
	}
	if t.Failed() {
		t.Log(out)
	}
}

// shortTemp makes a directory for temporary files, short enough for sockets.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kld")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv("TMPDIR", dir)
	return dir
}

func checkEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		t.Errorf("left in the directory for temporary files: %s", e.Name())
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	ownnet.Need(t)
}
