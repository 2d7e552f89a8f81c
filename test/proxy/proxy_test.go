package proxy

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// A pod starts through the proxy, and what people do with pods works. The views know its calls, and no variable's value.
func TestPod(t *testing.T) {
	b := setup(t)
	b.create(t, b.pod("web"))
	b.runs(t, "web")
	if out, err := b.Kubectl(t.Context(), "exec", "web", "--", "echo", "from inside"); err != nil || !strings.Contains(out, "from inside") {
		t.Errorf("exec: %q, %v", out, err)
	}
	if out, err := b.Kubectl(t.Context(), "logs", "web"); err != nil || !strings.Contains(out, "hello") {
		t.Errorf("logs: %q, %v", out, err)
	}
	b.attach(t)
	b.forward(t)

	all := b.kubeloupe(t, "events", "--pod", "default/web", "-o", "json")
	for _, want := range []string{`"method":"RunPodSandbox"`, `"method":"CreateContainer"`, `"method":"StartContainer"`, `"observer":"proxy"`, `"name":"seen"`} {
		if !strings.Contains(all, want) {
			t.Errorf("the events have no %s", want)
		}
	}
	if strings.Contains(all, "c4nary") {
		t.Error("a variable's value is in the events")
	}
	time.Sleep(12 * time.Second) // until the proxy says that no other container follows
	t.Log(b.kubeloupe(t, "trace", "default/web"))
	t.Log(b.kubeloupe(t, "why", "default/web"))
	t.Log(b.kubeloupe(t, "inspect", "pods"))
	b.remove(t, "web")
	t.Log(b.kubeloupe(t, "why", "--all"))
}

func (b *bench) attach(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	c := exec.CommandContext(ctx, b.Program("kubectl"), "--kubeconfig", b.Kubeconfig, "attach", "web")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second) // attached, it has nothing to say
	if err := c.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("attach ended: %v", err)
	}
	_ = c.Process.Kill()
	_, _ = io.ReadAll(out)
	_ = c.Wait()
}

func (b *bench) forward(t *testing.T) {
	t.Helper()
	p := b.pod("http")
	p.Spec.Containers[0].Image, p.Spec.Containers[0].Command = b.Image(lab.ImageHTTP), nil
	p.Spec.Containers[0].ReadinessProbe = &v1.Probe{PeriodSeconds: 1, ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080)}}}
	b.create(t, p)
	b.runs(t, "http")
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	c := exec.CommandContext(ctx, b.Program("kubectl"), "--kubeconfig", b.Kubeconfig, "port-forward", "http", ":8080")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n') // Forwarding from 127.0.0.1:40001 -> 8080
	if err != nil {
		t.Fatalf("port-forward: %v", err)
	}
	_, at, _ := strings.Cut(line, "from ")
	at, _, _ = strings.Cut(at, " ")
	r, err := http.Get("http://" + at + "/healthz") //nolint:noctx // it ends with the process
	if err != nil {
		t.Fatalf("port-forward, %q: %v", line, err)
	}
	_ = r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Errorf("port-forward: %s", r.Status)
	}
}

// Whatever of the proxy is killed, whenever, the kubelet stays ready, pods start, and no container restarts.
func TestKilled(t *testing.T) {
	b := setup(t)
	b.create(t, b.pod("before"))
	old := b.runs(t, "before")
	for _, c := range []struct {
		name string
		kill func(t *testing.T)
	}{
		{"the relay, in RunPodSandbox", func(t *testing.T) {
			b.create(t, b.pod("during"))
			b.inSandbox(t, "during")
			kill(t, b.relayPID(t))
			if err := b.leads(b.runtime()); err != nil {
				t.Fatal(err)
			}
			b.runs(t, "during")
		}},
		{"the relay, before a call", func(t *testing.T) {
			kill(t, b.relayPID(t))
			b.create(t, b.pod("after"))
			b.runs(t, "after")
		}},
		{"the guard", func(t *testing.T) {
			kill(t, b.guard.Process.Pid)
			_ = b.wait() // it was killed
			if err := b.leads(b.runtime()); err != nil {
				t.Fatal(err)
			}
			b.create(t, b.pod("unguarded"))
			b.runs(t, "unguarded")
			if err := b.relay(); err != nil {
				t.Fatal(err)
			}
		}},
		{"the guard, in RunPodSandbox, which ends well", func(t *testing.T) {
			const line = "RunPodSandbox from runtime service failed"
			failed := b.logged(t, line)
			b.create(t, b.pod("within"))
			b.inSandbox(t, "within")
			kill(t, b.guard.Process.Pid)
			_ = b.wait() // it was killed
			if err := b.leads(b.runtime()); err != nil {
				t.Fatal(err)
			}
			b.runs(t, "within")
			if n := b.logged(t, line); n != failed {
				t.Errorf("%d calls failed", n-failed)
			}
			if err := b.relay(); err != nil {
				t.Fatal(err)
			}
		}},
		{"ended by SIGTERM", func(t *testing.T) {
			if err := b.guard.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			b.create(t, b.pod("ending"))
			if err := b.wait(); err != nil {
				t.Errorf("it ended with %v", err)
			}
			b.runs(t, "ending")
			if err := b.relay(); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.ready(t)
			c.kill(t)
			if err := b.agent.WaitReady(t.Context()); err != nil {
				t.Errorf("the node: %v", err)
			}
		})
	}
	b.unrestarted(t, old)
	t.Logf("the kubelet called the runtime down %d times", b.logged(t, "Container runtime sanity check failed"))
}

// inSandbox waits until the pod's sandbox is being made.
func (b *bench) inSandbox(t *testing.T, name string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), b.Binary, "events", "--follow", "--kind", "cri.call", "--pod", "default/"+name, "-o", "json", "--socket", b.control())
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	for s := bufio.NewScanner(out); s.Scan(); {
		if strings.Contains(s.Text(), `"RunPodSandbox"`) {
			return
		}
	}
	t.Fatal("no RunPodSandbox came")
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
