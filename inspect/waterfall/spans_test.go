package waterfall

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

// told adds a span that the runtime reports at the end of the tape, and returns it.
func told(t *tape.Tape, from, to time.Duration, parent trace.SpanID, name string, attrs ...string) trace.SpanID {
	e := &trace.RuntimeSpan{Name: name, Service: "containerd", Start: tape.Epoch.Add(from).UnixNano(), Dur: to - from}
	for i := 0; i+1 < len(attrs); i += 2 {
		if attrs[i] == "err" {
			e.Err = attrs[i+1]
			continue
		}
		e.Attrs = append(e.Attrs, trace.KV{K: attrs[i], V: attrs[i+1]})
	}
	return t.Point(10*time.Second, cart, parent, e)
}

// callSpan returns the span of the call of a method.
func callSpan(t *tape.Tape, method string) trace.SpanID {
	for _, r := range t.Recs {
		if c, ok := r.Event.(*trace.CRICall); ok && c.Method == method {
			return r.Span
		}
	}
	return 0
}

// spansOfPull is slowPull with containerd's spans of the pull and of the sandbox: one layer is fetched at the same time
// as the other, and unpacked after it.
func spansOfPull() *tape.Tape {
	t := slowPull()
	pull := told(t, 4*ms, 4104*ms, callSpan(t, "PullImage"), "runtime.v1.ImageService/PullImage")
	told(t, 5*ms, 90*ms, pull, "remotes.docker.resolver.HTTPRequest",
		"http.request.method", "HEAD", "url.full", "http://r/v2/redis/manifests/7.2", "http.response.status_code", "200")
	h := told(t, 95*ms, 180*ms, pull, "pkg.unpack.unpacker.UnpackHandler", "descriptor.media.type", "application/vnd.oci.image.manifest.v1+json", "descriptor.digest", "sha256:"+strings.Repeat("ab", 32))
	told(t, 96*ms, 179*ms, h, "remotes.docker.resolver.HTTPRequest", "http.request.method", "GET", "url.full", "http://r/v2/redis/manifests/sha256:"+strings.Repeat("ab", 32))
	all := told(t, 180*ms, 4100*ms, pull, spanUnpackAll)
	one, two := "sha256:"+strings.Repeat("11", 32), "sha256:"+strings.Repeat("22", 32)
	f := told(t, 181*ms, 1500*ms, all, "pkg.unpack.unpacker.fetchLayer", "layer.media.digest", one, "layer.media.size", "20971520")
	told(t, 182*ms, 190*ms, f, "remotes.docker.resolver.HTTPRequest", "http.request.method", "GET", "url.full", "http://r/v2/redis/blobs/"+one)
	told(t, 181*ms, 3300*ms, all, "pkg.unpack.unpacker.fetchLayer", "layer.media.digest", two, "layer.media.size", "50331648")
	told(t, 181*ms, 1900*ms, all, "pkg.unpack.unpacker.unpackLayer", "layer.media.digest", one, "layer.media.size", "20971520")
	told(t, 1900*ms, 4090*ms, all, "pkg.unpack.unpacker.unpackLayer", "layer.media.digest", two, "layer.media.size", "50331648")
	sandboxSpans(t, 110*ms, 315*ms)
	return t
}

// sandboxSpans adds a sandbox that consists mostly of its network.
func sandboxSpans(t *tape.Tape, from, to time.Duration) {
	rpc := told(t, from, to, callSpan(t, "RunPodSandbox"), "runtime.v1.RuntimeService/RunPodSandbox")
	run := told(t, from, to, rpc, "cri.sandbox.run")
	told(t, from, from+ms/2, run, "metadata.sandbox.Create")
	told(t, from+2*ms-ms/8, from+2*ms, run, "metadata.sandbox.Update")
	net := told(t, from+2*ms, from+142*ms, run, "cni.setup_pod_network")
	setup := told(t, from+2*ms, from+142*ms, net, "cni.Setup")
	told(t, from+2*ms, from+142*ms, setup, "cni.asynchAttach", "cni.ifname", "eth0", "cni.name", "pods")
	told(t, from+2*ms, from+6*ms, setup, "cni.asynchAttach", "cni.ifname", "lo", "cni.name", "cni-loopback")
	task := told(t, from+150*ms, to, run, "container.NewTask")
	told(t, from+160*ms, to-10*ms, task, "containerd.task.v3.Task/Create")
}

