package gc

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func newCollector(t *testing.T, n *node, change func(*Config)) (*Collector, *tracetest.Recorder) {
	t.Helper()
	rec := tracetest.New(t)
	cfg := Config{
		Runtime: n, Images: n, Pods: n, Bus: rec.Bus(), FSInfo: n.fs,
		ContainerPolicy: DefaultContainerPolicy(), ImagePolicy: DefaultImagePolicy(),
	}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c, rec
}

// decided lists the decisions as "verdict subject (bytes)".
func decided(rec *tracetest.Recorder) []string {
	var out []string
	for _, d := range tracetest.Events[trace.Decision](rec) {
		out = append(out, string(d.Verdict)+" "+d.Subject)
	}
	return out
}

func lastPass(t *testing.T, rec *tracetest.Recorder) trace.GC {
	t.Helper()
	recs := rec.OfKind("gc")
	if len(recs) == 0 || recs[len(recs)-1].Edge != trace.EdgeEnd {
		t.Fatal("no pass has ended")
	}
	e, ok := recs[len(recs)-1].Event.(*trace.GC)
	if !ok {
		t.Fatal("not a GC event")
	}
	return *e
}

func write(t *testing.T, name, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func tree(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(root, path); rel != "." {
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestContainerPass(t *testing.T) {
	n := newNode()
	for _, line := range []string{
		"olderolder exited live/web 10 s", "newernewer exited live/web 20 s", "runrunrun running live/web 30 s",
		"lostlost unknown gone/web 5 t", "stuckstuck exited gone2/web 5 u",
	} {
		c := container(t, line)
		n.containers[c.Id] = c
	}
	n.containers["newernewer"].Metadata.Attempt = 1
	for _, line := range []string{"s ready live 1", "t notready gone 1", "u notready gone2 1"} {
		s := sandbox(t, line)
		n.sandboxes[s.Id] = s
	}
	n.gone = map[string]bool{"gone": true, "gone2": true, "gone3": true}
	n.stuck["stuckstuck"] = errors.New("device busy")

	dir := t.TempDir()
	pods, links := filepath.Join(dir, "pods"), filepath.Join(dir, "containers")
	write(t, filepath.Join(pods, "ns_pod-live_live/web/0.log"), "12345")
	write(t, filepath.Join(pods, "ns_pod-live_live/web/0.log.20260101-000000.gz"), "123")
	write(t, filepath.Join(pods, "ns_pod-live_live/web/1.log"), "1234567")
	write(t, filepath.Join(pods, "ns_pod-gone3_gone3/web/0.log"), "1")
	write(t, filepath.Join(links, "keep.txt"), "")
	for id, target := range map[string]string{
		"olderolder": "ns_pod-live_live/web/0.log", "newernewer": "ns_pod-live_live/web/1.log", "vanished": "ns_pod-gone3_gone3/web/0.log",
	} {
		if err := os.Symlink(filepath.Join(pods, target), filepath.Join(links, "pod_ns_web-"+id+".log")); err != nil {
			t.Fatal(err)
		}
	}
	c, rec := newCollector(t, n, func(c *Config) { c.PodLogDir, c.ContainerLogDir = pods, links })

	sum, err := c.CollectContainers(t.Context())
	if err == nil || !strings.Contains(err.Error(), "device busy") {
		t.Errorf("error %v", err)
	}
	want := []string{
		"remove container web of ns/pod-gone (lostlost)",
		"keep container web of ns/pod-gone2 (stuckstuck)",
		"keep container web of ns/pod-live (newernewer)",
		"remove container web of ns/pod-live (olderolder)",
		"remove sandbox of ns/pod-gone (t)",
		"keep sandbox of ns/pod-gone2 (u)",
		"remove log directory ns_pod-gone3_gone3",
		"remove log link pod_ns_web-olderolder.log",
		"remove log link pod_ns_web-vanished.log",
	}
	if d := cmp.Diff(want, decided(rec)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Summary{Considered: 9, Removed: 6, Freed: 9}, sum); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"newernewer", "runrunrun", "stuckstuck"}, slices.Sorted(maps.Keys(n.containers))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"s", "u"}, slices.Sorted(maps.Keys(n.sandboxes))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"lostlost", "t"}, n.stopped); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{
		"containers", "containers/keep.txt", "containers/pod_ns_web-newernewer.log",
		"pods", "pods/ns_pod-live_live", "pods/ns_pod-live_live/web", "pods/ns_pod-live_live/web/1.log",
	}, tree(t, dir)); d != "" {
		t.Error(d)
	}
	pass := lastPass(t, rec)
	if pass.Err == "" || pass.Considered != 9 || pass.Removed != 6 || pass.Freed != 9 || pass.Cause != trace.GCDemand {
		t.Errorf("pass %+v", pass)
	}
	span := rec.OfKind("gc")[0].Span
	for _, r := range rec.OfKind("decision") {
		if r.Parent != span {
			t.Error("a decision does not hang below its pass")
		}
	}

	// The stuck one is removed in the next pass, and its sandbox with it.
	delete(n.stuck, "stuckstuck")
	if sum, err = c.CollectContainers(t.Context()); err != nil || sum.Removed != 2 || len(n.sandboxes) != 1 {
		t.Errorf("%+v, %v, %d sandboxes", sum, err, len(n.sandboxes))
	}
}

