package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/test/ginkgoreport"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/vm/node"
)

func TestParse(t *testing.T) {
	t.Setenv("AGENT", "upstream")
	t.Setenv("PROCS", "2")
	t.Setenv("KUBELOUPE_CACHE", "/cache")
	t.Setenv("OUT", "")
	t.Setenv("VM_DIR", "")
	o, err := parse([]string{"-focus", "Pods", "-dir", "/vm"})
	if err != nil {
		t.Fatal(err)
	}
	want := options{
		agent: lab.Upstream, program: "bin/kubeloupe", focus: "Pods", skip: defaultSkip, out: "/cache/e2e-node/results", dir: "/vm", procs: 2, timeout: 3 * time.Hour,
	}
	if o != want {
		t.Errorf("%+v, want %+v", o, want)
	}
	if o, err = parse([]string{"-host"}); err != nil || !o.host || o.out != "/cache/e2e-node/host" || filepath.Base(o.dir) != "kubeloupe-e2e-host" {
		t.Errorf("-host: %+v, %v", o, err)
	}
	t.Setenv("VM_DIR", "/machine")
	if o, err = parse([]string{"-out", "/out"}); err != nil || o.dir != "/machine" || o.out != "/out" {
		t.Errorf("VM_DIR: %+v, %v", o, err)
	}
	if o, err = parse([]string{"-host"}); err != nil || o.dir == "/machine" {
		t.Errorf("the machine's directory is taken for the host's: %+v, %v", o, err)
	}
	for _, bad := range [][]string{{"-agent", "kubelet"}, {"-procs", "0"}, {"-timeout", "0s"}, {"Pods"}, {"-host", "-keep"}} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
	t.Setenv("PROCS", "many")
	if _, err := parse(nil); err == nil {
		t.Error("PROCS=many is accepted")
	}
}

// A regular expression arrives at ginkgo as it was given, and the agent's kubelet is beside the tests.
func TestBegin(t *testing.T) {
	s := session{dir: filepath.Join(t.TempDir(), "run")}
	focus := `it's (a|b) "c" $d \[e\]`
	script := s.begin(options{agent: lab.Upstream, focus: focus, skip: "x", procs: 3, timeout: time.Hour})
	if !strings.Contains(script, "ln -f /opt/e2e/upstream/kubelet kubelet\n") {
		t.Errorf("no kubelet of upstream's:\n%s", script)
	}
	_, line, _ := strings.Cut(script, "exec ")
	line, _, _ = strings.Cut(line, "\nEND")
	said, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\n' `+line).Output()
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Split(string(said), "\n")
	for _, want := range []string{"--focus=" + focus, "--procs=3", "--timeout=1h0m0s", "--node-name=" + node.Name, "--report-dir=" + s.dir + "/results"} {
		if !strings.Contains("\n"+string(said), "\n"+want+"\n") {
			t.Errorf("no %s in %q", want, args)
		}
	}
}

