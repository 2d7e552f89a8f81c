package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/inspect/report"
	"github.com/kubeloupe/kubeloupe/trace"
)

func (n *node) socket() string { return filepath.Join(n.root, "kubeloupe.sock") }

// ask runs another of kubeloupe's commands to its end, with pipes for its streams, where no terminal's
// escape code may come, whatever TERM says.
func (n *node) ask(code int, args ...string) string {
	n.t.Helper()
	out, err := n.run(args...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		n.t.Fatal(err)
	}
	if got != code {
		n.t.Errorf("%v: exit code %d, want %d\n%s", args, got, code, out)
	}
	return out
}

func (n *node) run(args ...string) (string, error) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, n.binary, args...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "COLORTERM=truecolor")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if bytes.ContainsRune(append(stdout.Bytes(), stderr.Bytes()...), '\x1b') {
		n.t.Errorf("%v: an escape code goes to a pipe", args)
	}
	if err != nil {
		return stdout.String() + stderr.String(), err
	}
	return stdout.String(), nil
}

// says is ask for what ends well, with words that are to be in its answer.
func (n *node) says(words string, args ...string) {
	n.t.Helper()
	if got := n.ask(0, args...); !strings.Contains(got, words) {
		n.t.Errorf("%v: no %q in:\n%s", args, words, got)
	}
}

// asked is when the question was asked, which differs.
var asked = regexp.MustCompile(`(?m)^ *"now": .*\n`)

// sameFrom asks the running agent and the recording until they answer the same: the latter is a second behind.
func (n *node) sameFrom(file string, args ...string) string {
	n.t.Helper()
	for end := time.Now().Add(deadline); ; n.agent.next() {
		live := asked.ReplaceAllString(n.ask(0, append(args, "--socket", n.socket())...), "")
		kept, err := n.run(append(args, "--from", file)...) // in the first second, the pod is not in it
		kept = asked.ReplaceAllString(kept, "")
		if live == kept && err == nil {
			return kept
		}
		if time.Now().After(end) {
			n.t.Errorf("%v (-recording +agent):\n%s", args, cmp.Diff(kept, live))
			return kept
		}
	}
}

// analysis is a command that reads a session, and what it is to say of one with the pods web and other.
type analysis struct {
	says string
	args []string
}

func (n *node) analyses(start string) []analysis {
	pod, other := "default/"+n.pod("web"), "default/"+n.pod("other")
	first, second := pod+start, other+start
	all := []analysis{
		{"RunPodSandbox", []string{"trace", first}},
		{`"path"`, []string{"trace", first, "-o", "json"}},
		{"<svg", []string{"trace", first, "-o", "svg"}},
		{"<!DOCTYPE html", []string{"trace", first, "-o", "html"}},
		{"critical path", []string{"trace", first, "-o", "markdown"}},
		{"resourceSpans", []string{"trace", "-o", "otlp-json"}},
		{"sandbox", []string{"trace", "--diff", first, second}},
		{other, []string{"trace", "--all"}},
		{"CRITICAL PATH", []string{"why", first}},
		{`"floor_ns"`, []string{"why", first, "-o", "json"}},
		{other, []string{"why", "--all"}},
		{"ready after", []string{"events"}},
		{`"name":"ready"`, []string{"events", "-o", "json", "--pod", pod}},
	}
	for _, s := range report.Subjects() {
		if s.Live { // a recording does not hold it
			continue
		}
		for _, format := range []string{"table", "json", "yaml"} {
			args := []string{"inspect", s.Name, "-o", format}
			if s.Name == "pod" {
				args = append(args, pod)
			}
			all = append(all, analysis{"", args})
		}
	}
	return all
}