// startingNode starts a container while another one is removed, and rotates its log.
type startingNode struct {
	*node
	started *runtimeapi.Container
	link    string
}

func (n startingNode) RemoveContainer(ctx context.Context, r *runtimeapi.RemoveContainerRequest, o ...grpc.CallOption) (*runtimeapi.RemoveContainerResponse, error) {
	n.mu.Lock()
	n.containers[n.started.Id] = n.started
	n.mu.Unlock()
	if err := os.Symlink("/none/0.log", n.link); err != nil {
		return nil, err
	}
	return n.node.RemoveContainer(ctx, r, o...)
}

// Links are compared with the containers of the time when they are listed, not with those at the start of the pass.
func TestLinkOfNewContainer(t *testing.T) {
	n, links := newNode(), t.TempDir()
	dead := container(t, "olderolder exited gone/web 10 s")
	n.containers[dead.Id], n.gone = dead, map[string]bool{"gone": true}
	c, rec := newCollector(t, n, func(c *Config) {
		c.ContainerLogDir = links
		c.Runtime = startingNode{n, container(t, "newernewer running live/web 20 s"), filepath.Join(links, "pod_ns_web-newernewer.log")}
	})
	if _, err := c.CollectContainers(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"remove container web of ns/pod-gone (olderolder)", "keep log link pod_ns_web-newernewer.log"}
	if d := cmp.Diff(want, decided(rec)); d != "" {
		t.Error(d)
	}
	if n.lists != 2 {
		t.Errorf("%d lists of containers, want 2", n.lists)
	}
	if err := os.Remove(filepath.Join(links, "pod_ns_web-newernewer.log")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CollectContainers(t.Context()); err != nil || n.lists != 3 {
		t.Errorf("%v, %d lists of containers, want one more without links", err, n.lists)
	}
}

// Links stay if the containers cannot be listed again.
func TestLinksWithoutList(t *testing.T) {
	n, links := newNode(), t.TempDir()
	dead := container(t, "olderolder exited gone/web 10 s")
	n.containers[dead.Id], n.gone = dead, map[string]bool{"gone": true}
	link := filepath.Join(links, "pod_ns_web-newernewer.log")
	c, rec := newCollector(t, n, func(c *Config) { c.ContainerLogDir, c.Runtime = links, lostNode{n, link} })
	if sum, err := c.CollectContainers(t.Context()); err == nil || !strings.Contains(err.Error(), "list containers: connection refused") || sum.Removed != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
	if d := cmp.Diff([]string{"remove container web of ns/pod-gone (olderolder)"}, decided(rec)); d != "" {
		t.Error(d)
	}
}

// lostNode does not respond any more after a removal, when there is a link.
type lostNode struct {
	*node
	link string
}

func (n lostNode) RemoveContainer(ctx context.Context, r *runtimeapi.RemoveContainerRequest, o ...grpc.CallOption) (*runtimeapi.RemoveContainerResponse, error) {
	n.mu.Lock()
	n.deaf = errors.New("connection refused")
	n.mu.Unlock()
	if err := os.Symlink("/none/0.log", n.link); err != nil {
		return nil, err
	}
	return n.node.RemoveContainer(ctx, r, o...)
}

// unlinkingNode has a link that is removed with its pod, after the links were listed.
type unlinkingNode struct {
	*node
	link string
}

func (n unlinkingNode) ListContainers(ctx context.Context, r *runtimeapi.ListContainersRequest, o ...grpc.CallOption) (*runtimeapi.ListContainersResponse, error) {
	all, err := n.node.ListContainers(ctx, r, o...)
	if n.lists == 2 {
		err = errors.Join(err, os.Remove(n.link))
	}
	return all, err
}

// A link that somebody else removes meanwhile counts as removed.
func TestLinkRemovedMeanwhile(t *testing.T) {
	n, links := newNode(), t.TempDir()
	link := filepath.Join(links, "pod_ns_web-olderolder.log")
	if err := os.Symlink("/none/0.log", link); err != nil {
		t.Fatal(err)
	}
	c, rec := newCollector(t, n, func(c *Config) { c.ContainerLogDir, c.Runtime = links, unlinkingNode{n, link} })
	if _, err := c.CollectContainers(t.Context()); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string{"remove log link pod_ns_web-olderolder.log"}, decided(rec)); d != "" {
		t.Error(d)
	}
}