// With an API server on the host, the script starts the agent, then the tests, which start nothing; the exit code is theirs, and the agent is ended.
func TestScript(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("e2e_node.test", `trap 'echo ended >> said; exit 0' TERM; echo "agent $*" >> said; while :; do sleep 0.02; done`)
	write("ginkgo", `echo "tests $*" >> said; exit 7`)
	write("curl", "test -e said")
	s := session{dir: "/run", api: &apiServer{url: "https://10.0.2.2:1", token: "secret"}}
	if err := os.Mkdir(filepath.Join(dir, "results"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", s.script(options{agent: lab.Kubeloupe, focus: "f", skip: "s", procs: 1, gates: "A=true"}))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 7 {
		t.Errorf("%v, want the tests' exit code 7", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "said"))
	if err != nil {
		t.Fatal(err)
	}
	said := string(text)
	for _, want := range []string{"agent --run-kubelet-mode --report-dir=/run/results ", " -- --start-services=false --report-dir=/run/results ", "ended\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	for _, want := range []string{" --host=https://10.0.2.2:1 --bearer-token=secret ", "--feature-gates=A=true"} {
		if strings.Count(said, want) != 2 {
			t.Errorf("%q is not said to both in\n%s", want, said)
		}
	}
}

// Swap is on in the runs that want it, for the agent, too, and off in the next one.
func TestSwap(t *testing.T) {
	s := session{dir: "/run"}
	on, off := s.begin(options{agent: lab.Kubeloupe, swap: true}), s.begin(options{agent: lab.Kubeloupe})
	for _, want := range []string{"mkswap -q /var/swap", "\nswapon /var/swap\n", "echo 'failSwapOn: false' >> /opt/e2e/config.yaml\n"} {
		if !strings.Contains(on, want) || strings.Contains(off, want) {
			t.Errorf("%q is not in the one, or in the other script:\n%s\n%s", want, on, off)
		}
	}
	for _, want := range []string{"swapoff -a\n", "sed -i /failSwapOn/d /opt/e2e/config.yaml\n"} {
		if !strings.Contains(off, want) {
			t.Errorf("no %q in\n%s", want, off)
		}
	}
}

func TestWorkspace(t *testing.T) {
	if got := workspace(time.Date(2026, 11, 26, 20, 1, 2, 0, time.UTC)); got != "node-e2e-20261126T200102" {
		t.Error(got)
	}
}

// Everything that is embedded goes to the machine, programs as such, and so does the layout.
func TestPayload(t *testing.T) {
	layout := t.TempDir()
	if err := os.MkdirAll(filepath.Join(layout, "blobs/sha256"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(layout, "blobs/sha256/ab"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	copied, err := payload(lab.NodeTests{Tests: "/t", Ginkgo: "/g", Kubelet: "/k", Registry: "/r", Layout: layout}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]string{
		"opt/e2e/e2e_node.test": "/t", "opt/e2e/ginkgo": "/g", "opt/e2e/upstream/kubelet": "/k", "opt/e2e/registry": "/r",
		"opt/e2e/layout/blobs/sha256/ab": filepath.Join(layout, "blobs/sha256/ab"),
	} {
		if copied[to] != want {
			t.Errorf("%s is %q, want %q", to, copied[to], want)
		}
	}
	for to, program := range map[string]bool{
		"opt/e2e/kubeloupe/kubelet": true, "usr/local/bin/sudo": true, "opt/e2e/config.yaml": false, "etc/containerd/certs.d/registry.k8s.io/hosts.toml": false,
	} {
		info, err := os.Stat(copied[to])
		if err != nil || info.Size() == 0 || (info.Mode()&0o111 != 0) != program {
			t.Errorf("%s: %v, %v", to, info, err)
		}
	}
}

// Of a test that ran twice, the last run counts; what upstream passes must pass.
func TestShow(t *testing.T) {
	dir := t.TempDir()
	add := func(agent lab.AgentKind, minute int, states map[string]string) {
		t.Helper()
		r := result{Agent: agent, Begin: time.Date(2026, 11, 26, 20, minute, 0, 0, time.UTC)}
		for name, state := range states {
			r.Tests = append(r.Tests, ginkgoreport.Test{Name: name, State: state, Seconds: 2, Message: "because\nof this"})
		}
		d := filepath.Join(dir, r.name())
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := r.write(d); err != nil {
			t.Fatal(err)
		}
	}
	add(lab.Kubeloupe, 1, map[string]string{"a": "failed", "b": "failed", "c": "skipped"})
	add(lab.Kubeloupe, 2, map[string]string{"a": "passed"})
	add(lab.Upstream, 3, map[string]string{"a": "passed", "b": "failed", "d": "passed"})
	var out strings.Builder
	if err := show(dir, &out); err != nil {
		t.Error(err)
	}
	want := `upstream         kubeloupe        test
passed    2s     passed    2s     a
failed    2s     failed    2s     b
-                skipped    2s    c
passed    2s     -                d

upstream: 2 passed, 1 failed, 0 skipped
  failed: b: because

kubeloupe: 1 passed, 1 failed, 1 skipped
  failed: b: because
  skipped: c: because
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	add(lab.Kubeloupe, 4, map[string]string{"d": "timedout"})
	if err := show(dir, &out); err == nil || !strings.Contains(err.Error(), "1 tests") || !strings.HasSuffix(err.Error(), ": d") {
		t.Errorf("a test that upstream passes failed: %v", err)
	}
}
