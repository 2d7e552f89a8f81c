package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

// has reports lines that are missing in what is scraped.
func has(t *testing.T, got string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
}

// A pod of the API is created at 0 s, and seen at 1 s. An image is pulled for 3 s, another one within that time; an init container runs for 2 s.
// All containers run at 9 s, the status is sent at 9.1 s, and the watch shows it at 10 s.
func TestStartLatency(t *testing.T) {
	s, reg := newSink(t)
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	put := func(at, dur time.Duration, edge trace.Edge, e trace.Event) {
		s.Apply(&trace.Record{Time: t0.Add(at).UnixNano(), Dur: dur, Edge: edge, Pod: web, Event: e})
	}
	const point, begin, end = trace.EdgePoint, trace.EdgeBegin, trace.EdgeEnd
	start := func(spec *trace.PodSpec, adopted bool) {
		put(time.Second, 0, point, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceAPI, Created: t0, Adopted: adopted, Spec: spec})
		put(2*time.Second, 0, begin, &trace.ImagePull{Image: "a"})
		put(3*time.Second, 0, begin, &trace.ImagePull{Image: "b", Shared: true})
		put(4*time.Second, time.Second, end, &trace.ImagePull{Image: "b", Shared: true})
		put(5*time.Second, 3*time.Second, end, &trace.ImagePull{Image: "a"})
		ran := trace.ContainerStatus{Name: "setup", Init: true, State: trace.ContainerTerminated, Started: t0.Add(5 * time.Second), Finished: t0.Add(7 * time.Second)}
		put(7*time.Second, 0, point, &trace.PodStatus{Phase: trace.PodPending, Containers: []trace.ContainerStatus{ran, {Name: "web", State: trace.ContainerWaiting}}})
		put(8*time.Second, 0, begin, &trace.StatusPatch{Op: trace.PatchStatus})
		put(9*time.Second, 0, point, &trace.PodStatus{Phase: trace.PodRunning, Containers: []trace.ContainerStatus{ran, {Name: "web", State: trace.ContainerRunning}}})
		put(9050*time.Millisecond, 1050*time.Millisecond, end, &trace.StatusPatch{Op: trace.PatchStatus}) // of the earlier status
		put(9060*time.Millisecond, 0, point, &trace.Source{Source: trace.SourceAPI, Op: trace.OpReconcile})
		put(9100*time.Millisecond, 0, begin, &trace.StatusPatch{Op: trace.PatchStatus})
		put(10*time.Second, 0, point, &trace.Source{Source: trace.SourceAPI, Op: trace.OpReconcile})
		put(11*time.Second, 0, point, &trace.Source{Source: trace.SourceAPI, Op: trace.OpReconcile})
		put(12*time.Second, 0, point, &trace.Milestone{Name: trace.MilestoneGone})
	}
	start(&trace.PodSpec{}, true) // another agent has started it
	start(&trace.PodSpec{HostNetwork: true}, false)
	start(&trace.PodSpec{Stateful: true}, false)
	got := ours(t, reg)
	has(t, got, "kubelet_pod_start_total_duration_seconds_sum 20", "kubelet_pod_start_total_duration_seconds_count 2",
		"kubelet_pod_start_sli_duration_seconds_sum 5", "kubelet_pod_start_sli_duration_seconds_count 1", "kubelet_first_network_pod_start_sli_duration_seconds 0")
	start(&trace.PodSpec{}, false)
	has(t, ours(t, reg), "kubelet_first_network_pod_start_sli_duration_seconds 5")
}

