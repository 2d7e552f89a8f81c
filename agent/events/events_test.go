package events

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi/fakeapi"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func aPod() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "u1", ResourceVersion: "7"},
		Spec: v1.PodSpec{
			Containers:     []v1.Container{{Name: "app"}},
			InitContainers: []v1.Container{{Name: "prep"}},
			EphemeralContainers: []v1.EphemeralContainer{
				{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "debug"}},
			},
		},
	}
}

// bench is a recorder with a fake API server.
type bench struct {
	*Recorder
	client *fake.Clientset
	rec    *tracetest.Recorder
}

// recording runs f in simulated time with a running recorder; check is called when the queue is empty.
func recording(t *testing.T, f func(ctx context.Context, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rec := tracetest.New(t)
		b := &bench{client: fake.NewClientset(), rec: rec}
		r, err := New(Config{Client: fakeapi.Of(b.client).CoreV1(), Node: "n1", NodeUID: func() types.UID { return "nu" }, Bus: rec.Bus()})
		if err != nil {
			t.Fatal(err)
		}
		b.Recorder = r
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		f(ctx, b)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func (b *bench) stored(t *testing.T) []string {
	t.Helper()
	list, err := b.client.CoreV1().Events("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list.Items {
		o := e.InvolvedObject
		out = append(out, fmt.Sprintf("%s %s %s/%s %s@%s %s: %s %s: %s x%d by %s %s", e.Namespace, o.Kind, o.Namespace, o.Name, o.UID, o.ResourceVersion,
			o.FieldPath, e.Type, e.Reason, e.Message, e.Count, e.Source.Component, e.Source.Host))
	}
	return out
}

func TestRecord(t *testing.T) {
	recording(t, func(ctx context.Context, b *bench) {
		b.Pod(ctx, aPod(), "app", "Normal", "Started", "Container started")
		b.Pod(ctx, aPod(), "app", "Normal", "Started", "Container started")
		b.Node(ctx, "Normal", "Starting", "Starting kubelet.")
		of := func(namespace, name string) metav1.ObjectMeta {
			return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name + "-uid"), ResourceVersion: "8"}
		}
		b.About(ctx, aPod(), ClaimRef(&v1.PersistentVolumeClaim{ObjectMeta: of("shop", "data")}), "Warning", "FileSystemResizeFailed", "read-only")
		b.About(ctx, aPod(), VolumeRef(&v1.PersistentVolume{ObjectMeta: of("", "pv")}), "Warning", "FailedMountOnFilesystemMismatch", "xfs")
		synctest.Wait()
		want := []string{
			"default Node /n1 nu@ : Normal Starting: Starting kubelet. x1 by kubelet n1",
			"default PersistentVolume /pv pv-uid@8 : Warning FailedMountOnFilesystemMismatch: xfs x1 by kubelet n1",
			"shop PersistentVolumeClaim shop/data data-uid@8 : Warning FileSystemResizeFailed: read-only x1 by kubelet n1",
			"shop Pod shop/web u1@7 spec.containers{app}: Normal Started: Container started x2 by kubelet n1",
		}
		if d := cmp.Diff(want, b.stored(t)); d != "" {
			t.Errorf("events (-want +got):\n%s", d)
		}
		var told []string
		for _, r := range b.rec.OfKind("node.event") {
			e, _ := r.Event.(*trace.NodeEvent)
			told = append(told, r.Pod.UID+" "+e.Reason+" "+e.Field+e.Object)
		}
		if d := cmp.Diff([]string{
			"u1 Started spec.containers{app}", "u1 Started spec.containers{app}", " Starting ",
			"u1 FileSystemResizeFailed persistentvolumeclaim/data", "u1 FailedMountOnFilesystemMismatch persistentvolume/pv",
		}, told); d != "" {
			t.Errorf("published (-want +got):\n%s", d)
		}
	})
}

// A container's output is not quoted if it may be a secret that this agent does not know.
func TestQuoteWithheld(t *testing.T) {
	recording(t, func(ctx context.Context, b *bench) {
		b.cfg.Withheld = func(_ *v1.Pod, container string) bool { return container == "app" }
		b.Quote(ctx, aPod(), "app", "Warning", "Unhealthy", "it printed hunter2", "it printed 7 bytes")
		time.Sleep(time.Second) // events are named after their time
		b.Quote(ctx, aPod(), "prep", "Warning", "Unhealthy", "it printed a word", "it printed 6 bytes")
		synctest.Wait()
		got := strings.Join(b.stored(t), "\n")
		if strings.Contains(got, "hunter2") || !strings.Contains(got, "it printed 7 bytes") || !strings.Contains(got, "it printed a word") {
			t.Errorf("events: %s", got)
		}
	})
}

func TestUnreachable(t *testing.T) {
	recording(t, func(ctx context.Context, b *bench) {
		fails := []error{errors.New("connection refused"), apierrors.NewTooManyRequests("slow down", 1), apierrors.NewInternalError(errors.New("etcd"))}
		b.client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
			if len(fails) == 0 {
				return false, nil, nil
			}
			err := fails[0]
			fails = fails[1:]
			return true, nil, err
		})
		b.Pod(ctx, aPod(), "", "Normal", "A", "a")
		<-waited(b, 3)
		if got := b.stored(t); len(got) != 1 {
			t.Errorf("after the API server came back: %v", got)
		}
	})
}

