package metrics

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/kubeloupe/kubeloupe/trace"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var web = trace.Pod{Namespace: "shop", Name: "web", UID: "1"}

const ms = time.Millisecond

func newSink(t *testing.T) (*Sink, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewRegistry()
	s, err := New(reg)
	if err != nil {
		t.Fatal(err)
	}
	return s, reg
}

// story applies the records of a pod's life and some of the node.
func story(s *Sink) {
	s.Host("api:6443")
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	n := uint64(0)
	put := func(at time.Duration, pod trace.Pod, edge trace.Edge, dur time.Duration, e trace.Event) {
		n++
		s.Apply(&trace.Record{Seq: n, Time: t0.Add(at).UnixNano(), Edge: edge, Dur: dur, Pod: pod, Event: e})
	}
	node := trace.Pod{}
	const point, begin, end = trace.EdgePoint, trace.EdgeBegin, trace.EdgeEnd
	put(0, node, begin, 0, &trace.PLEGRelist{Cause: "start"})
	put(20*ms, node, end, 20*ms, &trace.PLEGRelist{Cause: "start"})
	put(30*ms, node, end, ms, &trace.Source{Source: trace.SourceFile, Op: trace.OpSet, Pods: 1})
	put(40*ms, web, point, 0, &trace.Milestone{Name: trace.MilestoneSeen, Spec: &trace.PodSpec{
		Containers: []trace.ContainerSpec{{Name: "web"}}, InitContainers: []trace.ContainerSpec{{Name: "setup"}},
	}})
	put(60*ms, web, begin, 0, &trace.Sync{Why: trace.SyncCreate, N: 1})
	put(61*ms, web, end, ms, &trace.CgroupOp{Op: "ensure"})
	put(70*ms, web, end, 9*ms, &trace.Wait{For: trace.WaitQueue})
	put(370*ms, web, end, 300*ms, &trace.CRICall{Method: "RunPodSandbox", Code: "OK"})
	put(370*ms, web, end, 300*ms, &trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
	put(380*ms, web, end, ms, &trace.CRICall{Method: "ContainerStatus", Code: "NotFound", Err: "no"})
	put(2000*ms, web, end, 1500*ms, &trace.ImagePull{Image: "web:1", Bytes: 68 << 20})
	put(2000*ms, web, end, 1500*ms, &trace.ImagePull{Image: "web:1", Bytes: 68 << 20, Shared: true})
	put(2100*ms, web, end, 90*ms, &trace.Action{ID: "create setup", Verb: trace.VerbCreate, Container: "setup", Err: "CreateContainerConfigError: no key", Code: "CreateContainerConfigError"})
	put(2200*ms, web, end, 80*ms, &trace.Action{ID: "create setup", Verb: trace.VerbCreate, Container: "setup"})
	put(2300*ms, web, end, 80*ms, &trace.Action{ID: "start setup", Verb: trace.VerbStart, Container: "setup"})
	put(2400*ms, web, end, 2340*ms, &trace.Sync{Why: trace.SyncCreate, N: 1})
	put(2400*ms, web, point, 0, &trace.PodStatus{Phase: trace.PodPending, SandboxID: "s", Containers: []trace.ContainerStatus{{Name: "setup", Init: true, State: trace.ContainerRunning}, {Name: "web", State: trace.ContainerWaiting}}})
	put(2500*ms, web, end, 80*ms, &trace.Action{ID: "start web", Verb: trace.VerbStart, Container: "web"})
	done := trace.ContainerStatus{Name: "setup", Init: true, State: trace.ContainerTerminated, Reason: "Completed"}
	put(2600*ms, web, point, 0, &trace.PodStatus{Phase: trace.PodRunning, SandboxID: "s", Containers: []trace.ContainerStatus{done, {Name: "web", State: trace.ContainerRunning}}})
	put(2600*ms, web, point, 0, &trace.Milestone{Name: trace.MilestoneStarted, Since: 2560 * ms})
	put(2700*ms, web, end, 5*ms, &trace.Sync{Why: trace.SyncRetry, N: 2})
	put(3000*ms, node, point, 0, &trace.Decision{By: trace.ByImageGC, Verdict: trace.VerdictRemove, Ground: trace.RemovedForSpace})
	put(3000*ms, node, point, 0, &trace.Decision{By: trace.ByImageGC, Verdict: trace.VerdictRemove, Ground: trace.RemovedForDisuse})
	put(3000*ms, node, point, 0, &trace.Decision{By: trace.ByImageGC, Verdict: trace.VerdictRemove, Ground: trace.RemovedForAge})
	put(3000*ms, node, point, 0, &trace.Decision{By: trace.ByImageGC, Verdict: trace.VerdictKeep})
	for _, signal := range []trace.Signal{trace.SignalMemory, trace.SignalNodeFSInodes, "emptydirfs.limit", trace.SignalMemory} {
		put(3000*ms, node, point, 0, &trace.Decision{By: trace.ByEviction, Verdict: trace.VerdictEnd, Signal: signal})
	}
	put(60*time.Second, node, end, 10*ms, &trace.PLEGRelist{Cause: "period"}) // its begin was lost
	cluster(func(at time.Duration, dur time.Duration, e trace.Event) { put(at, web, end, dur, e) })
	s.Lost(3)
}

// cluster adds what a cluster node does for a pod.
func cluster(put func(at, dur time.Duration, e trace.Event)) {
	at := 61 * time.Second
	for _, result := range []string{"success", "warning", "failure", "error", ""} {
		put(at, 20*ms, &trace.ProbeAttempt{Container: "web", Probe: trace.ProbeReadiness, Result: trace.ProbeResult(result)})
	}
	put(at, 20*ms, &trace.ProbeAttempt{Container: "web", Probe: trace.ProbeStartup, Result: trace.ProbeFailure, Early: true})
	put(at, 9*ms, &trace.StatusPatch{Op: trace.PatchStatus, Version: 1, Age: 12 * ms})
	put(at, 9*ms, &trace.StatusPatch{Op: trace.PatchStatus, Version: 2, Age: 12 * ms, Err: "conflict"})
	put(at, 5*ms, &trace.APICall{Verb: "patch", Resource: "pods/status", Name: "web", Code: 200})
	put(at, 5*ms, &trace.APICall{Verb: "patch", Resource: "pods/status", Name: "web", Err: "connection refused"})
	put(at, 5*ms, &trace.Volume{Op: "setup", Name: "data", Plugin: "kubernetes.io/csi"})
	put(at, 5*ms, &trace.Volume{Op: "refresh", Name: "token", Plugin: "kubernetes.io/projected"})
	put(at, 5*ms, &trace.Volume{Op: "teardown", Name: "data", Plugin: "kubernetes.io/csi", Err: "busy"})
	put(at, 5*ms, &trace.CSICall{Driver: "hostpath.csi.k8s.io", Method: "NodeStageVolume", Code: "OK"})
	put(at, 5*ms, &trace.ServerRequest{Server: "https", Method: "GET", Path: "/containerLogs/shop/web/web", Code: 200})
	put(at, 5*ms, &trace.ServerRequest{Server: "https", Method: "POST", Path: "/exec/shop/web/web", Code: 101})
	put(at, 5*ms, &trace.ServerRequest{Server: "https", Method: "GET", Path: "/etc/passwd", Code: 404})
	put(at, 5*ms, &trace.NodeStatus{Op: "patch", Cause: "period", Ready: true})
}

// ours gathers all metrics except those of the Go runtime and the process, as scraped.
func ours(t *testing.T, reg *prometheus.Registry) string {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "go_") || strings.HasPrefix(f.GetName(), "process_") {
			continue
		}
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// A pod counts when its worker begins: a rejected one has no worker, and one that has ended or terminates does not start.
func TestFirstSync(t *testing.T) {
	s, reg := newSink(t)
	for i, why := range []trace.SyncWhy{trace.SyncCreate, trace.SyncKill, trace.SyncFinish, ""} {
		pod := trace.Pod{UID: fmt.Sprint(i)}
		at := int64(time.Second)
		s.Apply(&trace.Record{Time: at, Pod: pod, Event: &trace.Milestone{Name: trace.MilestoneSeen, Spec: &trace.PodSpec{Containers: make([]trace.ContainerSpec, 2)}}})
		if why == "" {
			s.Apply(&trace.Record{Time: at, Pod: pod, Event: &trace.Decision{By: trace.ByAdmission, Verdict: trace.VerdictReject, Code: "OutOfcpu"}})
			continue
		}
		for range 2 {
			s.Apply(&trace.Record{Time: at + int64(ms), Edge: trace.EdgeBegin, Pod: pod, Event: &trace.Sync{Why: why, N: 1}})
			s.Apply(&trace.Record{Time: at + int64(2*ms), Edge: trace.EdgeEnd, Dur: ms, Pod: pod, Event: &trace.Sync{Why: why, N: 1}})
		}
	}
	got := ours(t, reg)
	for _, line := range []string{
		"kubelet_containers_per_pod_count_sum 6", "kubelet_containers_per_pod_count_count 3",
		"kubelet_pod_worker_start_duration_seconds_sum 0.001", "kubelet_pod_worker_start_duration_seconds_count 1",
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no %s", line)
		}
	}
}