func TestNothingIsGoneBeforeTheSourcesAreReady(t *testing.T) {
	n := newStartingNode()
	n.gone["gone"] = true
	n.containers["c"] = container(t, "c exited gone/web 5 s")
	n.sandboxes["s"] = sandbox(t, "s notready gone 1")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "ns_pod_gone/web/0.log"), "1")
	c, _ := newCollector(t, n, func(c *Config) { c.PodLogDir = dir })
	if sum, err := c.CollectContainers(t.Context()); err != nil || sum.Removed != 0 {
		t.Errorf("%+v, %v", sum, err)
	}
	if len(n.containers)+len(n.sandboxes) != 2 || len(tree(t, dir)) != 3 {
		t.Error("something was removed")
	}
	close(n.complete)
	if sum, err := c.CollectContainers(t.Context()); err != nil || sum.Removed != 3 {
		t.Errorf("%+v, %v", sum, err)
	}
}

func TestRuntimeThatCannotList(t *testing.T) {
	n := newNode()
	n.deaf = errors.New("connection refused")
	c, rec := newCollector(t, n, nil)
	if _, err := c.CollectContainers(t.Context()); !errors.Is(err, n.deaf) {
		t.Errorf("error %v", err)
	}
	if e := lastPass(t, rec); e.Err == "" {
		t.Error("the pass tells no error")
	}
	if _, err := c.CollectImages(t.Context()); !errors.Is(err, n.deaf) {
		t.Errorf("error %v", err)
	}
}

// warned returns the reasons of the Warning Events.
func warned(rec *tracetest.Recorder) (reasons []string) {
	for _, e := range tracetest.Events[trace.NodeEvent](rec) {
		reasons = append(reasons, e.Reason)
	}
	return reasons
}

