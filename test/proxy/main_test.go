package proxy

import (
	"context"
	"errors"
	"fmt"
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
	"k8s.io/client-go/kubernetes"

	"github.com/kubeloupe/kubeloupe/inspect/proxy/guard"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/ownnet"
	"github.com/kubeloupe/kubeloupe/test/product"
	"github.com/kubeloupe/kubeloupe/test/testbed"
)

// deadline is how long a test waits for one thing on a machine that is busy.
const deadline = 90 * time.Second

// bench is a cluster whose node is upstream's kubelet, behind a proxy.
type bench struct {
	*testbed.Bed
	client kubernetes.Interface
	agent  *lab.Agent
	guard  *exec.Cmd
	ended  chan error
}

var shared = ownnet.Shared[*bench]{Build: newBench, Close: (*bench).close}

func TestMain(m *testing.M) {
	ownnet.Main(func() int { return shared.Run(m) }, lab.BuildCluster, product.Fetch)
}

func setup(t *testing.T) *bench {
	t.Helper()
	b := shared.Get(t)
	if b.guard == nil {
		b.ready(t)
	}
	return b
}

func newBench(t *testing.T) (_ *bench, err error) {
	t.Helper()
	bed, err := testbed.New("kl-proxy-", t.Output())
	if err != nil {
		return nil, err
	}
	b := &bench{Bed: bed}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	if b.client, err = b.Client(); err != nil {
		return nil, err
	}
	if err := b.relay(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	return b, b.kubelet(ctx)
}

// kubelet starts the kubelet, or starts it again: it connects to where the endpoint leads then.
func (b *bench) kubelet(ctx context.Context) error {
	config, err := b.WriteKubeletConfig("proxied", func(c map[string]any) { c["containerRuntimeEndpoint"] = "unix://" + b.link() })
	if err != nil {
		return err
	}
	if b.agent != nil {
		if err := b.agent.Stop(ctx); err != nil {
			return err
		}
	}
	if b.agent, err = b.StartAgent(ctx, lab.AgentConfig{Kind: lab.Upstream, KubeletConfig: config}); err != nil {
		return err
	}
	return b.agent.WaitReady(ctx)
}

func (b *bench) link() string    { return filepath.Join(b.Dir, "run", "endpoint.sock") }
func (b *bench) socket() string  { return filepath.Join(b.Dir, "run", "cri.sock") }
func (b *bench) control() string { return filepath.Join(b.Dir, "run", "kubeloupe.sock") }
func (b *bench) runtime() string { return strings.TrimPrefix(b.RuntimeEndpoint, "unix://") }

// relay starts the proxy and waits until the endpoint leads to it.
func (b *bench) relay() error {
	log, err := os.OpenFile(filepath.Join(b.Dir, "proxy.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	b.guard = exec.Command(b.Binary, "proxy", "--runtime", b.runtime(), "--listen", b.socket(), "--endpoint", b.link())
	b.guard.Stdout, b.guard.Stderr = log, log
	if err := b.guard.Start(); err != nil {
		return err
	}
	b.ended = make(chan error, 1)
	go func(c *exec.Cmd, ended chan error) { ended <- c.Wait() }(b.guard, b.ended)
	return b.leads(b.socket())
}

// ready starts the proxy if a test has ended it and failed, and has a kubelet that is connected to it.
func (b *bench) ready(t *testing.T) {
	t.Helper()
	start := func() error { return b.leads(b.socket()) }
	if b.guard == nil {
		start = b.relay
	}
	if err := errors.Join(start(), b.kubelet(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// wait returns how the guard ended.
func (b *bench) wait() error {
	err := <-b.ended
	b.guard = nil
	return err
}

// leads waits until the endpoint leads to a socket.
func (b *bench) leads(want string) error {
	var to string
	var err error
	for end := time.Now().Add(deadline); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if to, err = guard.Leads(b.link()); to == want {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("the endpoint leads to %q, want %s", to, want), err)
}

// relayPID is the process of the relay, the child of the guard.
func (b *bench) relayPID(t *testing.T) int {
	t.Helper()
	pid := b.guard.Process.Pid
	p, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil || strings.TrimSpace(string(p)) == "" { // another thread of it has the child
		all, globErr := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		if globErr != nil {
			t.Fatal(globErr)
		}
		for _, f := range all {
			if p, err = os.ReadFile(f); err == nil && strings.TrimSpace(string(p)) != "" {
				break
			}
		}
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(p)))
	if err != nil {
		t.Fatalf("the relay's pid: %q: %v", p, err)
	}
	return child
}

// close stops the proxy and the cluster. Its error names what is left.
func (b *bench) close() error {
	if b.guard != nil {
		_ = b.guard.Process.Signal(syscall.SIGTERM)
		_ = b.wait() // how it ended is of no interest here
	}
	return b.Close()
}

// pod is a pod of the tests.
func (b *bench) pod(name string) *v1.Pod {
	grace := int64(1)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: v1.PodSpec{TerminationGracePeriodSeconds: &grace, Containers: []v1.Container{{
			Name: "main", Image: b.Image(lab.ImageBusybox), Stdin: true,
			Command: []string{"sh", "-c", "echo hello; trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done"},
			Env:     []v1.EnvVar{{Name: "CANARY", Value: "c4nary-of-a-variable"}},
		}}},
	}
}

func (b *bench) create(t *testing.T, p *v1.Pod) {
	t.Helper()
	if err := b.await(t, func(ctx context.Context) error { // the service account may not be there yet
		_, err := b.client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{})
		return err
	}); err != nil {
		t.Fatalf("create %s: %v", p.Name, err)
	}
	t.Cleanup(func() { b.remove(t, p.Name) })
}

// remove deletes a pod and waits until it is gone.
func (b *bench) remove(t *testing.T, name string) {
	t.Helper()
	pods := b.client.CoreV1().Pods("default")
	_ = pods.Delete(context.Background(), name, metav1.DeleteOptions{})
	if err := b.await(t, func(ctx context.Context) error {
		if _, err := pods.Get(ctx, name, metav1.GetOptions{}); err == nil {
			return errors.New("it is still there")
		}
		return nil
	}); err != nil {
		t.Errorf("delete %s: %v", name, err)
	}
}

// runs waits until a pod is ready, and returns it.
func (b *bench) runs(t *testing.T, name string) *v1.Pod {
	t.Helper()
	var p *v1.Pod
	if err := b.await(t, func(ctx context.Context) (err error) {
		if p, err = b.client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		for _, c := range p.Status.Conditions {
			if c.Type == v1.PodReady && c.Status == v1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("not ready: %s", p.Status.Phase)
	}); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p
}

// await tries until there is no error.
func (b *bench) await(t *testing.T, try func(ctx context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// kubeloupe runs a command of the program on the proxy.
func (b *bench) kubeloupe(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), b.Binary, append(args, "--socket", b.control())...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubeloupe %v: %v\n%s", args, err, out)
	}
	return string(out)
}