// A graceful shutdown, or the last one before the agent started, sets when it began and ended.
func TestShutdownTimes(t *testing.T) {
	s, reg := newSink(t)
	at := time.Unix(1_795_723_200, 0)
	for _, c := range []struct {
		e    trace.Shutdown
		want string
	}{
		{trace.Shutdown{State: trace.ShutdownHeld}, "start 0 end 0"},
		{trace.Shutdown{State: trace.ShutdownLast, Started: at}, "start 1.7957232e+09 end 0"},
		{trace.Shutdown{State: trace.ShutdownAnnounced, Started: at.Add(100 * time.Second)}, "start 1.7957233e+09 end 0"},
		{trace.Shutdown{State: trace.ShutdownGroup, Group: 1}, "start 1.7957233e+09 end 0"},
		{trace.Shutdown{State: trace.ShutdownReleased, Started: at, Ended: at.Add(100 * time.Second)}, "start 1.7957232e+09 end 1.7957233e+09"},
	} {
		s.Apply(&trace.Record{Event: &c.e})
		var got []string
		for line := range strings.Lines(ours(t, reg)) {
			if rest, ok := strings.CutPrefix(line, "kubelet_graceful_shutdown_"); ok {
				name, value, _ := strings.Cut(strings.TrimSpace(rest), "_time_seconds ")
				got = append(got, name, value)
			}
		}
		slices.Reverse(got) // the names are sorted
		if text := strings.Join([]string{got[1], got[0], got[3], got[2]}, " "); text != c.want {
			t.Errorf("%s: %q, want %q", c.e.State, text, c.want)
		}
	}
}