// Only periodic passes send Events: those for containers if something cannot be listed, those for images if one after another fails.
func TestWarnings(t *testing.T) {
	deaf := func(n *node) { n.deaf = errors.New("connection refused") }
	stubborn := func(n *node) {
		n.stuck["c"], n.stuck["i"] = errors.New("busy"), errors.New("busy")
	}
	for name, c := range map[string]struct {
		causes    []trace.GCCause
		breaks    func(*node)
		change    func(*Config)
		want      []string
		failsBoth bool
	}{
		"periodic":                    {[]trace.GCCause{trace.GCPeriod}, deaf, nil, []string{"ContainerGCFailed"}, true},
		"periodic, twice":             {[]trace.GCCause{trace.GCPeriod, trace.GCPeriod}, deaf, nil, []string{"ContainerGCFailed", "ContainerGCFailed", "ImageGCFailed"}, true},
		"pressure":                    {[]trace.GCCause{trace.GCPressure, trace.GCPressure}, deaf, nil, nil, true},
		"demand":                      {[]trace.GCCause{trace.GCDemand, trace.GCDemand}, deaf, nil, nil, true},
		"periodic after others":       {[]trace.GCCause{trace.GCPressure, trace.GCDemand, trace.GCPeriod}, deaf, nil, []string{"ContainerGCFailed"}, true},
		"others do not interrupt":     {[]trace.GCCause{trace.GCPeriod, trace.GCPressure, trace.GCPeriod}, deaf, nil, []string{"ContainerGCFailed", "ContainerGCFailed", "ImageGCFailed"}, true},
		"removals that fail":          {[]trace.GCCause{trace.GCPeriod}, stubborn, nil, nil, true},
		"removals that fail, twice":   {[]trace.GCCause{trace.GCPeriod, trace.GCPeriod}, stubborn, nil, []string{"ImageGCFailed"}, true},
		"an unreadable log directory": {[]trace.GCCause{trace.GCPeriod}, func(*node) {}, func(c *Config) { c.PodLogDir = os.Args[0] }, []string{"ContainerGCFailed"}, false},
		"capacity":                    {[]trace.GCCause{trace.GCPeriod}, func(n *node) { n.capacity = 0 }, nil, []string{"InvalidDiskCapacity"}, false},
		"capacity, pressure":          {[]trace.GCCause{trace.GCPressure}, func(n *node) { n.capacity = 0 }, nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode()
			n.containers["c"] = container(t, "c exited gone/web 5 s")
			n.gone["gone"] = true
			n.image("i", 900)
			collector, rec := newCollector(t, n, func(cfg *Config) {
				cfg.ImagePolicy.MinAge = 0
				if c.change != nil {
					c.change(cfg)
				}
			})
			c.breaks(n)
			for _, cause := range c.causes {
				_, err := collector.collectContainers(t.Context(), cause, cause == trace.GCPressure)
				_, also := collector.collectImages(t.Context(), cause, cause == trace.GCPressure)
				if c.failsBoth && (err == nil || also == nil) {
					t.Errorf("errors %v, %v", err, also)
				}
			}
			got := warned(rec)
			slices.Sort(got)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			for _, r := range rec.OfKind("gc") {
				if e, ok := r.Event.(*trace.GC); ok && c.failsBoth && r.Edge == trace.EdgeEnd && e.Err == "" {
					t.Errorf("the failure is not in the pass: %+v", e)
				}
			}
		})
	}
}