// networkFails is a sandbox whose network fails at once, after a long attempt.
func networkFails() *tape.Tape {
	t := tape.New()
	t.Point(0, cart, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	sync := t.Begin(0, cart, 0, &trace.Sync{Why: trace.SyncCreate, N: 1})
	t.Point(0, cart, sync, plan("cart", "redis:7.2"))
	act := t.Begin(0, cart, sync, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
	c := t.Begin(0, cart, act, &trace.CRICall{Method: "RunPodSandbox"})
	why := `plugin type="bridge" failed (add): no addresses`
	t.End(300*ms, c, &trace.CRICall{Method: "RunPodSandbox", Code: "Unknown", Err: "failed to setup network for sandbox: " + why})
	t.End(300*ms, act, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox, Err: "RunPodSandbox: " + why})
	t.End(300*ms, sync, nil)
	run := told(t, 0, 300*ms, c, "runtime.v1.RuntimeService/RunPodSandbox", "err", why)
	setup := told(t, 100*ms, 101*ms, run, "cni.Setup")
	told(t, 100*ms, 101*ms, setup, "cni.asynchAttach", "cni.ifname", "eth0", "cni.name", "pods", "err", why)
	told(t, 110*ms, 111*ms, run, "metadata.sandbox.Update")
	return t
}

func init() {
	stories["spans"] = spansOfPull
	stories["spans-failed"] = networkFails
}

// TestSpansChangeNothingElse: rows and path of a start are the same with and without spans.
func TestSpansChangeNothingElse(t *testing.T) {
	with, err := Build(spansOfPull().Records(), cart)
	if err != nil {
		t.Fatal(err)
	}
	without, err := Build(slowPull().Records(), cart)
	if err != nil {
		t.Fatal(err)
	}
	strip := func(rows []Row) (out []Row) {
		for _, r := range rows {
			if r.Depth == 0 { // with spans, an action's only call has its own row
				r.Span = 0
				out = append(out, r)
			}
		}
		return out
	}
	if diff := cmp.Diff(strip(without.Rows()), strip(with.Rows())); diff != "" {
		t.Errorf("rows (-without +with):\n%s", diff)
	}
	if diff := cmp.Diff(segs(without.Path), segs(with.Path)); diff != "" || with.End != without.End {
		t.Errorf("end %v, path (-without +with):\n%s", with.End, diff)
	}
}

// TestSpanRows: which spans have rows, and at which depth, in whatever order they arrive.
func TestSpanRows(t *testing.T) {
	recs := spansOfPull().Records()
	slices.Reverse(recs[len(recs)-19:])
	w, err := Build(recs, cart)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range w.Rows() {
		if r.Kind == RowSpan || r.Kind == RowCall {
			got = append(got, strings.Repeat(" ", r.Depth)+r.Text())
		}
	}
	want := []string{
		" RunPodSandbox", "  CNI ADD eth0 of pods", "  make task",
		" PullImage", "  resolve redis:7.2", "  fetch manifest abababababab",
		"  fetch layer 111111111111", "  fetch layer 222222222222", "  unpack layer 111111111111", "  unpack layer 222222222222",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// TestDominant: the path's work has the name of the runtime's span, if that is half of it.
func TestDominant(t *testing.T) {
	w, err := Build(spansOfPull().Records(), cart)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := w.Cause(), "pull 4.10s: image not on the node (68 MiB, 17 MiB/s), fetch layer 3.12s of it"; got != want {
		t.Errorf("cause %q, want %q", got, want)
	}
	if !strings.Contains(w.Why(), "fetch layer 3.12s of it") {
		t.Errorf("why %q", w.Why())
	}

	tp := stepless()
	sandboxSpans(tp, 0, 205*ms)
	if w, err = Build(tp.Records(), cart); err != nil {
		t.Fatal(err)
	}
	if got, want := w.Cause(), "sandbox 205ms: RunPodSandbox took 205ms, CNI ADD 140ms of it"; got != want {
		t.Errorf("cause %q, want %q", got, want)
	}
}

// stepless is a start that consists mostly of the sandbox.
func stepless() *tape.Tape {
	t := tape.New()
	t.Point(0, cart, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile})
	sync := t.Begin(0, cart, 0, &trace.Sync{Why: trace.SyncCreate, N: 1})
	t.Point(0, cart, sync, plan("cart", "redis:7.2"))
	call(t, 0, 205*ms, sync, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox}, "RunPodSandbox")
	call(t, 205*ms, 215*ms, sync, trace.Action{ID: "create cart", Verb: trace.VerbCreate, Container: "cart"}, "CreateContainer")
	call(t, 215*ms, 225*ms, sync, trace.Action{ID: "start cart", Verb: trace.VerbStart, Container: "cart"}, "StartContainer")
	t.Point(225*ms, cart, sync, &trace.Milestone{Name: trace.MilestoneStarted, Since: 225 * ms})
	return t
}

// TestPlugins: a CNI plugin's run, whose parent is only the call, is drawn below its network; if no network matches, it
// stays below the call.
func TestPlugins(t *testing.T) {
	tp := stepless()
	sandboxSpans(tp, 0, 205*ms)
	rpc := callSpan(tp, "RunPodSandbox")
	told(tp, 3*ms, 9*ms, rpc, "cni.plugin.loopback", "cni.command", "ADD", "cni.ifname", "lo")
	bridge := told(tp, 3*ms, 120*ms, rpc, "cni.plugin.bridge", "cni.command", "ADD", "cni.ifname", "eth0")
	told(tp, 10*ms, 40*ms, bridge, "cni.plugin.host-local", "cni.command", "ADD", "cni.ifname", "eth0")
	told(tp, 120*ms, 141*ms, rpc, "cni.plugin.portmap", "cni.command", "ADD", "cni.ifname", "eth0")
	told(tp, 150*ms, 170*ms, rpc, "cni.plugin.tuning", "cni.command", "ADD", "cni.ifname", "eth0")
	w, err := Build(tp.Records(), cart)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range w.Rows() {
		if r.Kind == RowSpan {
			got = append(got, strings.Repeat(" ", r.Depth-2)+r.Text())
		}
	}
	want := []string{
		"CNI ADD lo of cni-loopback", " CNI plugin loopback ADD lo",
		"CNI ADD eth0 of pods", " CNI plugin bridge ADD eth0", " CNI plugin host-local ADD eth0", " CNI plugin portmap ADD eth0",
		"make task", " shim creates task", "CNI plugin tuning ADD eth0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// TestNamespace: the network namespace is drawn from the runtime's event to the next one, if both are reported.
func TestNamespace(t *testing.T) {
	for _, c := range []struct {
		event, next string
		rows        []string
	}{
		{"event.setup pod network", "metadata.sandbox.Update", []string{"network namespace 148ms to 198ms", "CNI setup 200ms to 204ms"}},
		{"event.setup pod network", "client.NewContainer", []string{"CNI setup 200ms to 204ms"}},
		{"event.other", "metadata.sandbox.Update", []string{"CNI setup 200ms to 204ms"}},
	} {
		tp := stepless()
		run := told(tp, 0, 205*ms, callSpan(tp, "RunPodSandbox"), "cri.sandbox.run", c.event, "148ms")
		told(tp, 1*ms, 2*ms, run, "metadata.sandbox.Create")
		told(tp, 198*ms, 199*ms, run, c.next)
		told(tp, 200*ms, 204*ms, run, "cni.setup_pod_network")
		w, err := Build(tp.Records(), cart)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range w.Rows() {
			if r.Kind == RowSpan {
				got = append(got, fmt.Sprintf("%s %v to %v", r.Text(), r.Start, r.End))
			}
		}
		if diff := cmp.Diff(c.rows, got); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", c.event, c.next, diff)
		}
	}
}

// TestClocksDiffer: spans of another clock are placed in their call.
func TestClocksDiffer(t *testing.T) {
	tp := stepless()
	const ahead = time.Hour
	sandboxSpans(tp, ahead, ahead+205*ms)
	w, err := Build(tp.Records(), cart)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range w.Rows() {
		if r.Kind == RowSpan && r.Detail == "eth0 of pods" && (r.Start != 2*ms || r.End != 142*ms) {
			t.Errorf("CNI ADD from %v to %v", r.Start, r.End)
		}
	}
}

// TestManySpans: hostile and very large trees are drawn in part.
func TestManySpans(t *testing.T) {
	tp := stepless()
	top := callSpan(tp, "RunPodSandbox")
	for i := range 200 {
		told(tp, time.Duration(i)*ms, time.Duration(i+4)*ms, top, "step "+strconv.Itoa(i))
	}
	up := top
	for range 300 {
		up = told(tp, 50*ms, 100*ms, up, "deeper")
	}
	a := told(tp, 0, 100*ms, 0, "ring")
	b := told(tp, 0, 100*ms, a, "ring")
	for i := range tp.Recs {
		if tp.Recs[i].Span == a {
			tp.Recs[i].Parent = b
		}
	}
	w, err := Build(tp.Records(), cart)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range w.Rows() {
		if r.Kind == RowSpan {
			n++
		}
		if r.Label == "ring" {
			t.Error("a ring of spans is drawn")
		}
	}
	if n == 0 || n > maxSpanRows {
		t.Errorf("%d rows", n)
	}
}
