package faultcorpus_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent"
	"github.com/kubeloupe/kubeloupe/agent/config"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/inspect/otlp"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

// patience is how long a case waits for what should happen.
const patience = 4 * time.Minute

// client are connections to the laboratory's containerd.
type client struct {
	conn    *grpc.ClientConn
	runtime runtimeapi.RuntimeServiceClient
	images  runtimeapi.ImageServiceClient
}

func (c *client) dial(l *lab.Lab) (err error) {
	if c.conn, err = l.Dial(); err != nil {
		return err
	}
	c.runtime, c.images = runtimeapi.NewRuntimeServiceClient(c.conn), runtimeapi.NewImageServiceClient(c.conn)
	return nil
}

func (c *client) close() {
	if c.conn != nil {
		_ = c.conn.Close()
	}
}

// scene is where a case happens: an agent on the laboratory's containerd.
type scene struct {
	*bed
	t    *testing.T
	dir  string
	pods []*v1.Pod // by set

	bus    *trace.Bus
	source *podsource.Memory
	cursor *trace.Cursor
	recs   []trace.Record
	stop   func() // ends the agent
}

// scene starts an agent for a case. When the case ends, its pods and the agent go.
func (b *bed) scene(t *testing.T) *scene {
	t.Helper()
	dir, err := os.MkdirTemp("", "kl-fault-")
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{bed: b, t: t, dir: dir}
	t.Cleanup(func() {
		if err := errors.Join(lab.UnmountBelow(dir), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	s.start()
	t.Cleanup(func() {
		pods := s.pods
		s.set()
		for _, p := range pods {
			s.reached(p.Name, trace.MilestoneGone)
		}
		s.stop()
		if err := b.RemovePods(context.Background()); err != nil { // what the case left behind
			t.Error(err)
		}
	})
	return s
}

// start runs an agent, which finds what an earlier one of the scene left.
func (s *scene) start(change ...func(*config.Config)) {
	s.t.Helper()
	s.bus, s.recs = trace.NewBus(1<<16), nil
	s.cursor, s.source = s.bus.Subscribe(trace.FromOldest), podsource.NewMemory("memory", s.bus)
	spans, err := otlp.New(otlp.Config{HTTP: fmt.Sprintf("127.0.0.1:%d", s.OTLPPort), CNIBinDirs: []string{s.CNIBinDir, s.CNIOwnDir}, Bus: s.bus})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := spans.Listen(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	k := s.kubelet()
	for _, c := range change {
		c(k)
	}
	name := "node"
	if s.api != nil {
		name = lab.NodeName
	}
	a, err := agent.New(agent.Config{
		Kubelet: k, Endpoint: s.RuntimeEndpoint, NodeName: name, Version: "test", Bus: s.bus, Sources: []podsource.Source{s.source},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.source.Set(s.pods...)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- spans.Run(ctx) }()
	go func() { ended <- a.Run(ctx) }()
	s.stop = func() {
		s.stop = func() {}
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				s.t.Error(err)
			}
		}
		s.cursor.Close()
	}
	select {
	case <-a.Ready():
	case <-time.After(patience):
		s.t.Fatal("the agent does not become ready")
	}
}

// kubelet is the agent's configuration.
func (s *scene) kubelet() *config.Config {
	s.t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f := config.AddFlags(fs)
	cgroup := regexp.MustCompile(`[^a-z0-9]`).ReplaceAllString(strings.ToLower(filepath.Base(s.t.Name())), "")
	flags := []string{
		"--root-dir", filepath.Join(s.dir, "root"), "--healthz-port", "0", "--enable-server=false", "--cgroup-root", s.CgroupRoot + "/" + cgroup,
	}
	if s.api != nil {
		flags = append(flags, s.api.flags()...)
	}
	if err := fs.Parse(flags); err != nil {
		s.t.Fatal(err)
	}
	k, err := config.Load(f)
	if err != nil {
		s.t.Fatal(err)
	}
	k.Pods.LogsDir = filepath.Join(s.dir, "log", "pods")
	k.Kubelet.EvictionHard = map[string]string{} // the disk of this machine may be nearly full
	return k
}

// restart ends the agent and starts another. Pods stay. change may change its configuration.
func (s *scene) restart(change ...func(*config.Config)) {
	s.t.Helper()
	s.stop()
	s.start(change...)
}

// pod is one of a container that does nothing but wait.
func (s *scene) pod(name string) *v1.Pod {
	return s.runs(name, "trap 'exit 0' TERM; sleep infinity & wait")
}

// runs is a pod of one container that runs a script of the shell.
func (s *scene) runs(name, script string) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-of-" + name)},
		Spec: v1.PodSpec{
			Containers:                    []v1.Container{{Name: "app", Image: s.Image(lab.ImageBusybox), Command: []string{"sh", "-c", script}}},
			TerminationGracePeriodSeconds: new(int64(1)),
		},
	}
	podspec.SetDefaults(p)
	return p
}

// image is a pod of an image, which is pulled if it is not there.
func (s *scene) image(name, ref string) *v1.Pod {
	p := s.pod(name)
	p.Spec.Containers[0].Image = ref
	return p
}

// set says which pods there are.
func (s *scene) set(pods ...*v1.Pod) {
	s.pods = slices.Clone(pods)
	s.source.Set(pods...)
}

// until waits for a record, from the first on.
func (s *scene) until(what string, want func(*trace.Record) bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for from := 0; ; {
		for ; from < len(s.recs); from++ {
			if want(&s.recs[from]) {
				return
			}
		}
		recs, lost, err := s.cursor.Next(ctx, make([]trace.Record, 0, 1024))
		if err != nil || lost > 0 {
			s.t.Fatalf("%s did not come (%v, %d records lost)", what, err, lost)
		}
		s.recs = append(s.recs, recs...)
	}
}

// reached waits for a pod's milestone.
func (s *scene) reached(pod string, name trace.MilestoneName) {
	s.t.Helper()
	s.until(pod+" "+string(name), func(r *trace.Record) bool {
		m, ok := r.Event.(*trace.Milestone)
		return ok && m.Name == name && r.Pod.Name == pod
	})
}

// waits waits for the nth wait of a kind of a pod to begin.
func (s *scene) waits(pod string, kind trace.WaitKind, nth int) {
	s.t.Helper()
	s.until(fmt.Sprintf("wait %d of %s (%s)", nth, pod, kind), func(r *trace.Record) bool {
		if w, ok := r.Event.(*trace.Wait); ok && r.Pod.Name == pod && w.For == kind && r.Edge == trace.EdgeBegin {
			nth--
		}
		return nth == 0
	})
}

// calls waits for a call of the runtime for a pod: its begin, or its end.
func (s *scene) calls(pod, method string, edge trace.Edge) {
	s.t.Helper()
	s.until(method+" of "+pod, func(r *trace.Record) bool {
		c, ok := r.Event.(*trace.CRICall)
		return ok && r.Pod.Name == pod && c.Method == method && r.Edge == edge
	})
}

// lasts lets what happens last for a while, and waits for a record after that.
func (s *scene) lasts(d time.Duration) {
	s.t.Helper()
	end := time.Now().Add(d).UnixNano()
	time.Sleep(d) // the case is that it takes time
	s.until("a later record", func(r *trace.Record) bool { return r.Time >= end })
}

// spans waits until the runtime has sent the span of a method of a pod: it comes up to a second late.
func (s *scene) spans(pod, name string) {
	s.t.Helper()
	s.until("span "+name+" of "+pod, func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.RuntimeSpan)
		return ok && r.Pod.Name == pod && e.Name == name
	})
}

// pulled waits until a pod is ready and all about its image is known.
func (s *scene) pulled(pod string) {
	s.t.Helper()
	s.ready(pod)
	s.spans(pod, "runtime.v1.ImageService/PullImage")
}

// sandboxSpan is the last span of a sandbox that was made.
const sandboxSpan = "runtime.v1.RuntimeService/RunPodSandbox"

// ready waits until a pod is ready and all about its sandbox is known.
func (s *scene) ready(pod string) {
	s.t.Helper()
	s.reached(pod, trace.MilestoneReady)
	s.spans(pod, sandboxSpan)
}