func TestNodeStart(t *testing.T) {
	boot := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	put := func(s *Sink, at, dur time.Duration, edge trace.Edge, e trace.Event) {
		s.Apply(&trace.Record{Time: boot.Add(at * time.Second).UnixNano(), Dur: dur * time.Second, Edge: edge, Event: e})
	}
	s, reg := newSink(t)
	s.Booted(boot)
	put(s, 10, 0, trace.EdgePoint, &trace.Agent{State: trace.AgentStarting})
	put(s, 12, 0, trace.EdgeBegin, &trace.NodeStatus{Op: trace.NodeRegister, Cause: trace.NodeStarts})
	put(s, 13, 1, trace.EdgeEnd, &trace.NodeStatus{Op: trace.NodeRegister, Cause: trace.NodeStarts, Err: "connection refused"})
	put(s, 16, 1, trace.EdgeEnd, &trace.NodeStatus{Op: trace.NodeRegister, Cause: trace.NodeStarts})
	put(s, 17, 1, trace.EdgeEnd, &trace.NodeStatus{Op: trace.NodePatch, Cause: trace.NodeChanged})
	put(s, 24, 1, trace.EdgeEnd, &trace.NodeStatus{Op: trace.NodePatch, Cause: trace.NodeChanged, Ready: true})
	put(s, 34, 1, trace.EdgeEnd, &trace.NodeStatus{Op: trace.NodePatch, Cause: trace.NodePeriod, Ready: true})
	put(s, 34, 0, trace.EdgePoint, &trace.NodeDescribed{CgroupVersion: 2})
	has(t, ours(t, reg), "kubelet_node_startup_pre_kubelet_duration_seconds 10", "kubelet_node_startup_pre_registration_duration_seconds 2",
		"kubelet_node_startup_registration_duration_seconds 4", "kubelet_node_startup_post_registration_duration_seconds 8", "kubelet_node_startup_duration_seconds 24",
		"kubelet_cgroup_version 2")

	again, reg := newSink(t) // the object exists
	again.Booted(boot)
	put(again, 10, 0, trace.EdgePoint, &trace.Agent{State: trace.AgentStarting})
	put(again, 12, 1, trace.EdgeEnd, &trace.NodeStatus{Op: trace.NodeRegister, Cause: trace.NodeStarts, Refused: "AlreadyExists"})
	put(again, 13, 1, trace.EdgeEnd, &trace.NodeStatus{Op: trace.NodeReconcile, Cause: trace.NodeStarts, Ready: true})
	has(t, ours(t, reg), "kubelet_node_startup_registration_duration_seconds 0", "kubelet_node_startup_duration_seconds 0")
}

