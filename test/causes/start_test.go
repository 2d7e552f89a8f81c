package causes_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent"
	"github.com/kubeloupe/kubeloupe/agent/config"
	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/gate"
)

// starts are the rules about images, the sandbox and the start as a whole.
func starts() []string {
	return []string{"KL01", "KL02", "KL03", "KL04", "KL05", "KL06", "KL07", "KL08", "KL14", "KL21", "KL26", "KL27", "KL28", "KL29"}
}

// image is podOf with another image.
func image(name, ref string) *v1.Pod {
	p := podOf(name)
	p.Spec.Containers[0].Image = ref
	return p
}

// inject lets calls of the runtime fail or take their time.
func (n *node) inject(f sim.Fault) {
	n.t.Helper()
	if _, err := n.srv.Inject(f); err != nil {
		n.t.Fatal(err)
	}
}

// waits waits for the pod's wait of a kind to begin.
func (n *node) waits(pod string, kind trace.WaitKind) {
	n.t.Helper()
	n.until(fmt.Sprintf("wait of %s (%s)", pod, kind), func(r *trace.Record) bool {
		w, ok := r.Event.(*trace.Wait)
		return ok && r.Pod.Name == pod && w.For == kind && r.Edge == trace.EdgeBegin
	})
}

// lasts lets what goes on last for a while, as the coming of another pod shows.
func (n *node) lasts(d time.Duration) {
	n.t.Helper()
	time.Sleep(d) // the condition is that it takes time
	n.place(append([]*v1.Pod{podOf("clock")}, n.pods...)...)
	n.reached("clock", "seen")
}

// set is what pods there are.
func (n *node) set(pods ...*v1.Pod) {
	n.pods = pods
	n.place(pods...)
}

func (n *node) place(pods ...*v1.Pod) {
	n.t.Helper()
	if n.outside != nil {
		n.outside.place(n.t, pods)
		return
	}
	n.source.Set(pods...)
}

func TestStartWithoutTrouble(t *testing.T) {
	t.Parallel()
	n := run(t, runtime(), nil, nil)
	n.set(podOf("web"))
	n.reached("web", "ready")
	n.silent("web", starts()...)
}

func TestAnotherPodsPull(t *testing.T) {
	t.Parallel()
	n := run(t, runtime(), nil, nil)
	n.set(image("first", "far:1"))
	n.until("a pull", func(r *trace.Record) bool { _, ok := r.Event.(*trace.ImagePull); return ok })
	n.set(image("first", "far:1"), image("second", "far:1"))
	n.reached("second", "ready")
	n.speaks("second", "KL01", "for pod default/first to pull the image far:1")
	n.silent("first", "KL01")
}

func TestSlowCredentialProvider(t *testing.T) {
	t.Parallel()
	rt := runtime()
	rt.Images = append(rt.Images, sim.Image{Name: "r.io/app:1", Size: 1 << 10})
	n := run(t, rt, func(k *config.Config) {
		k.API.CredentialBins = t.TempDir()
		k.API.CredentialConfig = filepath.Join(k.API.CredentialBins, "config.yaml")
		write(t, k.API.CredentialConfig, 0o600, `apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers: [{name: slow, apiVersion: credentialprovider.kubelet.k8s.io/v1, matchImages: ["r.io"], defaultCacheDuration: 1h}]
`)
		write(t, filepath.Join(k.API.CredentialBins, "slow"), 0o755, `#!/bin/sh
sleep 1
echo '{"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":"Registry"}'
`)
	}, nil)
	n.set(image("web", "r.io/app:1"))
	n.reached("web", "ready")
	n.speaks("web", "KL04", "for the credential provider slow to answer for r.io/app")
}

