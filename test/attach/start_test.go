package attach

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// attached is a running attach.
type attached struct {
	*exec.Cmd
	socket, file string
	records      string // file with all records, a line of JSON each
	errs         string // file with its standard error
	done         chan struct{}
}

// said is what it has said on its standard error so far.
func (a *attached) said() string {
	text, err := os.ReadFile(a.errs)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// attach starts kubeloupe attach; it is killed when the test ends.
func (b *bench) attach(t *testing.T, args ...string) *attached {
	t.Helper()
	dir := t.TempDir()
	a := &attached{
		socket: filepath.Join(dir, "s.sock"), file: filepath.Join(dir, "out.klr"),
		records: filepath.Join(dir, "records.json"), errs: filepath.Join(dir, "errors"), done: make(chan struct{}),
	}
	for i, arg := range args { // the last one counts
		switch arg {
		case "--control-socket":
			a.socket = args[i+1]
		case "--record":
			a.file = args[i+1]
		}
	}
	args = append([]string{"attach", "--no-tui", "-o", "json", "--pid", strconv.Itoa(b.kubelet.PID()), "--control-socket", a.socket, "--record", a.file}, args...)
	a.Cmd = exec.Command(b.Binary, args...)
	for file, to := range map[string]*io.Writer{a.records: &a.Stdout, a.errs: &a.Stderr} {
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close() // the process has its own
		*to = f
	}
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		a.Wait() // how it ends is the test's
		close(a.done)
	}()
	t.Cleanup(func() {
		a.Process.Kill() // it may have ended
		<-a.done
		if text := a.said(); t.Failed() {
			t.Logf("attach said at last: %s", text[max(0, len(text)-4096):])
		}
	})
	eventually(t, "attach attaches", func() string {
		if text := a.said(); !strings.Contains(text, "attached to the kubelet") {
			return "it said: " + text
		}
		return ""
	})
	return a
}

// says waits until attach has said something of its own.
func (a *attached) says(t *testing.T, what string) {
	t.Helper()
	a.tells(t, "attach: ", what)
}

// tells waits until attach has printed a record with all words.
func (a *attached) tells(t *testing.T, words ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("attach tells %q", words), func() string {
		text, err := os.ReadFile(a.records)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
				return ""
			}
		}
		return "not yet: " + a.said()
	})
}

// eventually waits until missing says nothing.
func eventually(t *testing.T, what string, missing func() string) {
	t.Helper()
	for end := time.Now().Add(deadline); ; {
		asked := time.Now()
		said := missing()
		if said == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %s", what, said)
		}
		time.Sleep(max(200*time.Millisecond, 3*time.Since(asked))) // to ask takes processor time, from what is waited for
	}
}

// kubectl runs kubectl with a manifest on its input.
func (b *bench) create(t *testing.T, name string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pod.yaml")
	text := fmt.Sprintf(pod, name, b.Image(lab.ImageBusybox))
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
		if out, err := b.Kubectl(context.WithoutCancel(t.Context()), "delete", "--wait=false", "--ignore-not-found", "pod", name); err != nil {
			t.Logf("delete: %v: %s", err, out)
		}
	})
}

const pod = `
apiVersion: v1
kind: Pod
metadata: {name: %[1]s}
spec:
  terminationGracePeriodSeconds: 1
  initContainers:
  - {name: prepare, image: "%[2]s", command: [sh, -c, "sleep 1"]}
  containers:
  - {name: web, image: "%[2]s", command: [sleep, "3600"]}
`

// TestStart watches the start of a pod under upstream's kubelet: its phases are in the records, and the other commands see it through the
// control socket.
func TestStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.attach(t, "--kubeconfig", b.Kubeconfig)
	a.follows(t, b, "followed") // it has read what the logs had before, and sees the next pod from its first step on
	b.create(t, "shown")
	var text string
	eventually(t, "the start of the pod", func() string {
		out, err := exec.Command(b.Binary, "trace", "default/shown", "--socket", a.socket).CombinedOutput()
		if text = string(out); err != nil || !strings.Contains(text, "start    web") || strings.Contains(text, "not started") {
			return text
		}
		return ""
	})
	t.Log(text)
	t.Log(b.kubeloupe(t, "why", "default/shown", "--socket", a.socket))
	eventually(t, "the pod runs", func() string {
		if text := b.kubeloupe(t, "inspect", "pods", "--socket", a.socket); !strings.Contains(text, "1/1") {
			return text
		}
		return ""
	})
	for _, want := range []string{"sandbox", "create web", "start web", "init"} {
		if !strings.Contains(text, want) {
			t.Errorf("the start has no %q", want)
		}
	}
	// The kubelet sends Events when it comes to it.
	eventually(t, "all observers tell of the pod", func() string {
		text, err := os.ReadFile(a.records)
		if err != nil {
			t.Fatal(err)
		}
		return untold(t, string(text))
	})
	a.Process.Signal(syscall.SIGTERM) // Wait tells
	<-a.done
	if code := a.ProcessState.ExitCode(); code != 0 {
		t.Errorf("attach ended with %d: %s", code, a.said())
	}
	if missing := untold(t, b.kubeloupe(t, "events", "-o", "json", "--from", a.file)); missing != "" {
		t.Error(missing)
	}
}

// untold is what records, a line of JSON each, do not tell of the pod of TestStart; "" if nothing.
func untold(t *testing.T, records string) string {
	t.Helper()
	seen, told := map[string]int{}, map[string]bool{}
	for line := range strings.Lines(records) {
		if !strings.HasSuffix(line, "\n") {
			break // more of it comes
		}
		var r struct {
			Observer, Also string
			Pod            struct{ Name string }
			Event          struct{ Reason string }
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		seen[r.Observer]++
		if r.Pod.Name == "shown" {
			told[r.Event.Reason] = true
		}
		for o := range strings.FieldsFuncSeq(r.Also, func(r rune) bool { return r == ',' }) {
			seen["also "+o]++
		}
	}
	t.Log("records by observer:", seen)
	if !told["Scheduled"] || !told["Pulled"] || seen["api-server"]+seen["also api-server"] == 0 {
		return fmt.Sprintf("the API server told nothing: %v", told)
	}
	if seen["kubelet-log"] == 0 || seen["kubelet-api"] == 0 || seen["runtime-log"]+seen["also runtime-log"] == 0 {
		return fmt.Sprintf("an observer has seen nothing: %v", seen)
	}
	return ""
}

// TestKilled kills attach: the kubelet stays ready, and starts pods.
func TestKilled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	before := b.settings(t)
	a := b.attach(t)
	b.create(t, "killed")
	a.Process.Kill() // Wait tells
	<-a.done
	b.create(t, "after")
	eventually(t, "the pod after it", func() string {
		out, err := b.Kubectl(t.Context(), "get", "pod", "after", "-o", "jsonpath={.status.phase}")
		if err != nil || string(out) != "Running" {
			return string(out)
		}
		return ""
	})
	if err := b.kubelet.WaitReady(t.Context()); err != nil {
		t.Error(err)
	}
	if after := b.settings(t); after != before {
		t.Errorf("settings were\n%s\nand are\n%s", before, after)
	}
	again := b.attach(t) // and another one attaches
	b.kubeloupe(t, "inspect", "pods", "--socket", again.socket)
}

// settings is the kubelet's configuration in use, as it says itself.
func (b *bench) settings(t *testing.T) string {
	t.Helper()
	out, err := b.Kubectl(t.Context(), "get", "--raw", "/api/v1/nodes/"+lab.NodeName+"/proxy/configz")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