func TestMore(t *testing.T) {
	s, reg := newSink(t)
	at := int64(0)
	put := func(edge trace.Edge, dur time.Duration, e trace.Event) {
		at += int64(time.Second)
		s.Apply(&trace.Record{Time: at, Span: trace.SpanID(at), Edge: edge, Dur: dur, Pod: web, Event: e})
	}
	const point, begin, end = trace.EdgePoint, trace.EdgeBegin, trace.EdgeEnd
	for _, code := range []string{"OutOfcpu", "OutOfexample.com/gpu", "NodeAffinity", "TopologyAffinityError", "TopologyAffinityError"} {
		put(point, 0, &trace.Decision{By: trace.ByAdmission, Verdict: trace.VerdictReject, Code: code})
	}
	put(point, 0, &trace.Decision{By: trace.ByAdmission, Verdict: trace.VerdictAdmit})
	put(point, 0, &trace.Milestone{Name: trace.MilestoneSeen, Spec: &trace.PodSpec{UserNamespace: true}})
	put(end, time.Second, &trace.CRICall{Method: "RunPodSandbox", Handler: "kata", Code: "OK"})
	put(end, time.Second, &trace.CRICall{Method: "RunPodSandbox", Code: "Unknown", Err: "no"})
	put(end, time.Second, &trace.Action{Verb: trace.VerbSandbox})
	put(end, time.Second, &trace.Action{Verb: trace.VerbSandbox, Err: "no"})
	put(end, 0, &trace.CRICall{Method: "CreateContainer", ImageVolumes: 2})
	put(end, 0, &trace.CRICall{Method: "CreateContainer", ImageVolumes: 1, Err: "no name"})
	put(end, 0, &trace.CRICall{Method: "CreateContainer", ImageVolumes: 1, Err: "ImageVolumeMountFailed: no such layer", Class: trace.FailImageVolume})
	put(end, 0, &trace.CRICall{Method: "CreateContainer"})
	put(begin, 0, &trace.Action{Verb: trace.VerbVolumes}) // 11 s
	put(end, 500*time.Millisecond, &trace.Volume{Op: trace.VolumeSetup, Plugin: "kubernetes.io/image", Err: "no"})
	put(end, 2*time.Second, &trace.Action{Verb: trace.VerbVolumes, Err: "no"})
	put(begin, 0, &trace.Action{Verb: trace.VerbVolumes})
	put(end, 500*time.Millisecond, &trace.Volume{Op: trace.VolumeSetup, Plugin: "kubernetes.io/image"}) // 4 s after the first request
	put(end, 500*time.Millisecond, &trace.Volume{Op: trace.VolumeAdopt, Plugin: "kubernetes.io/csi"})
	put(end, 500*time.Millisecond, &trace.Volume{Op: trace.VolumeAdopt, Plugin: "kubernetes.io/csi", Err: "no"})
	put(point, 0, &trace.Milestone{Name: trace.MilestoneTerminating})
	put(point, 0, &trace.Milestone{Name: trace.MilestoneTerminating, Adopted: true})
	put(point, 0, &trace.NodeEvent{Reason: "LifecycleHTTPFallback"})
	put(end, 0, &trace.CRICall{Method: "RuntimeConfig", Code: "Unimplemented", Err: "no"})
	put(end, 0, &trace.CRICall{Method: "GetContainerEvents", Code: "OK"})
	put(end, 0, &trace.CRICall{Method: "GetContainerEvents", Code: "Unavailable", Err: "no"})
	put(point, 0, &trace.PLEGMode{Mode: trace.PLEGRelists}) // at the start
	put(point, 0, &trace.PLEGMode{Mode: trace.PLEGEvented})
	put(point, 0, &trace.PLEGMode{Mode: trace.PLEGRelists})
	put(point, 0, &trace.PLEGEvent{From: trace.PLEGEvented, Lag: int64(2 * time.Millisecond)})
	put(point, 0, &trace.PLEGEvent{From: trace.PLEGRelists})
	has(t, ours(t, reg),
		`kubelet_admission_rejections_total{reason="OutOfcpu"} 1`, `kubelet_admission_rejections_total{reason="OutOfExtendedResources"} 1`,
		`kubelet_admission_rejections_total{reason="Other"} 1`, `kubelet_admission_rejections_total{reason="TopologyAffinityError"} 2`,
		`kubelet_run_podsandbox_duration_seconds_count{runtime_handler="kata"} 1`, `kubelet_run_podsandbox_errors_total{runtime_handler=""} 1`,
		`kubelet_started_user_namespaced_pods_total 2`, `kubelet_started_user_namespaced_pods_errors_total 1`,
		`kubelet_image_volume_requested_total 4`, `kubelet_image_volume_mounted_succeed_total 3`, `kubelet_image_volume_mounted_errors_total 1`,
		`volume_operation_total_seconds_sum{operation_name="overall_volume_mount",plugin_name="kubernetes.io/image"} 4`,
		`reconstruct_volume_operations_total 2`, `reconstruct_volume_operations_errors_total 1`,
		`kubelet_orphaned_runtime_pods_total 1`, `kubelet_lifecycle_handler_http_fallbacks_total 1`,
		`kubelet_cri_losing_support{version="1.38.0"} 1`,
		`kubelet_evented_pleg_connection_success_count 1`, `kubelet_evented_pleg_connection_error_count 2`,
		`kubelet_evented_pleg_connection_latency_seconds_count 1`, `kubelet_evented_pleg_connection_latency_seconds_sum 0.002`,
	)
}

