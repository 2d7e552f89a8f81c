package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// Both processes of the proxy are killed at once, without systemd: nobody turns the link, the kubelet has no runtime, and its node gets
// NotReady. The status says so. A bypass, or the next start of the proxy, is enough: the pod that was being started runs, and no container
// was restarted.
func TestBothKilled(t *testing.T) {
	b := setup(t)
	b.create(t, b.pod("stays"))
	old := b.runs(t, "stays")
	status := func() (string, int) {
		c := exec.CommandContext(t.Context(), b.Binary, "proxy", "status", "--endpoint", b.link(), "--runtime", b.runtime())
		out, err := c.CombinedOutput()
		if err != nil && c.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), c.ProcessState.ExitCode()
	}
	for _, c := range []struct {
		name string
		out  func() error
	}{
		{"bypass", func() error {
			out, err := exec.CommandContext(t.Context(), b.Binary, "proxy", "bypass", "--runtime", b.runtime(), "--endpoint", b.link()).CombinedOutput()
			if err != nil {
				return errors.New(string(out))
			}
			return b.leads(b.runtime())
		}},
		{"next-start", b.relay},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.ready(t)
			if said, code := status(); code != 0 || !strings.Contains(said, "leads to "+b.socket()+"\n") {
				t.Errorf("the status ended with %d: %s", code, said)
			}
			b.create(t, b.pod(c.name))
			b.inSandbox(t, c.name)
			b.killProxy(t)
			if err := b.leads(b.socket()); err != nil {
				t.Error(err)
			}
			said, code := status()
			if code != 1 || !strings.Contains(said, "nobody listens on "+b.socket()) || !strings.Contains(said, "proxy bypass --runtime "+b.runtime()+" --endpoint "+b.link()) {
				t.Errorf("the status ended with %d: %s", code, said)
			}
			began := time.Now()
			if err := b.await(t, b.notReady); err != nil {
				t.Errorf("the node without a runtime: %v", err)
			}
			t.Logf("the node is NotReady after %.0f s", time.Since(began).Seconds())
			if err := c.out(); err != nil {
				t.Fatal(err)
			}
			began = time.Now()
			if err := b.agent.WaitReady(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Logf("it is Ready %.0f s after the way out", time.Since(began).Seconds())
			b.runs(t, c.name)
			if c.name == "bypass" {
				if err := b.relay(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	b.unrestarted(t, old)
}

// The proxy and an attach that has raised the verbosity are killed at once: the verbosity is put back, and the next start of the proxy is enough.
func TestAllKilled(t *testing.T) {
	b := setup(t)
	if err := b.kubelet(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.create(t, b.pod("remains"))
	old := b.runs(t, "remains")
	a := exec.Command(b.Binary, "attach", "--no-tui", "--pid", strconv.Itoa(b.agent.PID()), "--control-socket", "none",
		"--raise-verbosity", "5", "--for", "5m", "--kubelet-kubeconfig", b.Kubeconfig)
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		a.Wait() // it is killed
		close(ended)
	}()
	t.Cleanup(func() {
		a.Process.Kill() // it was
		<-ended
	})
	at5 := func() int { return b.logged(t, `"GenericPLEG: Relisting"`) }
	before := at5()
	if err := b.await(t, func(context.Context) error {
		if at5() == before {
			return errors.New("no lines of V5 yet")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	kill(t, a.Process.Pid)
	b.killProxy(t)
	<-ended
	if err := b.await(t, func(context.Context) error {
		before := at5()
		time.Sleep(3 * time.Second) // three relists
		if at5() != before {
			return errors.New("the verbosity is raised")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if err := b.relay(); err != nil {
		t.Fatal(err)
	}
	if err := b.agent.WaitReady(t.Context()); err != nil {
		t.Error(err)
	}
	b.create(t, b.pod("later"))
	b.runs(t, "later")
	b.unrestarted(t, old)
}

// containerd is killed and started again under the proxy, and then the kubelet is: pods start again through the proxy, and no container restarts.
func TestRestarts(t *testing.T) {
	b := setup(t)
	if err := b.kubelet(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.create(t, b.pod("kept"))
	old := b.runs(t, "kept")
	if err := b.RestartContainerd(t.Context(), syscall.SIGKILL, func() { time.Sleep(2 * time.Second) }); err != nil {
		t.Fatal(err)
	}
	b.proxied(t, "after-containerd")
	if err := b.kubelet(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.proxied(t, "after-kubelet")
	b.unrestarted(t, old)
}

// proxied sees a pod start, by the proxy's own records.
func (b *bench) proxied(t *testing.T, name string) {
	t.Helper()
	b.create(t, b.pod(name))
	b.runs(t, name)
	if err := b.leads(b.socket()); err != nil {
		t.Error(err)
	}
	if all := b.kubeloupe(t, "events", "--pod", "default/"+name, "-o", "json"); !strings.Contains(all, `"method":"StartContainer"`) {
		t.Errorf("the start of %s did not go through the proxy:\n%s", name, all)
	}
}

// killProxy kills both processes of the proxy. The guard is stopped first, so that it cannot see its relay die. A stopped relay would be no
// help: when its guard dies, its process group is orphaned, and the kernel continues what is stopped in it.
func (b *bench) killProxy(t *testing.T) {
	t.Helper()
	relay, guard := b.relayPID(t), b.guard.Process.Pid
	if err := syscall.Kill(guard, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := b.await(t, func(context.Context) error { return stopped(guard) }); err != nil { // the kernel stops one thread after the other
		t.Fatal(err)
	}
	kill(t, relay)
	if err := b.await(t, func(ctx context.Context) error { // it listens until the last of its threads has ended
		c, err := new(net.Dialer).DialContext(ctx, "unix", b.socket())
		if errors.Is(err, syscall.ECONNREFUSED) {
			return nil
		}
		if err == nil {
			err = errors.Join(errors.New("the killed relay listens"), c.Close())
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	kill(t, guard)
	_ = b.wait() // it was killed
}

// stopped is an error while a thread of a process is not stopped.
func stopped(pid int) error {
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(all) == 0 {
		return errors.Join(fmt.Errorf("process %d has no threads", pid), err)
	}
	for _, f := range all {
		stat, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		if _, after, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(after, "T ") {
			return fmt.Errorf("%s: it is not stopped: %s", f, stat)
		}
	}
	return nil
}

// notReady is an error while the node is ready.
func (b *bench) notReady(ctx context.Context) error {
	n, err := b.client.CoreV1().Nodes().Get(ctx, lab.NodeName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range n.Status.Conditions {
		if c.Type == v1.NodeReady && c.Status == v1.ConditionTrue {
			return errors.New("it is Ready")
		}
	}
	return nil
}

// unrestarted sees that a pod has the container that it had.
func (b *bench) unrestarted(t *testing.T, old *v1.Pod) {
	t.Helper()
	was, is := old.Status.ContainerStatuses[0], b.runs(t, old.Name).Status.ContainerStatuses[0]
	if was.ContainerID != is.ContainerID || is.RestartCount != 0 {
		t.Errorf("the container of %s was %s, is %s after %d restarts", old.Name, was.ContainerID, is.ContainerID, is.RestartCount)
	}
}

// logged counts lines of the kubelet's log.
func (b *bench) logged(t *testing.T, line string) int {
	t.Helper()
	log, err := os.ReadFile(b.agent.LogFile)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(log), line)
}