func TestImagePass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode()
		n.image("pause", 10)
		n.images["pause"].Pinned = true
		n.image("old", 100)
		n.image("web", 300)
		n.image("spare", 200)
		ctr := container(t, "c running live/web 1 s")
		ctr.ImageRef = "r.io/web:v1" // by tag, as older runtimes report
		n.containers["c"] = ctr
		c, rec := newCollector(t, n, nil)
		collect := func() Summary {
			t.Helper()
			sum, err := c.CollectImages(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return sum
		}

		if sum := collect(); sum.Considered != 4 || sum.Removed != 0 {
			t.Errorf("%+v", sum)
		}
		// spare is used for a while, so old is older.
		ctr.ImageRef, ctr.ImageId = "", "spare"
		time.Sleep(10 * time.Minute)
		collect()
		ctr.ImageId = "web"
		time.Sleep(10 * time.Minute)
		n.other = 290 // 900 of 1000 bytes in use: 100 must be removed
		sum := collect()
		if d := cmp.Diff(Summary{Considered: 4, Removed: 1, Freed: 100}, sum); d != "" {
			t.Error(d)
		}
		if _, there := n.images["old"]; there || len(n.images) != 3 {
			t.Errorf("images left: %v", slices.Collect(maps.Keys(n.images)))
		}
		if e := lastPass(t, rec); e.Usage != 90 || e.Freed != 100 || e.Removed != 1 || e.What != trace.GCImages {
			t.Errorf("pass %+v", e)
		}
		decisions := tracetest.Events[trace.Decision](rec)
		if last := decisions[len(decisions)-4:]; last[0].By != trace.ByImageGC || last[0].Verdict != trace.VerdictRemove || last[0].Bytes != 100 || last[0].Subject != "r.io/old:v1" {
			t.Errorf("decisions %+v", last)
		}

		// Not enough can be removed: this is reported.
		n.other = 900 - 510
		n.other += 60
		n.stuck["spare"] = errors.New("busy")
		_, err := c.CollectImages(t.Context())
		if err == nil || !strings.Contains(err.Error(), "busy") {
			t.Errorf("error %v", err)
		}
		n.stuck = nil
		n.images["spare"].Pinned = true
		if _, err = c.CollectImages(t.Context()); err == nil || !strings.Contains(err.Error(), "Insufficient free disk space on the node's image filesystem (96% of 1000 B used).") {
			t.Errorf("error %v", err)
		}
		// On demand, every unused image is removed.
		n.images["spare"].Pinned = false
		if sum, err := c.DeleteUnused(t.Context()); err != nil || sum.Removed != 1 || len(n.images) != 2 {
			t.Errorf("%+v, %v", sum, err)
		}
	})
}

// Images that have been unused for too long go first. If the file system then has enough space, that is all, and if not, the warning tells what else
// was freed.
func TestOldImages(t *testing.T) {
	for _, tt := range []struct {
		name  string
		other int64
		left  []string
		err   string
	}{
		{"enough space then", 720, []string{"recent", "web"}, ""}, // 92 %, then 82 %: below 85 %
		{"no file system", -1, []string{"recent", "web"}, "capacity"},
		{"not enough space then", 760, []string{"web"}, "(86% of 1000 B used). Failed to free sufficient space by deleting unused images (freed 50 bytes)."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode()
				n.image("old", 100)
				n.image("recent", 50)
				n.image("web", 50)
				for id, image := range map[string]string{"c": "recent", "d": "web"} {
					n.containers[id] = container(t, id+" running live/web 1 s")
					n.containers[id].ImageId = image
				}
				c, _ := newCollector(t, n, func(c *Config) { c.ImagePolicy = ImagePolicy{High: 85, Low: 80, MaxAge: 30 * time.Minute} })
				for range 2 {
					if _, err := c.CollectImages(t.Context()); err != nil {
						t.Fatal(err)
					}
					time.Sleep(20 * time.Minute)
				}
				delete(n.containers, "c")
				if n.other = tt.other; tt.other < 0 {
					n.capacity = 0
				}
				_, err := c.CollectImages(t.Context())
				if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v", err)
				}
				if d := cmp.Diff(tt.left, slices.Sorted(maps.Keys(n.images))); d != "" {
					t.Error("images left", d)
				}
			})
		})
	}
}

func TestStubbornImageIsReplacedByTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode()
		for _, id := range []string{"a", "b", "c"} {
			n.image(id, 100)
		}
		n.other = 550 // 85 %: 50 must be removed
		n.stuck["a"] = errors.New("busy")
		c, rec := newCollector(t, n, func(c *Config) { c.ImagePolicy.MinAge = 0 })
		if _, err := c.CollectImages(t.Context()); err == nil {
			t.Error("no error")
		}
		want := []string{"keep r.io/a:v1", "remove r.io/b:v1", "keep r.io/c:v1"}
		if d := cmp.Diff(want, decided(rec)); d != "" {
			t.Error(d)
		}
		if len(n.images) != 2 {
			t.Errorf("%d images left", len(n.images))
		}
	})
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode()
		n.image("a", 10)
		n.image("b", 900)
		c, rec := newCollector(t, n, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Run(ctx) }()
		time.Sleep(10*time.Minute + time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		passes := map[string]int{}
		for _, r := range rec.OfKind("gc") {
			if e, ok := r.Event.(*trace.GC); ok && r.Edge == trace.EdgeEnd {
				passes[string(e.What)]++
				if e.Cause != trace.GCPeriod {
					t.Errorf("cause %q", e.Cause)
				}
			}
		}
		if passes["container"] != 11 || passes["image"] != 3 {
			t.Errorf("passes %v", passes)
		}
		// The first pass kept what it had just seen, the second removed both to reach the threshold, the third had
		// nothing to do and published nothing.
		if d := cmp.Diff([]string{"keep r.io/a:v1", "keep r.io/b:v1", "remove r.io/a:v1", "remove r.io/b:v1"}, decided(rec)); d != "" {
			t.Error(d)
		}
	})
}

// The first container pass runs when the last source has reported, or after a minute.
func TestFirstContainerPass(t *testing.T) {
	for _, c := range []struct {
		name        string
		ready, want time.Duration
	}{{"when the sources are ready", 7 * time.Second, 7 * time.Second}, {"when they are late", time.Hour, time.Minute}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newStartingNode()
				time.AfterFunc(c.ready, func() { close(n.complete) })
				col, rec := newCollector(t, n, nil)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
				defer cancel()
				began := time.Now()
				if err := col.Run(ctx); err != nil {
					t.Error(err)
				}
				for _, r := range rec.OfKind("gc") {
					if e, ok := r.Event.(*trace.GC); ok && e.What == trace.GCContainers {
						if got := r.At().Sub(began); got != c.want {
							t.Errorf("after %s, want %s", got, c.want)
						}
						return
					}
				}
				t.Error("no pass")
			})
		})
	}
}

// Under pressure, unused images are removed although the file system cannot be measured.
func TestUnusedWithoutMeasure(t *testing.T) {
	for name, measure := range map[string]func(string) (FS, error){
		"no answer":   func(string) (FS, error) { return FS{}, errors.New("connection refused") },
		"no capacity": func(string) (FS, error) { return FS{}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode()
			n.image("spare", 10)
			c, _ := newCollector(t, n, func(c *Config) { c.ImagePolicy.MinAge, c.FSInfo = 0, measure })
			if sum, err := c.DeleteUnused(t.Context()); err != nil || sum.Removed != 1 || len(n.images) != 0 {
				t.Errorf("%+v, %v", sum, err)
			}
			n.image("spare", 10)
			if sum, err := c.CollectImages(t.Context()); err == nil || sum.Removed != 0 {
				t.Errorf("on demand: %+v, %v", sum, err)
			}
		})
	}
}

// The Event has upstream's words.
func TestNoCapacityEvent(t *testing.T) {
	n := newNode()
	n.capacity = 0
	var got []string
	c, _ := newCollector(t, n, func(c *Config) { c.Warn = func(_ context.Context, _, message string) { got = append(got, message) } })
	_, _ = c.collectImages(t.Context(), trace.GCPeriod, false)
	if d := cmp.Diff([]string{"invalid capacity 0 on image filesystem"}, got); d != "" {
		t.Error(d)
	}
}