// Operations on volumes of CSI drivers, of migrated types and on devices have upstream's labels.
func TestVolumeLabels(t *testing.T) {
	s, reg := newSink(t)
	put := func(e trace.Volume) {
		s.Apply(&trace.Record{Time: int64(time.Minute), Dur: time.Second, Edge: trace.EdgeEnd, Event: &e})
	}
	const csi, driver = "kubernetes.io/csi", "disk.example.com"
	put(trace.Volume{Op: trace.VolumeSetup, Plugin: csi, Driver: driver})
	put(trace.Volume{Op: trace.VolumeTeardown, Plugin: csi, Driver: driver, Migrated: true, Err: "no"})
	put(trace.Volume{Op: trace.VolumeSetup, Plugin: csi, Driver: driver, Block: true})
	put(trace.Volume{Op: trace.VolumeTeardown, Plugin: "kubernetes.io/local-volume", Block: true})
	put(trace.Volume{Op: trace.VolumeGrow, Plugin: csi, Driver: driver, Block: true})
	put(trace.Volume{Op: trace.VolumeRefresh, Plugin: csi, Driver: driver})
	s.Apply(&trace.Record{Edge: trace.EdgeEnd, Event: &trace.CSICall{Driver: driver, Method: "NodeStageVolume", Code: "OK", Migrated: true}})
	got := ours(t, reg)
	has(t, got, `csi_operations_seconds_count{driver_name="disk.example.com",grpc_status_code="OK",method_name="/csi.v1.Node/NodeStageVolume",migrated="true"} 1`)
	var lines []string
	for line := range strings.Lines(got) {
		if strings.HasPrefix(line, "storage_operation_duration_seconds_count") || strings.HasPrefix(line, "volume_operation_total_seconds_count") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	want := []string{
		`storage_operation_duration_seconds_count{migrated="false",operation_name="map_volume",status="success",volume_plugin="kubernetes.io/csi:disk.example.com"} 1`,
		`storage_operation_duration_seconds_count{migrated="false",operation_name="unmap_volume",status="success",volume_plugin="kubernetes.io/local-volume"} 1`,
		`storage_operation_duration_seconds_count{migrated="false",operation_name="verify_controller_attached_volume",status="success",volume_plugin="kubernetes.io/csi:disk.example.com"} 2`,
		`storage_operation_duration_seconds_count{migrated="false",operation_name="volume_fs_resize",status="success",volume_plugin="kubernetes.io/csi:disk.example.com"} 1`,
		`storage_operation_duration_seconds_count{migrated="false",operation_name="volume_mount",status="success",volume_plugin="kubernetes.io/csi:disk.example.com"} 1`,
		`storage_operation_duration_seconds_count{migrated="true",operation_name="volume_unmount",status="fail-unknown",volume_plugin="kubernetes.io/csi:disk.example.com"} 1`,
		`volume_operation_total_seconds_count{operation_name="overall_volume_mount",plugin_name="kubernetes.io/csi:disk.example.com"} 1`,
	}
	if d := cmp.Diff(want, lines); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// The parts of an operation count as upstream's operations, and not in the rest of it.
func TestVolumeParts(t *testing.T) {
	const plugin = "kubernetes.io/csi"
	took := func(d time.Duration) trace.VolumePart { return trace.VolumePart{Took: d} }
	failed := trace.VolumePart{Took: 2 * time.Second, Failed: true}
	for _, c := range []struct {
		name string
		e    trace.Volume
		want []string // operations, whether they succeeded, and their seconds
	}{
		{"set up", trace.Volume{Op: trace.VolumeSetup, Attaching: took(4 * time.Second), Owning: took(3 * time.Second)}, []string{
			"verify_controller_attached_volume success 4", "volume_apply_access_control success 3", "volume_mount success 6",
		}},
		{"not attached", trace.Volume{Op: trace.VolumeSetup, Attaching: failed, Err: "no"}, []string{"verify_controller_attached_volume fail-unknown 2"}},
		{"not mounted", trace.Volume{Op: trace.VolumeSetup, Attaching: took(4 * time.Second), Err: "no"}, []string{"volume_mount fail-unknown 6"}},
		{"not owned", trace.Volume{Op: trace.VolumeSetup, Owning: failed, Err: "no"}, []string{"volume_apply_access_control fail-unknown 2", "volume_mount fail-unknown 10"}},
		{"adopted", trace.Volume{Op: trace.VolumeAdopt, Attaching: took(time.Second)}, nil},
		{"last user", trace.Volume{Op: trace.VolumeTeardown, Unstaging: took(3 * time.Second)}, []string{"unmount_device success 3", "volume_unmount success 7"}},
		{"not unstaged", trace.Volume{Op: trace.VolumeTeardown, Unstaging: failed, Err: "no"}, []string{"unmount_device fail-unknown 2", "volume_unmount success 8"}},
		{"device", trace.Volume{Op: trace.VolumeTeardown, Block: true, Unstaging: took(3 * time.Second)}, []string{"unmap_device success 3", "unmap_volume success 7"}},
		{"staged with another label", trace.Volume{Op: trace.VolumeSetup, Unstaging: failed, Err: "no"}, []string{"unmount_device fail-unknown 2", "volume_mount fail-unknown 8"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, reg := newSink(t)
			c.e.Plugin = plugin
			s.Apply(&trace.Record{Dur: 10 * time.Second, Edge: trace.EdgeEnd, Event: &c.e})
			families, err := reg.Gather()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range families {
				for _, m := range f.GetMetric() {
					if labels := m.GetLabel(); f.GetName() == "storage_operation_duration_seconds" {
						got = append(got, fmt.Sprint(labels[1].GetValue(), " ", labels[2].GetValue(), " ", m.GetHistogram().GetSampleSum()))
					}
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// A credential provider that several pods wait for is called once.
func TestCredentialProviders(t *testing.T) {
	s, reg := newSink(t)
	for _, w := range []trace.Wait{{}, {Cause: "exit status 1"}, {Shared: true}, {Shared: true, Cause: "exit status 1"}} {
		w.For, w.Target = trace.WaitCredentials, trace.Target{Kind: trace.TargetProvider, Namespace: "r.io/app", Name: "ecr"}
		s.Apply(&trace.Record{Time: int64(time.Minute), Dur: 2 * time.Second, Edge: trace.EdgeEnd, Event: &w})
	}
	s.Apply(&trace.Record{Time: int64(time.Minute), Dur: time.Second, Edge: trace.EdgeEnd, Event: &trace.Wait{For: trace.WaitQueue, Cause: "no"}})
	has(t, ours(t, reg), `kubelet_credential_provider_plugin_duration_count{plugin_name="ecr"} 2`, `kubelet_credential_provider_plugin_duration_sum{plugin_name="ecr"} 4`,
		`kubelet_credential_provider_plugin_errors_total{plugin_name="ecr"} 1`)
}

func TestInflight(t *testing.T) {
	s, reg := newSink(t)
	put := func(span byte, edge trace.Edge) {
		s.Apply(&trace.Record{Span: trace.SpanID(span), Edge: edge, Event: &trace.ServerRequest{Server: trace.ServerHTTPS, Method: "GET", Path: "/pods"}})
	}
	const line = `kubelet_http_inflight_requests{long_running="false",method="GET",path="pods",server_type="readwrite"} `
	put(1, trace.EdgeBegin)
	put(2, trace.EdgeBegin)
	put(1, trace.EdgeEnd)
	put(9, trace.EdgeEnd) // its begin was lost
	has(t, ours(t, reg), line+"1")
	s.Lost(1)
	put(2, trace.EdgeEnd)
	has(t, ours(t, reg), line+"0", `kubelet_http_requests_total{long_running="false",method="GET",path="pods",server_type="readwrite"} 3`)
}

// A request is counted when it begins, once, also if records were lost.
func TestRequestsCountWhenTheyBegin(t *testing.T) {
	s, reg := newSink(t)
	const line = `kubelet_http_requests_total{long_running="true",method="POST",path="exec",server_type="readwrite"} `
	put := func(span byte, edge trace.Edge) {
		s.Apply(&trace.Record{Span: trace.SpanID(span), Edge: edge, Event: &trace.ServerRequest{Server: trace.ServerHTTPS, Method: "POST", Path: "/exec/ns/web/web"}})
	}
	put(1, trace.EdgeBegin)
	has(t, ours(t, reg), line+"1")
	s.Lost(1)
	put(1, trace.EdgeEnd)
	has(t, ours(t, reg), line+"1")
	for range maxInflight + 1 {
		s.Lost(1)
	}
	if n := len(s.inflight.forgotten) + len(s.inflight.by); n != 0 {
		t.Errorf("%d requests are kept", n)
	}
}

// Requests that were not published count with the next one that is, once.
func TestUnpublishedRequestsCount(t *testing.T) {
	s, reg := newSink(t)
	e := &trace.ServerRequest{Server: trace.ServerHTTPS, Method: "GET", Path: "/pods", Unpublished: 40}
	s.Apply(&trace.Record{Span: 1, Edge: trace.EdgeBegin, Event: e})
	s.Apply(&trace.Record{Span: 1, Edge: trace.EdgeEnd, Event: e})
	s.Apply(&trace.Record{Span: 2, Edge: trace.EdgeEnd, Event: e}) // its begin was lost
	has(t, ours(t, reg), `kubelet_http_requests_total{long_running="false",method="GET",path="pods",server_type="readwrite"} 2`,
		`kubelet_http_requests_total{long_running="false",method="other",path="other",server_type="readwrite"} 80`)
}

// The labels of requests are upstream's.
func TestRequestLabels(t *testing.T) {
	on, _ := newSink(t)
	off, _ := newSink(t)
	off.Serves(Endpoints{Allocated: true, Checkpoint: true, Flagz: true, Statusz: true})
	bare, _ := newSink(t)
	bare.Serves(Endpoints{Debugging: true})
	for path, want := range map[string][3]string{ // of all endpoints, without debugging handlers, and without gates
		"/healthz": {"healthz", "healthz", "healthz"}, "/metrics/resource": {"metrics/resource", "metrics/resource", "metrics/resource"},
		"/exec/ns/p/c": {"exec", "exec", "exec"}, "/logs/x": {"logs", "logs", "logs"}, "/runningpods/": {"runningpods", "runningpods", "runningpods"},
		"/debug/flags/v": {"debug", "other", "debug"}, "/configz": {"configz", "other", "configz"}, "/pprof": {"other", "pprof", "other"},
		"/allocatedPods": {"allocatedPods", "other", "other"}, "/checkpoint/ns/p/c": {"checkpoint", "other", "other"},
		"/flagz": {"flagz", "other", "other"}, "/statusz": {"statusz", "other", "other"},
	} {
		for i, s := range []*Sink{on, off, bare} {
			if got := s.inflight.labelsOf(&trace.ServerRequest{Server: trace.ServerHTTPS, Method: "GET", Path: path})[1]; got != want[i] {
				t.Errorf("%s (%d): %q, want %q", path, i, got, want[i])
			}
		}
	}
	for _, c := range []struct {
		server             trace.ServerName
		method, path       string
		wantMethod, wantAt string
		kind, long         string
	}{
		{trace.ServerHTTPS, "GET", "/pods", "GET", "pods", "readwrite", "false"},
		{trace.ServerReadOnly, "TRACE", "/stats/summary", "TRACE", "stats", "readonly", "false"},
		{trace.ServerReadOnly, "GET", "/configz", "GET", "other", "readonly", "false"},
		{trace.ServerReadOnly, "GET", "/debug/pprof/", "GET", "other", "readonly", "false"},
		{trace.ServerReadOnly, "POST", "/exec/ns/web/c", "POST", "exec", "readonly", "true"},
		{trace.ServerHTTPS, "CONNECT", "/debug/pprof/heap", "CONNECT", "debug", "readwrite", "true"},
		{trace.ServerHTTPS, "PATCH", "/", "other", "other", "readwrite", "false"},
		{trace.ServerHTTPS, "x", "/livez", "other", "other", "readwrite", "false"},
		{trace.ServerHTTPS, "GET", "/spec/", "GET", "other", "readwrite", "false"},
		{trace.ServerHTTPS, "GET", "/readyz", "GET", "other", "readwrite", "false"},
		{trace.ServerHTTPS, "GET", "/healthcheck", "GET", "other", "readwrite", "false"},
		{trace.ServerHTTPS, "GET", "/healthz/syncloop", "GET", "healthz", "readwrite", "false"},
		{trace.ServerHTTPS, "GET", "/metrics", "GET", "metrics", "readwrite", "false"},
		{trace.ServerHTTPS, "GET", "/metrics/", "GET", "other", "readwrite", "false"},
		{trace.ServerHTTPS, "GET", "/metrics/probes", "GET", "metrics/probes", "readwrite", "false"},
		{trace.ServerHTTPS, "GET", "/metrics/cadvisor/x", "GET", "metrics/cadvisor", "readwrite", "false"},
		{trace.ServerHTTPS, "GET", "/metrics/slis", "GET", "other", "readwrite", "false"},
		{trace.ServerHTTPS, "POST", "/portForward/ns/web", "POST", "portForward", "readwrite", "false"},
		{trace.ServerHTTPS, "POST", "/attach/ns/web/c", "POST", "attach", "readwrite", "true"},
	} {
		want := [4]string{c.wantMethod, c.wantAt, c.kind, c.long}
		if got := on.inflight.labelsOf(&trace.ServerRequest{Server: c.server, Method: c.method, Path: c.path}); got != want {
			t.Errorf("%s %s: %q, want %q", c.method, c.path, got, want)
		}
	}
}

// Upstream counts no requests to the health port.
func TestHealthPortIsNotCounted(t *testing.T) {
	s, reg := newSink(t)
	for _, edge := range []trace.Edge{trace.EdgeBegin, trace.EdgeEnd} {
		s.Apply(&trace.Record{Span: 1, Edge: edge, Event: &trace.ServerRequest{Server: trace.ServerHealthz, Method: "GET", Path: "/healthz"}})
	}
	if got := ours(t, reg); strings.Contains(got, "kubelet_http_") {
		t.Error(got)
	}
}

func TestCertificates(t *testing.T) {
	s, reg := newSink(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	put := func(after time.Duration, edge trace.Edge, e trace.Event) {
		s.Apply(&trace.Record{Time: at.Add(after).UnixNano(), Edge: edge, Event: e})
	}
	failed := func(use trace.CertificateUse) *trace.Wait {
		return &trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetCertificate, Name: string(use)}}
	}
	put(0, trace.EdgePoint, &trace.Certificate{Use: trace.UseServing, Source: trace.CertificateSelfSigned, NotBefore: at})
	put(0, trace.EdgeBegin, failed(trace.UseClient))
	put(0, trace.EdgeEnd, failed(trace.UseClient))
	got := ours(t, reg)
	has(t, got, "kubelet_certificate_manager_client_expiration_renew_errors 1")
	if strings.Contains(got, "server_rotation") || strings.Contains(got, "server_expiration") {
		t.Error("the serving certificate is the agent's own, and has metrics")
	}
	put(0, trace.EdgePoint, &trace.Certificate{Use: trace.UseServing, Source: trace.CertificateCSR, Cause: trace.CertificateSigned, NotBefore: at, NotAfter: at})
	put(0, trace.EdgeBegin, failed(trace.UseServing))
	put(2*time.Hour, trace.EdgePoint, &trace.Certificate{Use: trace.UseServing, Source: trace.CertificateCSR, Cause: trace.CertificateRenewed, NotBefore: at, NotAfter: at})
	has(t, ours(t, reg), "kubelet_server_expiration_renew_errors 1", "kubelet_certificate_manager_server_rotation_seconds_sum 7200")
}