// waited is closed when n back-offs have ended and everything is idle.
func waited(b *bench, n int) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			ended := 0
			for _, r := range b.rec.OfKind("pod.wait") {
				if r.Edge == trace.EdgeEnd {
					ended++
				}
			}
			if ended >= n {
				synctest.Wait()
				return
			}
			time.Sleep(time.Second) // simulated time
		}
	}()
	return done
}

func TestRefused(t *testing.T) {
	recording(t, func(ctx context.Context, b *bench) {
		tries := 0
		b.client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
			tries++
			return true, nil, apierrors.NewForbidden(v1.Resource("events"), "e", errors.New("no"))
		})
		b.Pod(ctx, aPod(), "", "Normal", "A", "a")
		synctest.Wait()
		logs := tracetest.Events[trace.Log](b.rec)
		if tries != 1 || len(logs) != 1 || !strings.Contains(logs[0].Message, "refused event A of Pod web") {
			t.Errorf("%d tries, logs %+v", tries, logs)
		}
	})
}

func TestNeverBlocks(t *testing.T) {
	rec := tracetest.New(t)
	r, err := New(Config{Client: fakeapi.Of(fake.NewClientset()).CoreV1(), Node: "n1", Bus: rec.Bus()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range queueLength + 5 {
		r.Pod(t.Context(), aPod(), "", "Normal", "A", fmt.Sprint(i)) // the recorder does not run
	}
	if got := r.dropped.Load(); got != 5 {
		t.Errorf("%d dropped, want 5", got)
	}
}

func TestStandalone(t *testing.T) {
	rec := tracetest.New(t)
	r, err := New(Config{Node: "n1", Bus: rec.Bus()})
	if err != nil {
		t.Fatal(err)
	}
	r.Pod(t.Context(), aPod(), "", "Normal", "A", "a")
	if len(r.queue) != 0 || len(rec.OfKind("node.event")) != 1 {
		t.Error("want the event published, and nothing queued")
	}
}

func TestNew(t *testing.T) {
	for _, c := range []Config{{}, {Node: "n", QPS: -1}, {Node: "n", Burst: -1}} {
		if _, err := New(c); err == nil {
			t.Errorf("New(%+v) worked", c)
		}
	}
}

// Between two calls of the runtime for a pod, an event is not sent.
func TestHoldBetweenCalls(t *testing.T) {
	recording(t, func(ctx context.Context, b *bench) {
		var working atomic.Bool
		b.cfg.Working = working.Load
		b.Pod(ctx, aPod(), "", "Normal", "Pulled", "said")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		working.Store(true)
		time.Sleep(workLimit / 2)
		synctest.Wait()
		if got := len(b.stored(t)); got != 0 {
			t.Errorf("%d are stored while the runtime works", got)
		}
		working.Store(false)
		b.Pod(ctx, aPod(), "", "Normal", "Started", "said")
		time.Sleep(2 * holdLook)
		synctest.Wait()
		if got := len(b.stored(t)); got != 2 {
			t.Errorf("%d are stored afterwards, want 2", got)
		}
	})
}

// Pods that wait for the runtime go first, for a limited time.
func TestHold(t *testing.T) {
	recording(t, func(ctx context.Context, b *bench) {
		var busy, working atomic.Bool
		busy.Store(true)
		working.Store(true)
		b.cfg.Busy, b.cfg.Working = busy.Load, working.Load
		for i, c := range []struct {
			kind string
			wait time.Duration
			want int
		}{{"Warning", time.Millisecond, 1}, {"Normal", holdLimit - time.Second, 1}, {"Warning", time.Millisecond, 2}, {"Normal", holdLimit + time.Second, 4}} {
			b.Pod(ctx, aPod(), "", c.kind, fmt.Sprint("Reason", i), "said")
			time.Sleep(c.wait)
			synctest.Wait()
			if got := len(b.stored(t)); got != c.want {
				t.Errorf("%s event after %s: %d are stored, want %d", c.kind, c.wait, got, c.want)
			}
		}
		for i, c := range []struct {
			busy, working bool
			wait          time.Duration
			want          int
		}{
			{false, true, workLimit / 2, 4},
			{false, true, workLimit / 2, 5},
			{false, false, 2 * holdLook, 7},
			{true, true, 2 * workLimit, 7}, // this one waits for the queue, and then as long as the next one
			{false, true, workLimit - 2*holdLook, 7},
			{false, true, 3 * holdLook, 9},
		} {
			busy.Store(c.busy)
			working.Store(c.working)
			b.Pod(ctx, aPod(), "", "Normal", fmt.Sprint("Working", i), "said")
			time.Sleep(c.wait)
			synctest.Wait()
			if got := len(b.stored(t)); got != c.want {
				t.Errorf("working %v, after %s: %d are stored, want %d", c.working, c.wait, got, c.want)
			}
		}
	})
}