func TestStory(t *testing.T) {
	s, reg := newSink(t)
	story(s)
	got := ours(t, reg)
	if *update {
		if err := os.WriteFile("testdata/story.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/story.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got, -update rewrites):\n%s", diff)
	}
	for _, line := range []string{
		`kubelet_runtime_operations_total{operation_type="run_podsandbox"} 1`,
		`kubelet_runtime_operations_errors_total{operation_type="container_status"} 1`,
		`kubelet_pod_start_duration_seconds_sum 2.56`,
		`kubelet_pod_worker_start_duration_seconds_sum 0.02`,
		`kubelet_pleg_relist_interval_seconds_sum 59.99`,
		`kubelet_pleg_relist_duration_seconds_count 2`,
		`kubelet_started_pods_total 1`,
		`kubelet_started_containers_total{container_type="init_container"} 2`,
		`kubelet_started_containers_errors_total{code="CreateContainerConfigError",container_type="init_container"} 1`,
		`kubelet_terminated_containers_total{container_type="init_container",exit_code="0",reason="Completed"} 1`,
		`kubelet_running_pods 1`,
		`kubelet_running_containers{container_state="running"} 1`,
		`kubelet_image_pull_duration_seconds_count{image_size_in_bytes="10MB-100MB"} 1`,
		`kubelet_image_garbage_collected_total{reason="age"} 1`,
		`kubelet_evictions{eviction_signal="memory.available"} 2`,
		`kubelet_evictions{eviction_signal="nodefs.inodesFree"} 1`,
		`kubelet_evictions{eviction_signal="emptydirfs.limit"} 1`,
		`kubelet_image_garbage_collected_total{reason="space"} 2`,
		`kubeloupe_wait_seconds_total{kind="queue"} 0.009`,
		`kubeloupe_records_lost_total 3`,
		`prober_probe_total{probe_type="Readiness",result="successful"} 2`,
		`prober_probe_total{probe_type="Readiness",result="unknown"} 1`,
		`kubelet_pod_status_sync_duration_seconds_sum 0.012`,
		`rest_client_requests_total{code="<error>",host="api:6443",method="PATCH"} 1`,
		`storage_operation_duration_seconds_count{migrated="false",operation_name="volume_unmount",status="fail-unknown",volume_plugin="kubernetes.io/csi"} 1`,
		`csi_operations_seconds_count{driver_name="hostpath.csi.k8s.io",grpc_status_code="OK",method_name="/csi.v1.Node/NodeStageVolume",migrated="false"} 1`,
		`kubelet_http_requests_total{long_running="true",method="POST",path="exec",server_type="readwrite"} 1`,
		`kubelet_http_requests_total{long_running="false",method="GET",path="other",server_type="readwrite"} 1`,
		`kubeloupe_node_writes_total{cause="period",op="patch",result="success"} 1`,
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
	if strings.Contains(got, `"shop"`) || strings.Contains(got, `"web"`) {
		t.Error("a pod is named")
	}
}

func TestGoneAndAdopted(t *testing.T) {
	s, reg := newSink(t)
	story(s)
	s.Apply(&trace.Record{Pod: web, Event: &trace.Milestone{Name: trace.MilestoneGone}})
	s.Apply(&trace.Record{Pod: web, Event: &trace.Milestone{Name: trace.MilestoneStarted, Since: time.Hour, Adopted: true}})
	got := ours(t, reg)
	for _, line := range []string{"kubelet_running_pods 0", `kubelet_running_containers{container_state="running"} 0`, "kubelet_pod_start_duration_seconds_count 1"} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
}

// The time in which a person held a pod with step is in no duration of starts or syncs.
func TestHeldTime(t *testing.T) {
	for name, c := range map[string]struct {
		held   time.Duration
		starts int
		sync   string
	}{"held": {held: 9 * time.Second, starts: 0, sync: "1"}, "not held": {held: 0, starts: 1, sync: "10"}} {
		t.Run(name, func(t *testing.T) {
			s, reg := newSink(t)
			s.Apply(&trace.Record{Time: 1, Pod: web, Event: &trace.Milestone{Name: trace.MilestoneSeen}})
			s.Apply(&trace.Record{Pod: web, Edge: trace.EdgeEnd, Dur: c.held, Event: &trace.Wait{For: trace.WaitGate}})
			s.Apply(&trace.Record{Pod: web, Event: &trace.Milestone{Name: trace.MilestoneStarted, Since: 10 * time.Second}})
			s.Apply(&trace.Record{Time: int64(10 * time.Second), Pod: web, Edge: trace.EdgeEnd, Dur: 10 * time.Second, Event: &trace.Sync{Why: trace.SyncCreate}})
			got := ours(t, reg)
			for _, line := range []string{
				fmt.Sprintf("kubelet_pod_start_duration_seconds_count %d", c.starts),
				fmt.Sprintf("kubelet_pod_worker_duration_seconds_sum{operation_type=\"create\"} %s", c.sync),
			} {
				if !strings.Contains(got, line+"\n") {
					t.Errorf("missing: %s", line)
				}
			}
		})
	}
}

func TestRegistersOnce(t *testing.T) {
	_, reg := newSink(t)
	if _, err := New(reg); err == nil {
		t.Error("a second set in one registry")
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, f := range families {
		have[f.GetName()] = true
	}
	for _, name := range []string{"go_goroutines", "process_start_time_seconds", "kubeloupe_records_lost_total"} {
		if !have[name] {
			t.Errorf("no %s", name)
		}
	}
}

func TestEveryKindAndBounds(t *testing.T) {
	s, _ := newSink(t)
	for i := range maxPods + 100 {
		kinds := trace.Kinds()
		e, _ := trace.New(kinds[i%len(kinds)])
		pod := trace.Pod{Name: fmt.Sprint(i)}
		s.Apply(&trace.Record{Seq: uint64(i), Edge: trace.Edge(i % 3), Pod: pod, Event: e})
		s.Apply(&trace.Record{Pod: pod, Event: &trace.Milestone{Name: trace.MilestoneSeen}})
	}
	s.Apply(nil)
	s.Apply(&trace.Record{})
	if len(s.pods) > maxPods {
		t.Errorf("%d pods remembered", len(s.pods))
	}
}

func TestScrapeBesideApply(t *testing.T) {
	s, reg := newSink(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 50 {
			story(s)
		}
	})
	for range 20 {
		ours(t, reg)
	}
	wg.Wait()
}

func TestRun(t *testing.T) {
	s, reg := newSink(t)
	bus := trace.NewBus(2)
	cur := bus.Subscribe(trace.FromNow)
	for range 5 {
		trace.Point(bus, trace.Span{}, trace.Log{})
	}
	cur.Close()
	if err := s.Run(t.Context(), cur); err != nil {
		t.Fatal(err)
	}
	got := ours(t, reg)
	for _, line := range []string{`kubeloupe_records_total{kind="log"} 2`, "kubeloupe_records_lost_total 3"} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
}

// TestOperations checks upstream's names, from instrumented_services.go.
func TestOperations(t *testing.T) {
	for method, want := range map[string]string{
		"Version": "version", "Status": "status", "CreateContainer": "create_container", "ListContainers": "list_containers",
		"UpdateContainerResources": "update_container", "ReopenContainerLog": "reopen_container_log", "ExecSync": "exec_sync",
		"RunPodSandbox": "run_podsandbox", "PodSandboxStatus": "podsandbox_status", "ListPodSandbox": "list_podsandbox",
		"ListPodSandboxStats": "list_podsandbox_stats", "UpdatePodSandboxResources": "update_podsandbox_resources",
		"ImageFsInfo": "image_fs_info", "PullImage": "pull_image", "GetContainerEvents": "get_container_events",
		"ListMetricDescriptors": "list_metric_descriptors", "RuntimeConfig": "runtime_config", "": "",
	} {
		if got := Operation(method); got != want {
			t.Errorf("%s is %q, want %q", method, got, want)
		}
	}
}

func TestSizeBuckets(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "N/A", -1: "N/A", 1: "0-10MB", 10 << 20: "0-10MB", 10<<20 + 1: "10MB-100MB", 1 << 30: "500MB-1GB", 200 << 30: "GT100GB",
	} {
		if got := sizeBucket(bytes); got != want {
			t.Errorf("%d is %q, want %q", bytes, got, want)
		}
	}
}

