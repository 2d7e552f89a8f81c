package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inLines is the command running with its output read line by line.
type inLines struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
	all   strings.Builder
}

func startLines(t *testing.T, args ...string) *inLines {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &inLines{t: t, cmd: exec.CommandContext(t.Context(), self), lines: make(chan string, 1024)}
	p.cmd.Args = append([]string{"kubeloupe"}, args...)
	p.cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = p.cmd.Stdout
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for sc := bufio.NewScanner(out); sc.Scan(); {
			p.lines <- sc.Text()
		}
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // it is gone already when all is well
		for l := range p.lines {
			p.all.WriteString(l + "\n")
		}
		if t.Failed() {
			t.Logf("%s\n%s", args[0], &p.all)
		}
		_ = p.cmd.Wait()
	})
	return p
}

// sees reads until a line has the text.
func (p *inLines) sees(text string) {
	p.t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case l, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("it ended without %q:\n%s", text, &p.all)
			}
			p.all.WriteString(l + "\n")
			if strings.Contains(l, text) {
				return
			}
		case <-limit:
			p.t.Fatalf("no %q within a minute:\n%s", text, &p.all)
		}
	}
}

const attachedScript = `b create
n
c
p pod.metadata.name
c
n
where
! true
s
until gone
q
`

// politeManifest is a pod that ends when it is told to.
const politeManifest = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: "lab/web:1"}]
`

// A pod of a running agent is caught at its creation, then at its deletion, and is left as it is by a quit.
func TestStepOnARunningAgent(t *testing.T) {
	dir, pods := t.TempDir(), t.TempDir()
	socket, script := filepath.Join(dir, "s"), filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte(attachedScript), 0o600); err != nil {
		t.Fatal(err)
	}
	agent := startLines(t, "run", "--runtime", "sim", "--pod-manifest-path", pods, "--hostname-override", "n1", "--healthz-port", "0", "--control-socket", socket)
	agent.sees("agent ready")
	s := startLines(t, "step", "--pod", "default/web-n1", "--socket", socket, "--script", script)
	s.sees("default/web-n1  waits for its next creation or deletion")
	other := startLines(t, "step", "--pod", "default/web-n1", "--socket", socket, "--script", script)
	other.sees("is being stepped by another session")
	manifest := filepath.Join(pods, "web.yaml")
	if err := os.WriteFile(manifest, []byte(politeManifest), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"paused before  cgroup", "will stop before create", "paused before  create web", "> p pod", "web-n1", "started after"} {
		s.sees(text)
	}
	if err := os.Remove(manifest); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"paused before  kill web", "paused before  stop-sandbox", "plan      deletion", "shell: only in a session on the agent's own terminal", "paused before  StopPodSandbox",
		"gone after", "quit: the pod continues",
	} {
		s.sees(text)
	}
	if err := os.WriteFile(manifest, []byte(politeManifest), 0o600); err != nil {
		t.Fatal(err)
	}
	agent.sees("gone after")
	agent.sees("started after") // held by nobody
}

// With --creation, only a pod's creation is paused, with --deletion only its deletion; each says which one it waits for.
func TestStepOnlyAPart(t *testing.T) {
	for _, part := range []string{"creation", "deletion"} {
		t.Run(part, func(t *testing.T) {
			dir, pods := t.TempDir(), t.TempDir()
			socket, script, manifest := filepath.Join(dir, "s"), filepath.Join(dir, "script"), filepath.Join(pods, "web.yaml")
			if err := os.WriteFile(script, []byte("n\nwhere\nc\nc\nq\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			agent := startLines(t, "run", "--runtime", "sim", "--pod-manifest-path", pods, "--hostname-override", "n1", "--healthz-port", "0", "--control-socket", socket)
			agent.sees("agent ready")
			s := startLines(t, "step", "--pod", "default/web-n1", "--socket", socket, "--script", script, "--"+part)
			s.sees("default/web-n1  waits for its next " + part)
			if err := os.WriteFile(manifest, []byte(politeManifest), 0o600); err != nil {
				t.Fatal(err)
			}
			if part == "creation" {
				for _, text := range []string{"paused before  cgroup", "plan      creation", "> c", "started after"} {
					s.sees(text)
				}
			} else {
				agent.sees("started after") // held by nobody
			}
			if err := os.Remove(manifest); err != nil {
				t.Fatal(err)
			}
			if part == "deletion" {
				for _, text := range []string{"paused before  kill web", "plan      deletion", "> c", "gone after"} {
					s.sees(text)
				}
			}
			agent.sees("gone after") // held by nobody, or let go
			if all := s.all.String(); strings.Contains(all, "paused before  kill") != (part == "deletion") || strings.Contains(all, "paused before  cgroup") != (part == "creation") {
				t.Errorf("not only the %s was paused:\n%s", part, all)
			}
		})
	}
}