// TestInstrument records an agent that takes containerd's spans and is killed while pods start: the socket and the recording say
// the same, the recording opens up to the tear, and the next agent continues with both.
func TestInstrument(t *testing.T) {
	n := newNode(t)
	file := filepath.Join(n.dir, "session.klr")
	flags := []string{"--record", file, "--otlp-http", fmt.Sprintf("127.0.0.1:%d", n.OTLPPort), "--cni-bin-dir", n.CNIBinDir}
	a := n.start(flags...)
	for _, name := range []string{"web", "other"} {
		n.put(name+".yaml", named(name))
	}
	a.ready("web", "other")
	a.wait("the span that ends last of a start", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.RuntimeSpan)
		return ok && strings.HasSuffix(e.Name, "/StartContainer") && r.Pod.Name == n.pod("web")
	})

	pod := "default/" + n.pod("web")
	told := n.sameFrom(file, "trace", pod, "-o", "json")
	n.sameFrom(file, "why", pod)
	n.sameFrom(file, "why", "--all", "-o", "json")
	n.readAll("", "--socket", n.socket())
	for _, s := range report.Subjects() {
		if s.Live && s.Name != "cgroup" { // of a pod
			n.ask(0, "inspect", s.Name, "--socket", n.socket())
		}
	}
	n.says("/kubepods", "inspect", "cgroup", pod, "--socket", n.socket())
	aside := filepath.Join(n.dir, "aside.klr")
	n.says("records in", "record", aside, "--for", "3s", "--socket", n.socket())
	n.says("CRITICAL PATH", "why", pod, "--from", aside)

	for i := range 6 { // it is killed while these start
		n.put(fmt.Sprintf("more%d.yaml", i), named(fmt.Sprintf("more%d", i)))
	}
	a.wait("a start in the middle of others", func(r *trace.Record) bool {
		m, ok := r.Event.(*trace.Milestone)
		return ok && m.Name == trace.MilestoneStarted && strings.HasPrefix(r.Pod.Name, "more")
	})
	a.kill()
	n.isPrefix(a, file)
	if got := n.ask(0, "trace", pod, "-o", "json", "--from", file); got != told {
		t.Errorf("after the kill the recording tells another start (-before +after):\n%s", cmp.Diff(told, got))
	}
	n.readAll("", "--from", file)
	n.torn(file)
	n.ask(2, "events", "--socket", n.socket()) // its file is there, and nobody behind it

	a = n.start(flags...)
	a.ready("more0", "more1", "more2", "more3", "more4", "more5")
	n.says("its start began before this agent", "why", pod, "--socket", n.socket())
	a.stop()
	r := n.open(file)
	if info := r.Info(); info.Sessions != 2 || info.Torn || info.Lost != 0 {
		t.Errorf("recording of two agents: %+v", info)
	}
	n.readAll("#1", "--from", file) // by the second agent they were found running
	n.nothingListens()
}

// readAll has each command read a session, and sees that it says something of it.
func (n *node) readAll(start string, where ...string) {
	n.t.Helper()
	for _, c := range n.analyses(start) {
		if got := n.ask(0, append(c.args, where...)...); got == "" || !strings.Contains(got, c.says) {
			n.t.Errorf("%v %v: no %q in:\n%s", c.args, where, c.says, got)
		}
	}
	n.ask(3, append([]string{"why", "default/" + n.pod("web") + start, "--fail-on", "start>1ns"}, where...)...)
	n.ask(2, append([]string{"why", "default/nobody"}, where...)...)
	if where[0] == "--from" {
		n.says("ready after", "replay", where[1], "-o", "text")
		n.says("ready after", "replay", where[1])
	}
}

// open opens a recording until the test ends.
func (n *node) open(file string) *recording.Reader {
	n.t.Helper()
	r, err := recording.Open(file)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = r.Close() })
	return r
}

// isPrefix sees that the recording is what the agent printed, without the last second at most.
func (n *node) isPrefix(a *agent, file string) {
	n.t.Helper()
	r := n.open(file)
	i := 0
	for item, err := range r.All() {
		if err != nil {
			n.t.Fatalf("record %d: %v", i, err)
		}
		if i == len(a.recs) {
			break // the agent was killed before it printed what it had written
		}
		got, err := item.Rec.AppendJSON(nil)
		if err != nil {
			n.t.Fatal(err)
		}
		want, err := a.recs[i].AppendJSON(nil)
		if err != nil {
			n.t.Fatal(err)
		}
		if !bytes.Equal(got, want) || item.Lost != 0 {
			n.t.Fatalf("record %d, %d lost before it:\n%s\nprinted was:\n%s", i, item.Lost, got, want)
		}
		i++
	}
	if i == 0 {
		n.t.Error("the recording is empty")
	}
	n.t.Logf("%d of %d records are in the recording of the agent that was killed", i, len(a.recs))
}

// torn cuts a copy of the recording in its last frame: all before is there still.
func (n *node) torn(file string) {
	n.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		n.t.Fatal(err)
	}
	cut := filepath.Join(n.dir, "torn.klr")
	if err := os.WriteFile(cut, text[:len(text)-3], 0o600); err != nil {
		n.t.Fatal(err)
	}
	if info := n.open(cut).Info(); !info.Torn || info.Records == 0 {
		n.t.Errorf("a torn recording: %+v", info)
	}
	n.says("ready after", "replay", cut, "-o", "text")
	n.says("CRITICAL PATH", "why", "default/"+n.pod("web"), "--from", cut)
}

// nothingListens sees that an agent that ended in order left no socket and no port.
func (n *node) nothingListens() {
	n.t.Helper()
	err := filepath.WalkDir(n.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type()&fs.ModeSocket != 0 {
			n.t.Errorf("left: %s", path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // something of a pod's that goes
		}
		return err
	})
	if err != nil {
		n.t.Error(err)
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", n.OTLPPort))
	if err != nil {
		n.t.Errorf("the port for spans is still taken: %v", err)
		return
	}
	_ = l.Close()
}