// Texts of containers, runtimes and drivers create a limited number of series, and are escaped.
func TestValuesOfOthers(t *testing.T) {
	s, reg := newSink(t)
	for i := range 2000 {
		pod := trace.Pod{Namespace: "n", Name: "p", UID: "u"}
		reason := fmt.Sprintf("reason %d \u202e\u009b31m", i)
		for _, state := range []string{"running", "terminated"} {
			c := trace.ContainerStatus{Name: "c", State: trace.ContainerState(state), ExitCode: int32(i), Reason: reason}
			s.Apply(&trace.Record{Seq: 1, Pod: pod, Event: &trace.PodStatus{Containers: []trace.ContainerStatus{c}}})
		}
		s.Apply(&trace.Record{Seq: 1, Edge: trace.EdgeEnd, Event: &trace.CSICall{Driver: "driver" + reason, Method: "NodePublishVolume", Code: fmt.Sprintf("Code(%d)", i)}})
		s.Apply(&trace.Record{Seq: 1, Edge: trace.EdgeEnd, Event: &trace.Volume{Plugin: strings.Repeat("x", 1000) + reason, Op: "setup"}})
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := 0
	for _, f := range families {
		series += len(f.GetMetric())
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if strings.ContainsAny(l.GetValue(), "\u202e\u009b") || len(l.GetValue()) > maxValue+64 {
					t.Fatalf("%s has %s=%q", f.GetName(), l.GetName(), l.GetValue())
				}
			}
		}
	}
	if want := 5 * maxValues; series > want+100 {
		t.Errorf("%d series, want about %d at most", series, want)
	}
}