// Where no usage can trigger image passes, none runs; but the images are watched from the start, so that pressure finds those that are old
// and unused, and in the order of their last use.
func TestRunWithoutImagePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode()
		for _, id := range []string{"a", "b", "used"} {
			n.image(id, 10)
		}
		inUse := container(t, "c running live/web 1 s")
		inUse.ImageId = "used"
		n.containers["c"] = inUse
		c, rec := newCollector(t, n, func(c *Config) {
			c.ImagePolicy = ImagePolicy{High: 100, Low: 80, MinAge: 2 * time.Minute}
			c.Present = func([]string, time.Time) { t.Error("a pass reported the images") }
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		done := make(chan error)
		go func() { done <- c.Run(ctx) }()
		time.Sleep(57 * time.Minute)
		n.mu.Lock()
		n.image("young", 10)
		delete(n.containers, "c")
		n.mu.Unlock()
		if err := <-done; err != nil {
			t.Error(err)
		}
		for _, e := range tracetest.Events[trace.GC](rec) {
			if e.What == trace.GCImages {
				t.Fatal("an image pass ran")
			}
		}
		c.cfg.Present = nil
		sum, err := c.DeleteUnused(t.Context())
		if err != nil || sum.Removed != 3 {
			t.Errorf("%+v, %v", sum, err)
		}
		if d := cmp.Diff([]string{"remove r.io/a:v1", "remove r.io/b:v1", "keep r.io/young:v1", "remove r.io/used:v1"}, decided(rec)); d != "" {
			t.Error(d)
		}
	})
}

// What hinders the watch of images is said.
func TestImagesThatCannotBeWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode()
		n.deaf = errors.New("connection refused")
		c, rec := newCollector(t, n, func(c *Config) { c.ImagePolicy = ImagePolicy{High: 100, Low: 80} })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
		if l := tracetest.Events[trace.Log](rec); len(l) != 1 || l[0].Message != "the age and use of images are not known: list images: connection refused" {
			t.Errorf("%+v", l)
		}
	})
}

func TestNewRejects(t *testing.T) {
	_, err := New(Config{ImagePolicy: ImagePolicy{High: 50, Low: 101, MinAge: time.Hour, MaxAge: time.Minute}, ContainerPolicy: ContainerPolicy{MinAge: -1}})
	if err == nil || len(strings.Split(err.Error(), "\n")) != 5 {
		t.Errorf("error %v", err)
	}
}

func TestStatFS(t *testing.T) {
	f, err := StatFS(t.TempDir())
	if err != nil || f.Capacity <= 0 || f.Available < 0 || f.Available > f.Capacity {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := StatFS("/no/such/place"); err == nil {
		t.Error("no error for a path that is not there")
	}
}

// hungNode hangs when one of its sandboxes is stopped.
type hungNode struct{ *node }

func (n hungNode) StopPodSandbox(ctx context.Context, r *runtimeapi.StopPodSandboxRequest, o ...grpc.CallOption) (*runtimeapi.StopPodSandboxResponse, error) {
	if r.PodSandboxId == "hung" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return n.node.StopPodSandbox(ctx, r, o...)
}

// A removal that hangs delays others for a bounded time.
func TestHungRemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode()
		for _, line := range []string{"hung notready gone 1", "z notready gone2 1"} {
			s := sandbox(t, line)
			n.sandboxes[s.Id] = s
		}
		n.gone = map[string]bool{"gone": true, "gone2": true}
		c, _ := newCollector(t, n, func(c *Config) { c.Runtime = hungNode{n} })
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		done := make(chan error, 1)
		go func() { _, err := c.CollectContainers(ctx); done <- err }()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		n.mu.Lock()
		left := slices.Collect(maps.Keys(n.sandboxes))
		n.mu.Unlock()
		if !slices.Equal(left, []string{"hung"}) {
			t.Errorf("left: %v, want the one that hangs", left)
		}
		if err := <-done; err == nil {
			t.Error("no error for the sandbox that could not be removed")
		}
	})
}