func write(t *testing.T, path string, mode os.FileMode, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func TestImagesThatCannotBeHad(t *testing.T) {
	t.Parallel()
	imagesThatCannotBeHad(run(t, runtime(), nil, nil))
}

func imagesThatCannotBeHad(n *node) {
	n.t.Helper()
	never := image("never", "far:1")
	never.Spec.Containers[0].ImagePullPolicy = v1.PullNever
	n.set(image("missing", "there/is:none"), never)
	n.waits("missing", trace.WaitBackoff)
	n.waits("never", trace.WaitBackoff)
	n.lasts(100 * time.Millisecond)
	if f := n.speaks("missing", "KL05", ":none cannot be pulled (it failed"); !f.Current {
		n.t.Errorf("%+v", f)
	}
	n.speaks("never", "KL05", "Never") // the reason ErrImageNeverPull, or what the kubelet says of it
	n.reached("clock", "ready")
	n.silent("clock", starts()...)
}

func TestNoNetwork(t *testing.T) {
	t.Parallel()
	n := run(t, runtime(), nil, nil, func(n *node, _ *agent.Config) {
		err := n.srv.SetCondition(runtimeapi.NetworkReady, false, "NetworkPluginNotReady", "Network plugin returns error: cni plugin not initialized")
		if err != nil {
			t.Fatal(err)
		}
	})
	n.set(podOf("web"))
	n.waits("web", trace.WaitRuntime)
	n.lasts(100 * time.Millisecond)
	n.speaks("web", "KL07", "the runtime has no pod network: NetworkPluginNotReady")
}

func TestPluginFails(t *testing.T) {
	t.Parallel()
	n := run(t, runtime(), nil, nil)
	n.inject(sim.Fault{
		Method: "RunPodSandbox", Times: 1, Code: codes.Unknown,
		Message: `failed to setup network for sandbox "1": plugin type="bridge" name="net" failed (add): no addresses`,
	})
	n.set(podOf("web"))
	n.reached("web", "ready")
	n.speaks("web", "KL07", "the CNI plugin bridge failed once")
	n.silent("web", "KL14", "KL08")
}

func TestNameReserved(t *testing.T) {
	t.Parallel()
	n := run(t, runtime(), nil, nil)
	n.inject(sim.Fault{Method: "RunPodSandbox", Times: 1, Delay: 300 * time.Millisecond, Code: codes.DeadlineExceeded, Message: "context deadline exceeded"})
	n.inject(sim.Fault{Method: "RunPodSandbox", Times: 1, Code: codes.Unknown, Message: `failed to reserve sandbox name "web": name "web" is reserved for "8c"`})
	n.set(podOf("web"))
	n.reached("web", "ready")
	n.speaks("web", "KL08", "the runtime refused its name once")
	n.silent("web", "KL07", "KL14")
}

func TestSandboxGoesAway(t *testing.T) {
	t.Parallel()
	n := run(t, runtime(), func(k *config.Config) { k.Pods.MaxRestartBackoff = time.Second }, nil)
	n.set(podOf("web"))
	n.reached("web", "ready")
	for range 2 {
		n.loseSandbox()
	}
	n.speaks("web", "KL14", "the sandbox was replaced twice")
}

// loseSandbox stops the sandbox behind the agent's back, and waits for the next to run.
func (n *node) loseSandbox() {
	n.t.Helper()
	ctx := context.Background()
	list, err := n.srv.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		n.t.Fatal(err)
	}
	for _, s := range list.Items {
		if s.State != runtimeapi.PodSandboxState_SANDBOX_READY {
			continue
		}
		from := n.recs[len(n.recs)-1].Time
		if _, err := n.srv.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: s.Id}); err != nil {
			n.t.Fatal(err)
		}
		n.until("the next sandbox", func(r *trace.Record) bool {
			a, ok := r.Event.(*trace.Action)
			return ok && a.Verb == trace.VerbStart && r.Edge == trace.EdgeEnd && r.Time > from
		})
	}
}

func TestInitContainerTakesLong(t *testing.T) {
	t.Parallel()
	initContainerTakesLong(run(t, runtime(), nil, nil), "1")
}

func initContainerTakesLong(n *node, seconds string) {
	n.t.Helper()
	p := podOf("web")
	p.Spec.InitContainers = []v1.Container{{Name: "migrate", Image: "app:1", Command: []string{"sleep", seconds}}}
	podspec.SetDefaults(p)
	n.set(p)
	n.reached("web", "ready")
	// It counts from when its start was told of, which may be late.
	if f := n.speaks("web", "KL21", "init container migrate ran for "); f.Cost < 500*time.Millisecond {
		n.t.Errorf("%+v", f)
	}
}

func TestBehindAHungPod(t *testing.T) {
	t.Parallel()
	n := run(t, runtime(), nil, nil, func(_ *node, c *agent.Config) { c.RuntimeSlots = 1 })
	n.inject(sim.Fault{Method: "RunPodSandbox", Pod: "db", Hang: true})
	n.set(podOf("db"))
	n.until("the call that hangs", func(r *trace.Record) bool {
		c, ok := r.Event.(*trace.CRICall)
		return ok && c.Method == "RunPodSandbox" && r.Pod.Name == "db"
	})
	n.set(podOf("db"), podOf("web"))
	n.reached("web", "ready")
	n.speaks("web", "KL29", "behind default/db (sandbox, ")
	n.silent("web", "KL26")
	n.silent("db", "KL29")
}

func TestManyPodsAtOnce(t *testing.T) {
	t.Parallel()
	rt := runtime()
	rt.Latency["RunPodSandbox"] = sim.Latency{Fixed: 200 * time.Millisecond}
	n := run(t, rt, nil, nil, func(_ *node, c *agent.Config) { c.RuntimeSlots = 1 })
	n.set(podOf("a"), podOf("b"), podOf("c"))
	for _, name := range []string{"a", "b", "c"} {
		n.reached(name, "ready")
	}
	spoke := 0
	for _, name := range []string{"a", "b", "c"} {
		if n.finding(name, "KL26") != nil {
			spoke++
		}
	}
	if spoke != 2 {
		t.Errorf("KL26 speaks of %d pods of three, want all but the first", spoke)
	}
}

func TestContainerKeepsEnding(t *testing.T) {
	t.Parallel()
	containerKeepsEnding(run(t, runtime(), nil, nil), "(exit code 3, attempt 1)")
}

func containerKeepsEnding(n *node, words string) {
	n.t.Helper()
	n.set(podOf("web", "sh", "-c", "exit 3"))
	n.waits("web", trace.WaitBackoff)
	n.lasts(100 * time.Millisecond)
	if f := n.speaks("web", "KL27", "container app keeps exiting "+words); !f.Current {
		n.t.Errorf("%+v", f)
	}
}

// person steps each pod of that name, and takes a while before each action.
type person string

func (p person) Holds(pod trace.Pod) bool { return pod.Name == string(p) }

func (p person) Ask(_ context.Context, q *gate.Question) (gate.Answer, error) {
	if q.When == gate.Before {
		defer q.Held()()
		time.Sleep(50 * time.Millisecond) // a person does
	}
	return gate.Answer{}, nil
}

func TestSomebodySteps(t *testing.T) {
	t.Parallel()
	n := run(t, runtime(), nil, nil, func(_ *node, c *agent.Config) { c.Gate = person("web") })
	n.set(podOf("web"), podOf("other"))
	n.reached("web", "ready")
	n.reached("other", "ready")
	n.speaks("web", "KL28", "for the person who steps it, at ")
	n.silent("other", "KL28")
}
