package causes_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent"
	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/otlp"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/ownnet"
	"github.com/kubeloupe/kubeloupe/trace"
)

// bench is what the tests on containerd share: a laboratory, in whose network's chain is a plugin that does as it is told.
type bench struct {
	*lab.Lab
	conn    *grpc.ClientConn
	runtime runtimeapi.RuntimeServiceClient
	images  runtimeapi.ImageServiceClient
}

var (
	shared    *bench
	errShared error
	once      sync.Once
)

func TestMain(m *testing.M) { ownnet.Main(func() int { return runAll(m) }, lab.BuildCluster) }

func runAll(m *testing.M) int {
	code := m.Run()
	if shared != nil {
		if err := shared.close(); err != nil {
			fmt.Fprintln(os.Stderr, "causes:", err)
			code = max(code, 1)
		}
	}
	return code
}

// containerd returns the bench, which the first test that asks for it builds. Its tests are not parallel: they share the port of spans.
func containerd(t *testing.T) *bench {
	t.Helper()
	ownnet.Need(t)
	once.Do(func() { shared, errShared = newBench() })
	if errShared != nil {
		t.Fatal(errShared)
	}
	return shared
}

func newBench() (*bench, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "kl-causes-")
	if err != nil {
		return nil, err
	}
	b := &bench{}
	if b.Lab, err = lab.Up(ctx, lab.Config{Dir: filepath.Join(dir, "lab"), Log: os.Stderr}); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return b, b.connect(ctx)
}

// connect prepares the laboratory.
func (b *bench) connect(ctx context.Context) (err error) {
	if b.conn, err = b.Dial(); err != nil {
		return err
	}
	b.runtime, b.images = runtimeapi.NewRuntimeServiceClient(b.conn), runtimeapi.NewImageServiceClient(b.conn)
	return b.putPlugin(ctx)
}

// close takes the laboratory down. Its error names what would be left.
func (b *bench) close() error {
	if b.conn != nil {
		_ = b.conn.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return errors.Join(b.Down(ctx), os.RemoveAll(filepath.Dir(b.Dir)))
}

// tardy is a CNI plugin that does what the file beside it says, and then what portmap does.
const tardy = `#!/bin/sh
read -r delay < '%[1]s'
if [ "$CNI_COMMAND" = ADD ]; then
	if [ "$delay" = fail ]; then
		sleep 1 # a run that is over before it is looked at is not seen
		echo '{"cniVersion": "1.0.0", "code": 11, "msg": "no address is left"}'
		exit 1
	fi
	sleep "$delay"
fi
'%[2]s/portmap'
`

func (b *bench) delayFile() string { return filepath.Join(b.CNIOwnDir, "delay") }

// plugin says what the plugin does: sleep for some seconds, or fail.
func (b *bench) plugin(t *testing.T, what string) {
	t.Helper()
	if err := os.WriteFile(b.delayFile(), []byte(what+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// putPlugin puts the plugin into the chain, and waits until containerd has read that.
func (b *bench) putPlugin(ctx context.Context) error {
	if err := os.MkdirAll(b.CNIOwnDir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(b.delayFile(), []byte("0\n"), 0o600); err != nil {
		return err
	}
	program := fmt.Sprintf(tardy, b.delayFile(), b.CNIBinDir)
	if err := os.WriteFile(filepath.Join(b.CNIOwnDir, "tardy"), []byte(program), 0o755); err != nil {
		return err
	}
	conf := filepath.Join(b.CNIConfDir, "10-kubeloupe.conflist")
	text, err := os.ReadFile(conf)
	if err != nil {
		return err
	}
	text = []byte(strings.Replace(string(text), `"portmap"`, `"tardy"`, 1))
	if err := os.WriteFile(conf, text, 0o600); err != nil { // containerd does not see a file that is moved there
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		r, err := b.runtime.Status(ctx, &runtimeapi.StatusRequest{Verbose: true})
		switch {
		case err != nil:
			return fmt.Errorf("wait for containerd to read %s: %w", conf, err)
		case strings.Contains(r.Info["cniconfig"], "tardy"):
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// forget removes an image from the node.
func (b *bench) forget(t *testing.T, i lab.Image) {
	t.Helper()
	if _, err := b.images.RemoveImage(t.Context(), &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: b.Image(i)}}); err != nil {
		t.Fatal(err)
	}
}

// run runs an agent on containerd, whose spans it takes, until the test ends. Then all pods go.
func (b *bench) run(t *testing.T) *node {
	t.Helper()
	n := newNode(t, t.TempDir())
	spans, err := otlp.New(otlp.Config{HTTP: fmt.Sprintf("127.0.0.1:%d", b.OTLPPort), CNIBinDirs: []string{b.CNIBinDir, b.CNIOwnDir}, Bus: n.bus})
	if err != nil {
		t.Fatal(err)
	}
	if err := spans.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	taken := make(chan error, 1)
	go func() { taken <- spans.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-taken; err != nil {
			t.Error(err)
		}
	})
	n.serve(agent.Config{Kubelet: n.kubelet("--cgroup-root", b.CgroupRoot+"/"+strings.ToLower(t.Name())), Endpoint: b.RuntimeEndpoint})
	t.Cleanup(func() {
		pods := n.pods
		n.set()
		for _, p := range pods {
			n.reached(p.Name, "gone")
		}
	})
	return n
}

// pod is one that does nothing but wait, from an image of the laboratory.
func (b *bench) pod(name string, i lab.Image) *v1.Pod {
	p := podOf(name, "sh", "-c", "trap 'exit 0' TERM; sleep infinity & wait")
	p.Spec.Containers[0].Image = b.Image(i)
	p.Spec.TerminationGracePeriodSeconds = new(int64(1))
	return p
}

// spans waits until the runtime, or who watches plugins, has told n spans of a name of the pod, and returns how long they took at most.
func (n *node) spans(pod, name string, want int) (longest time.Duration) {
	n.t.Helper()
	n.until(fmt.Sprintf("%d spans %s of %s", want, name, pod), func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.RuntimeSpan)
		if !ok || r.Pod.Name != pod || e.Name != name {
			return false
		}
		longest = max(longest, e.Dur)
		want--
		return want == 0
	})
	return longest
}

// certain waits until a rule is certain of the pod, in these words: the spans that it needs come one by one, children first.
func (n *node) certain(pod, id, words string) (f *cause.Finding) {
	n.t.Helper()
	n.until(fmt.Sprintf("certainty of %s that %q of %s", id, words, pod), func(r *trace.Record) bool {
		if _, ok := r.Event.(*trace.RuntimeSpan); !ok {
			return false
		}
		f = n.finding(pod, id)
		return f != nil && f.Confidence == cause.Certain && strings.Contains(f.Sentence, words)
	})
	return f
}
