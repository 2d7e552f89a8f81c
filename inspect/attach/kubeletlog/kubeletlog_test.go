package kubeletlog_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/attach/kubeletlog"
	"github.com/kubeloupe/kubeloupe/inspect/attach/logfile"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
)

// lines makes a log of bodies, each behind a time within one minute: "01.5 I text".
func lines(bodies ...string) string {
	var b strings.Builder
	for _, l := range bodies {
		at, rest, _ := strings.Cut(l, " ")
		severity, body, _ := strings.Cut(rest, " ")
		sec, frac, _ := strings.Cut(at, ".")
		fmt.Fprintf(&b, "%s1122 08:%s.%s 1 a.go:1] %s\n", severity, sec, (frac + "000000")[:6], body)
	}
	return b.String()
}

// all reads a log's records.
func all(t *testing.T, text string) (recs []trace.Record, lost uint64, told kubeletlog.Told) {
	t.Helper()
	r, err := logfile.NewReader(strings.NewReader(text), logfile.Options{Zone: time.UTC, Latest: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	s := kubeletlog.NewSource(r)
	buf := make([]trace.Record, 0, 7)
	for {
		some, n, err := s.Next(context.Background(), buf)
		recs, lost = append(recs, some...), lost+n
		if errors.Is(err, io.EOF) {
			return recs, lost, s.Told()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// told writes records: when, the edge, who, what and how long.
func told(recs []trace.Record) (out []string) {
	for i := range recs {
		r := &recs[i]
		what := ""
		switch e := r.Event.(type) {
		case *trace.Milestone:
			what = fmt.Sprint(e.Name)
		case *trace.Action:
			what = strings.TrimSpace(e.ID + " " + e.Err)
		case *trace.Wait:
			what = strings.TrimSpace(fmt.Sprintf("%s %s %s %s", e.For, e.Target.Kind, e.Target.Name, e.Reason))
		case *trace.Volume:
			what = strings.TrimSpace(fmt.Sprintf("%s %s %s %s", e.Op, e.Name, e.Plugin, e.Err))
		case *trace.Decision:
			what = fmt.Sprintf("%s %s %s", e.By, e.Verdict, e.Subject)
		case *trace.ProbeAttempt:
			what = fmt.Sprintf("%s %s %s", e.Probe, e.Container, e.Result)
		case *trace.CRICall:
			what = fmt.Sprintf("%s %s %s", e.Method, e.Code, e.Class)
		case *trace.ImagePull:
			what = fmt.Sprintf("%s %d", e.Image, e.Bytes)
		default:
			continue
		}
		edge := map[trace.Edge]string{trace.EdgeBegin: "begin ", trace.EdgeEnd: "end "}[r.Edge]
		took := ""
		if r.Edge == trace.EdgeEnd {
			took = " " + r.Dur.String()
		}
		out = append(out, fmt.Sprintf("%s %s%s %s: %s%s", r.At().UTC().Format("04:05.000"), edge, r.Pod.Name, r.Event.Kind(), what, took))
	}
	return out
}

const volumeA = `for volume \"a\" (UniqueName: \"kubernetes.io/configmap/11111111-2222-3333-4444-555555555555-a\") pod \"web\" (UID: \"11111111-2222-3333-4444-555555555555\") " pod="shop/web"`

const volumeDisk = `for volume \"pvc-1\" (UniqueName: \"kubernetes.io/csi/disk.csi.azure.com^x\") pod \"web\" (UID: \"11111111-2222-3333-4444-555555555555\") device path: \"\"" pod="shop/web"`

func TestRecords(t *testing.T) {
	const poll = string(trace.WaitPoll) + " " + string(trace.TargetVolumeManager)
	for name, c := range map[string]struct {
		log  string
		want []string
	}{
		"volumes at V2": {
			lines(
				`00:01.0 I "No sandbox for pod can be found. Need to start a new one" pod="shop/web"`,
				`00:01.1 I "operationExecutor.VerifyControllerAttachedVolume started `+volumeA,
				`00:01.2 I "operationExecutor.MountVolume started `+volumeA,
				`00:01.21 I "MountVolume.SetUp succeeded `+volumeA,
				`00:01.3 I "No sandbox for pod can be found. Need to start a new one" pod="shop/web"`,
			),
			[]string{
				"00:01.000 begin web pod.wait: " + poll, "00:01.100 end web pod.wait: " + poll + " 100ms",
				"00:01.100 begin web pod.wait: " + poll, "00:01.200 end web pod.wait: " + poll + " 100ms",
				"00:01.200 begin web volume: setup a kubernetes.io/configmap", "00:01.210 end web volume: setup a kubernetes.io/configmap 10ms",
				"00:01.210 begin web pod.wait: " + poll, "00:01.300 end web pod.wait: " + poll + " 90ms",
				"00:01.300 end web pod.action: volumes 300ms",
			},
		},
		"volumes at V2, one of which is being mounted": {
			lines(
				`00:01.0 I "No sandbox for pod can be found. Need to start a new one" pod="shop/web"`,
				`00:01.1 I "operationExecutor.VerifyControllerAttachedVolume started `+volumeA,
				`00:01.2 I "operationExecutor.MountVolume started `+volumeA,
				`00:01.3 I "No sandbox for pod can be found. Need to start a new one" pod="shop/web"`,
			),
			[]string{
				"00:01.000 begin web pod.wait: " + poll, "00:01.100 end web pod.wait: " + poll + " 100ms",
				"00:01.100 begin web pod.wait: " + poll, "00:01.200 end web pod.wait: " + poll + " 100ms",
				"00:01.200 begin web volume: setup a kubernetes.io/configmap",
			},
		},
		"volumes at V2, of a worker that did something else for long": {
			lines(
				`00:01.0 I "No sandbox for pod can be found. Need to start a new one" pod="shop/web"`,
				`00:02.1 I "operationExecutor.VerifyControllerAttachedVolume started `+volumeA,
				`00:02.1 I "operationExecutor.MountVolume started `+volumeA,
				`00:02.11 I "MountVolume.SetUp succeeded `+volumeA,
				`00:04.0 I "No sandbox for pod can be found. Need to start a new one" pod="shop/web"`,
			),
			[]string{
				"00:02.100 begin web volume: setup a kubernetes.io/configmap", "00:02.110 end web volume: setup a kubernetes.io/configmap 10ms",
			},
		},
		"a start at V4": {
			lines(
				`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:01.001 I "SyncPod enter" pod="shop/web" podUID="11111111-2222-3333-4444-555555555555"`,
				`00:01.002 I "Waiting for volumes to attach and mount for pod" pod="shop/web"`,
				`00:01.1 I "operationExecutor.VerifyControllerAttachedVolume started `+volumeA,
				`00:01.2 I "operationExecutor.MountVolume started `+volumeA,
				`00:01.21 I "MountVolume.SetUp succeeded `+volumeA,
				`00:01.302 I "All volumes are attached and mounted for pod" pod="shop/web"`,
				`00:01.303 I "Creating PodSandbox for pod" pod="shop/web"`,
				`00:01.5 I "Created PodSandbox for pod" podSandboxID="x" pod="shop/web"`,
				`00:01.501 I "Creating container in pod" containerType="container" container="main" pod="shop/web"`,
				`00:01.502 I "Event occurred" object="shop/web" fieldPath="spec.containers{main}" kind="Pod" apiVersion="v1" type="Normal" reason="Pulling" message="Pulling image \"r/i:1\""`,
				`00:02.5 I "Event occurred" object="shop/web" fieldPath="spec.containers{main}" kind="Pod" apiVersion="v1" type="Normal" reason="Pulled" message="Successfully pulled image \"r/i:1\" in 990ms (990ms including waiting). Image size: 42 bytes."`,
				`00:02.6 I "Event occurred" object="shop/web" fieldPath="spec.containers{main}" kind="Pod" apiVersion="v1" type="Normal" reason="Created" message="Container created"`,
				`00:02.7 I "Event occurred" object="shop/web" fieldPath="spec.containers{main}" kind="Pod" apiVersion="v1" type="Normal" reason="Started" message="Container started"`,
				`00:02.701 I "SyncPod exit" pod="shop/web" podUID="11111111-2222-3333-4444-555555555555" isTerminal=false`,
			),
			[]string{
				"00:01.000 web pod.milestone: seen",
				"00:01.002 begin web pod.action: volumes",
				"00:01.002 begin web pod.wait: " + poll, "00:01.100 end web pod.wait: " + poll + " 98ms",
				"00:01.100 begin web pod.wait: " + poll, "00:01.200 end web pod.wait: " + poll + " 100ms",
				"00:01.200 begin web volume: setup a kubernetes.io/configmap", "00:01.210 end web volume: setup a kubernetes.io/configmap 10ms",
				"00:01.210 begin web pod.wait: " + poll, "00:01.302 end web pod.wait: " + poll + " 92ms",
				"00:01.302 end web pod.action: volumes 300ms",
				"00:01.303 begin web pod.action: sandbox", "00:01.500 end web pod.action: sandbox 197ms",
				"00:01.501 begin web pod.action: image main",
				"00:01.502 begin web image.pull: r/i:1 0", "00:02.500 end web image.pull: r/i:1 42 998ms",
				"00:02.500 end web pod.action: image main 999ms",
				"00:02.500 begin web pod.action: create main", "00:02.600 end web pod.action: create main 100ms",
				"00:02.600 begin web pod.action: start main", "00:02.700 end web pod.action: start main 100ms",
				"00:02.700 web pod.milestone: started", "00:02.700 web pod.milestone: ready",
			},
		},
		"the Event of the last start is late": {
			lines(
				`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:01.001 I "SyncPod enter" pod="shop/web" podUID="u1"`,
				`00:02.7 I "Event occurred" object="shop/web" fieldPath="spec.containers{main}" kind="Pod" type="Normal" reason="Started" message="Container started"`,
				`00:02.8 I "SyncPod exit" pod="shop/web" podUID="u1" isTerminal=false`,
				`00:02.8001 I "Event occurred" object="shop/web" fieldPath="spec.containers{side}" kind="Pod" type="Normal" reason="Started" message="Container started"`,
				`00:09.0 I "other"`,
			),
			[]string{"00:01.000 web pod.milestone: seen", "00:02.800 web pod.milestone: started", "00:02.800 web pod.milestone: ready"},
		},
		"the only Event of a start is late": {
			lines(
				`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:01.001 I "SyncPod enter" pod="shop/web" podUID="u1"`,
				`00:02.6 I "Event occurred" object="shop/web" fieldPath="spec.containers{main}" kind="Pod" type="Normal" reason="Created" message="Container created"`,
				`00:02.7 I "SyncPod exit" pod="shop/web" podUID="u1" isTerminal=false`,
				`00:02.7001 I "Event occurred" object="shop/web" fieldPath="spec.containers{main}" kind="Pod" type="Normal" reason="Started" message="Container started"`,
				`00:04.0 E "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"main\" with RunContainerError: \"no shim\"" pod="shop/web" podUID="u1"`,
			),
			[]string{
				"00:01.000 web pod.milestone: seen",
				"00:02.600 begin web pod.action: start main", "00:02.700 end web pod.action: start main 100.1ms",
				"00:02.700 web pod.milestone: started", "00:02.700 web pod.milestone: ready",
				"00:04.000 end web pod.action: start main no shim 0s",
				"00:04.000 begin web pod.wait: backoff container main RunContainerError",
			},
		},
		"the API server tells the kubelet late of a pod that runs": {
			lines(
				`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:59.0 I "Observed pod startup duration" pod="shop/web" podStartE2EDuration="58s" observedRunningTime="2026-11-22 08:00:02.5 +0000 UTC m=+4.5" watchObservedRunningTime="2026-11-22 08:00:59 +0000 UTC m=+61.0"`,
			),
			[]string{"00:01.000 web pod.milestone: seen", "00:02.500 web pod.milestone: started", "00:02.500 web pod.milestone: ready"},
		},
		"a pull waits for another's": {
			lines(
				`00:01.0 I "Event occurred" object="shop/web" fieldPath="spec.containers{main}" kind="Pod" type="Normal" reason="Pulling" message="Pulling image \"r/i:1\""`,
				`00:04.0 I "Event occurred" object="shop/web" fieldPath="spec.containers{main}" kind="Pod" type="Normal" reason="Pulled" message="Successfully pulled image \"r/i:1\" in 1s (2.999s including waiting). Image size: 42 bytes."`,
			),
			[]string{
				"00:01.000 begin web pod.action: image main", "00:01.000 begin web image.pull: r/i:1 0",
				"00:01.000 begin web pod.wait: other-pull pulls", "00:02.999 end web pod.wait: other-pull pulls 1.999s",
				"00:04.000 end web image.pull: r/i:1 42 3s", "00:04.000 end web pod.action: image main 3s",
				"00:04.000 begin web pod.action: create main",
			},
		},
		"a start and an end at V2": {
			lines(
				`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:01.1 I "No sandbox for pod can be found. Need to start a new one" pod="shop/web"`,
				`00:02.0 I "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"u1","Type":"ContainerStarted","Data":"aaaaaaaaaaaa"}`,
				`00:02.0001 I "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"u1","Type":"ContainerStarted","Data":"bbbbbbbbbbbb"}`,
				`00:20.0 I "SyncLoop DELETE" source="api" pods=["shop/web"]`,
				`00:20.1 I "Killing container with a grace period" pod="shop/web" podUID="u1" containerName="main" containerID="containerd://bbbbbbbbbbbb" gracePeriod=30`,
				`00:22.0 I "Generic (PLEG): container finished" podID="u1" containerID="bbbbbbbbbbbb" exitCode=0`,
				`00:23.0 I "SyncLoop REMOVE" source="api" pods=["shop/web"]`,
			),
			[]string{
				"00:01.000 web pod.milestone: seen", "00:02.000 web pod.milestone: started", "00:02.000 web pod.milestone: ready",
				"00:20.000 web pod.milestone: terminating",
				"00:20.100 begin web pod.action: kill main", "00:20.100 begin web pod.wait: grace container main",
				"00:22.000 end web pod.wait: grace container main 1.9s", "00:22.000 end web pod.action: kill main 1.9s",
				"00:23.000 web pod.milestone: gone",
			},
		},
		"found running": {
			lines(
				`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:01.1 I "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"u1","Type":"ContainerStarted","Data":"aaaaaaaaaaaa"}`,
			),
			[]string{"00:01.000 web pod.milestone: seen", "00:01.100 web pod.milestone: started"},
		},
		"a killing that is retried": {
			lines(
				`00:01.0 I "SyncLoop DELETE" source="api" pods=["shop/web"]`,
				`00:02.0 E "Error syncing pod, skipping" err="error killing terminating pod: [failed to \"KillContainer\" for \"web\" with KillContainerError: \"no\", failed to \"KillPodSandbox\" for \"u1\" with KillPodSandboxError: \"no\"]" pod="shop/web" podUID="u1"`,
				`00:12.0 I "Killing container with a grace period" pod="shop/web" podUID="u1" containerName="web" containerID="containerd://aa" gracePeriod=2`,
			),
			[]string{
				"00:01.000 web pod.milestone: terminating", "00:02.000 end web pod.action: kill web no 0s",
				"00:02.000 begin web pod.wait: backoff retry", "00:02.000 end web pod.action: stop-sandbox no 0s",
				"00:12.000 end web pod.wait: backoff retry 10s",
				"00:12.000 begin web pod.action: kill web", "00:12.000 begin web pod.wait: grace container web",
			},
		},
		"no network": {
			lines(
				`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:01.1 E "Error syncing pod, skipping" err="network is not ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:x" pod="shop/web" podUID="u1"`,
				`00:03.1 E "Error syncing pod, skipping" err="network is not ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:x" pod="shop/web" podUID="u1"`,
				`00:05.0 I "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"u1","Type":"ContainerStarted","Data":"aaaaaaaaaaaa"}`,
			),
			[]string{"00:01.000 web pod.milestone: seen", "00:01.100 begin web pod.wait: runtime network  NetworkPluginNotReady", "00:05.000 end web pod.wait: runtime network  NetworkPluginNotReady 3.9s"},
		},
		"no image": {
			lines(
				`00:01.0 E "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"main\" with ErrImagePull: \"pull access denied for r/i\"" pod="shop/web" podUID="u1"`,
				`00:02.0 E "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"main\" with ImagePullBackOff: \"Back-off pulling image \\\"r/i:1\\\"\"" pod="shop/web" podUID="u1"`,
				`00:03.0 E "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"main\" with ImagePullBackOff: \"Back-off pulling image \\\"r/i:1\\\"\"" pod="shop/web" podUID="u1"`,
			),
			[]string{
				"00:01.000 end web pod.action: image main pull access denied for r/i 0s", "00:01.000 begin web pod.wait: backoff container main ErrImagePull",
				"00:02.000 web decision: backoff wait r/i:1", "00:02.000 end web pod.wait: backoff container main ErrImagePull 1s",
				"00:02.000 begin web pod.wait: backoff container main ImagePullBackOff", "00:03.000 web decision: backoff wait r/i:1",
			},
		},
		"a sandbox that cannot be made": {
			lines(
				`00:01.0 E "Failed to create sandbox for pod" err="rpc error: code = DeadlineExceeded desc = context deadline exceeded" pod="shop/web"`,
				`00:01.001 E "CreatePodSandbox for pod failed" err="rpc error: code = DeadlineExceeded desc = context deadline exceeded" pod="shop/web"`,
				`00:01.002 E "Error syncing pod, skipping" err="failed to \"CreatePodSandbox\" for \"web_shop(u1)\" with CreatePodSandboxError: \"rpc error: code = DeadlineExceeded desc = context deadline exceeded\"" pod="shop/web" podUID="u1"`,
			),
			[]string{
				"00:01.000 end web cri.call: RunPodSandbox DeadlineExceeded deadline 0s",
				"00:01.000 end web pod.action: sandbox rpc error: code = DeadlineExceeded desc = context deadline exceeded 0s",
				"00:01.002 begin web pod.wait: backoff retry",
			},
		},
		"a volume whose object is missing": {
			lines(
				`00:01.0 E "Operation for \"{volumeName:kubernetes.io/configmap/11111111-2222-3333-4444-555555555555-a podName:11111111-2222-3333-4444-555555555555 nodeName:}\" failed. No retries permitted until 2026-11-22 08:00:01.5 +0000 UTC m=+1.5 (durationBeforeRetry 500ms). Error: MountVolume.SetUp failed for volume \"a\" (UniqueName: \"kubernetes.io/configmap/11111111-2222-3333-4444-555555555555-a\") pod \"web\" (UID: \"11111111-2222-3333-4444-555555555555\") : configmap \"a\" not found"`,
				`00:09.0 I "Observed pod startup duration" pod="shop/web" podStartE2EDuration="9s"`,
			),
			[]string{
				`00:01.000 end web volume: setup a kubernetes.io/configmap MountVolume.SetUp failed for volume "a" (UniqueName: "kubernetes.io/configmap/11111111-2222-3333-4444-555555555555-a") pod "web" (UID: "11111111-2222-3333-4444-555555555555") : configmap "a" not found 0s`,
				"00:01.000 begin web pod.wait: backoff volume a", "00:01.500 end web pod.wait: backoff volume a 500ms",
				"00:09.000 web pod.milestone: started", "00:09.000 web pod.milestone: ready",
			},
		},
		"a readiness probe": {
			lines(
				`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:01.1 I "No sandbox for pod can be found. Need to start a new one" pod="shop/web"`,
				`00:02.0 I "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"u1","Type":"ContainerStarted","Data":"aaaaaaaaaaaa"}`,
				`00:02.0 I "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"u1","Type":"ContainerStarted","Data":"bbbbbbbbbbbb"}`,
				`00:02.2 I "Observed pod startup duration" pod="shop/web" podStartE2EDuration="2s"`,
				`00:04.0 I "SyncLoop (probe)" probe="readiness" status="" pod="shop/web"`,
				`00:05.0 I "Probe failed" probeType="Readiness" pod="shop/web" podUID="u1" containerName="main" probeResult="failure" output="HTTP 503"`,
				`00:06.0 I "SyncLoop (probe)" probe="readiness" status="ready" pod="shop/web"`,
			),
			[]string{"00:01.000 web pod.milestone: seen", "00:02.000 web pod.milestone: started", "00:05.000 end web probe.attempt: readiness main failure 0s", "00:06.000 web pod.milestone: ready"},
		},
		"an eviction": {
			lines(`00:01.0 I "Eviction manager: pod is evicted successfully" pod="shop/web"`),
			[]string{
				"00:01.000 web decision: " + string(trace.ByEviction) + " " + string(trace.VerdictEnd) + " shop/web", "00:01.000 web pod.milestone: terminating",
			},
		},
		"a node without a network": {
			lines(
				`00:01.0 E "Container runtime network not ready" networkReady="NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized"`,
				`00:06.0 E "Container runtime network not ready" networkReady="NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized"`,
				`00:40.0 I "other"`,
			),
			[]string{"00:01.000 begin  pod.wait: runtime network  NetworkPluginNotReady", "00:06.000 end  pod.wait: runtime network  NetworkPluginNotReady 5s"},
		},
		"a runtime that is slow": {
			lines(
				`00:01.0 E "Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active 3m1s ago; threshold is 3m0s"`,
				`00:02.0 E "ListPodSandbox with filter from runtime service failed" err="rpc error: code = DeadlineExceeded desc = context deadline exceeded" filter="nil"`,
				`00:03.0 E ListContainers with filter &ContainerFilter{} from runtime service failed: rpc error: code = Unavailable desc = gone`,
				`00:03.5 E "ContainerStatus from runtime service failed" err="rpc error: code = NotFound desc = none" containerID="ab"`,
				`00:06.0 E "Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active 3m6s ago; threshold is 3m0s"`,
				`00:30.0 I "other"`,
			),
			[]string{
				"00:01.000 begin  pod.wait: runtime runtime", "00:02.000 end  cri.call: ListPodSandbox DeadlineExceeded deadline 0s",
				"00:03.000 end  cri.call: ListContainers Unavailable unreachable 0s", "00:06.000 end  pod.wait: runtime runtime 5s",
			},
		},
		"calls with names of their own": {
			lines(
				`00:01.0 E "Get ImageStatus from image service failed" err="rpc error: code = DeadlineExceeded desc = context deadline exceeded" image="x"`,
				`00:02.0 E "PodSandbox from runtime service failed" err="rpc error: code = DeadlineExceeded desc = context deadline exceeded" podSandboxID="ab"`,
				`00:03.0 E "StreamContainers recv failed" err="rpc error: code = Unavailable desc = gone" filter="nil" itemsReceived=3`,
				`00:04.0 E "Watch recv failed" err="rpc error: code = Unavailable desc = gone"`,
			),
			[]string{
				"00:01.000 end  cri.call: ImageStatus DeadlineExceeded deadline 0s", "00:02.000 end  cri.call: PodSandboxStats DeadlineExceeded deadline 0s",
				"00:03.000 end  cri.call: StreamContainers Unavailable unreachable 0s",
			},
		},
		"a probe's warning": {
			lines(`00:01.0 I "Probe succeeded with a warning" probeType="Readiness" pod="shop/web" podUID="u1" containerName="main" output="Probe terminated redirects"`),
			[]string{"00:01.000 end web probe.attempt: readiness main success 0s"},
		},
		"a kubelet that starts": {
			lines(
				`00:01.0 E skipping pod synchronization - [PLEG is not healthy: pleg was last seen active 2562047h47m16.854775807s ago; threshold is 3m0s]`,
				`00:06.0 E "Skipping pod synchronization" err="PLEG is not healthy: pleg has yet to be successful"`,
			),
			nil,
		},
		"a kubelet that starts, and does not get on": {
			lines(
				`00:01.0 E "Skipping pod synchronization" err="PLEG is not healthy: pleg has yet to be successful"`,
				`00:31.0 E "Skipping pod synchronization" err="PLEG is not healthy: pleg has yet to be successful"`,
				`01:06.0 E "Skipping pod synchronization" err="PLEG is not healthy: pleg has yet to be successful"`,
			),
			[]string{"01:06.000 begin  pod.wait: runtime runtime"},
		},
		"a kubelet that is restarted while its runtime is slow": {
			lines(
				`00:01.0 E "Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active 3m1s ago; threshold is 3m0s"`,
				`00:02.0 E "Container runtime network not ready" networkReady="NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized"`,
				`00:04.0 I "Starting kubelet main sync loop"`,
				`00:04.1 E "Skipping pod synchronization" err="PLEG is not healthy: pleg has yet to be successful"`,
				`01:00.0 I "other"`,
			),
			[]string{
				"00:01.000 begin  pod.wait: runtime runtime", "00:01.000 end  pod.wait: runtime runtime 0s",
				"00:02.000 begin  pod.wait: runtime network  NetworkPluginNotReady", "00:02.000 end  pod.wait: runtime network  NetworkPluginNotReady 0s",
			},
		},
		"calls that failed, by an old kubelet": {
			lines(`00:01.0 E ListPodSandbox with filter "nil" from runtime service failed: rpc error: code = 4 desc = context deadline exceeded`),
			[]string{"00:01.000 end  cri.call: ListPodSandbox DeadlineExceeded deadline 0s"},
		},
		"a pod that a node under pressure refuses": {
			lines(`00:01.0 W Failed to admit pod web_shop(11111111-2222-3333-4444-555555555555) - node has conditions: [DiskPressure]`),
			[]string{"00:01.000 web decision: admission reject shop/web", "00:01.000  decision: eviction short disk space"},
		},
		"an eviction by an old kubelet": {
			lines(
				`00:01.0 I eviction manager: must evict pod(s) to reclaim ephemeral-storage`,
				`00:01.1 I eviction manager: pod web_shop(11111111-2222-3333-4444-555555555555) is evicted successfully`,
			),
			[]string{
				"00:01.000  decision: " + string(trace.ByEviction) + " " + string(trace.VerdictShort) + " ephemeral-storage",
				"00:01.100 web decision: " + string(trace.ByEviction) + " " + string(trace.VerdictEnd) + " shop/web", "00:01.100 web pod.milestone: terminating",
			},
		},
		"a kubelet of 1.19": {
			lines(
				`00:01.0 I SyncLoop (ADD, "api"): "web_shop(11111111-2222-3333-4444-555555555555), b_shop(21111111-2222-3333-4444-555555555555)"`,
				`00:01.1 I No sandbox for pod "web_shop(11111111-2222-3333-4444-555555555555)" can be found. Need to start a new one`,
				`00:02.0 E Error syncing pod 11111111-2222-3333-4444-555555555555 ("web_shop(11111111-2222-3333-4444-555555555555)"), skipping: failed to "StartContainer" for "main" with CrashLoopBackOff: "back-off 10s restarting failed container=main pod=web_shop(u)"`,
				`00:03.0 I SyncLoop (DELETE, "api"): "web_shop(11111111-2222-3333-4444-555555555555)"`,
			),
			[]string{
				"00:01.000 web pod.milestone: seen", "00:01.000 b pod.milestone: seen", "00:02.000 web decision: restart wait main",
				"00:02.000 begin web pod.wait: backoff container main CrashLoopBackOff", "00:03.000 end web pod.wait: backoff container main CrashLoopBackOff 1s",
				"00:03.000 web pod.milestone: terminating",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			recs, _, _ := all(t, c.log)
			if diff := cmp.Diff(c.want, told(recs)); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			for i := range recs {
				if recs[i].Observer != trace.ObserverKubeletLog || recs[i].Precision == 0 || recs[i].Seq != uint64(i+1) {
					t.Errorf("record %d: seq %d, observer %s, precision %d", i, recs[i].Seq, recs[i].Observer, recs[i].Precision)
				}
			}
		})
	}
}

// TestUpdate says what an iteration of the loop was for.
func TestUpdate(t *testing.T) {
	recs, _, _ := all(t, lines(`00:01.0 I "SyncLoop UPDATE" source="api" pods=["shop/web"]`))
	want := &trace.Loop{N: 1, Case: trace.LoopConfig, Op: trace.LoopUpdate, Pods: 1, Detail: "shop/web"}
	if len(recs) != 1 {
		t.Fatalf("%d records, want 1", len(recs))
	}
	if diff := cmp.Diff(want, recs[0].Event); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGap says that what has begun before a gap is not ended by what follows.
func TestGap(t *testing.T) {
	recs, lost, got := all(t, "Nov 22 08:00:01 n kubelet[1]: "+strings.TrimSuffix(lines(`00:01.0 I "Creating PodSandbox for pod" pod="shop/web"`), "\n")+
		"\nNov 22 08:00:01 n systemd-journald[9]: Suppressed 12 messages from kubelet.service\n"+
		"Nov 22 08:00:01 n kubelet[1]: "+lines(`00:02.0 I "Created PodSandbox for pod" pod="shop/web"`))
	if lost != 12 || got.Lost != 12 {
		t.Errorf("lost %d, told %+v, want 12", lost, got)
	}
	for i := range recs {
		if recs[i].Edge == trace.EdgeEnd {
			t.Errorf("%v ends over the gap", recs[i])
		}
	}
}

// TestUnknown says that a line that no rule knows is kept, without what may be private.
func TestUnknown(t *testing.T) {
	recs, _, told := all(t, lines(`00:01.0 W "Never heard of" pod="shop/web" a="b" patch="secret"`))
	if len(recs) != 1 {
		t.Fatalf("%d records, want 1", len(recs))
	}
	want := &trace.Log{Level: "warn", Message: "Never heard of", Attrs: []trace.KV{{K: "pod", V: "shop/web"}, {K: "a", V: "b"}}}
	if diff := cmp.Diff(want, recs[0].Event); diff != "" || recs[0].Pod.Name != "web" {
		t.Errorf("pod %v (-want +got):\n%s", recs[0].Pod, diff)
	}
	if told.Level != 0 || told.Entries != 1 {
		t.Errorf("told %+v", told)
	}
}

// causes are the ids that are found for each pod of a log.
func causes(t *testing.T, text string) map[string][]string {
	t.Helper()
	recs, lost, _ := all(t, text)
	s := session.New(session.Options{})
	s.Lost(lost)
	for i := range recs {
		s.Apply(&recs[i])
	}
	out := map[string][]string{}
	for run, c := range s.Cases(s.Last()) {
		var ids []string
		for _, f := range why.Explain(c).Findings {
			if !slices.Contains(ids, f.ID) {
				ids = append(ids, f.ID)
			}
		}
		out[run.Pod.Name] = append(out[run.Pod.Name], ids...)
	}
	return out
}

func TestCauses(t *testing.T) {
	for name, c := range map[string]struct {
		log  string
		want map[string][]string
	}{
		"the node shuts down": {
			lines(
				`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`, `00:05.0 I "Shutdown manager killing pod with gracePeriod" pod="shop/web" gracePeriod=20`,
				`00:06.0 I "Shutdown manager finished killing pod" pod="shop/web"`, `00:07.0 I "other"`,
			),
			map[string][]string{"web": {"KL43"}},
		},
		"preempted, until 1.33": {
			lines(`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`, `00:06.0 I "Pod evicted successfully" pod="shop/web"`, `00:07.0 I "other"`),
			map[string][]string{"web": {"KL22"}},
		},
		"a block volume that cannot be unmapped": {
			lines(`00:01.0 E Operation for "{volumeName:kubernetes.io/csi/d^v podName:11111111-2222-3333-4444-555555555555 nodeName:}" failed. No retries permitted until 2026-11-22 08:00:01.5 +0000 UTC m=+1.5 (durationBeforeRetry 500ms). Error: "UnmapVolume.UnmapBlockVolume failed for volume \"v\" (UniqueName: \"kubernetes.io/csi/d^v\") pod \"11111111-2222-3333-4444-555555555555\" (UID: \"11111111-2222-3333-4444-555555555555\") : target is busy"`),
			map[string][]string{"11111111-2222-3333-4444-555555555555": {"KL17"}},
		},
		"one that can, then": {
			lines(
				`00:01.0 E Operation for "{volumeName:kubernetes.io/csi/d^v podName:11111111-2222-3333-4444-555555555555 nodeName:}" failed. No retries permitted until 2026-11-22 08:00:01.5 +0000 UTC m=+1.5 (durationBeforeRetry 500ms). Error: "UnmountVolume.TearDown failed for volume \"v\" (UniqueName: \"kubernetes.io/csi/d^v\") pod \"11111111-2222-3333-4444-555555555555\" (UID: \"11111111-2222-3333-4444-555555555555\") : target is busy"`,
				`00:01.5 I "Pod removed broadcasted" podUID="11111111-2222-3333-4444-555555555555"`,
			),
			map[string][]string{"11111111-2222-3333-4444-555555555555": nil},
		},
		"a directory that is left": {
			lines(`00:01.0 E "There were many similar errors. Turn up verbosity to see them." err="orphaned pod \"11111111-2222-3333-4444-555555555555\" found, but failed to rmdir() volume at path /x: directory not empty" numErrs=1`),
			map[string][]string{"11111111-2222-3333-4444-555555555555": {"KL18"}},
		},
		"one in which something stays mounted": {
			lines(
				`00:01.0 I "Orphaned pod found, but volumes are not cleaned up" podUID="11111111-2222-3333-4444-555555555555"`,
				`00:03.0 I "Pod found, but volumes are still mounted on disk" podUID="11111111-2222-3333-4444-555555555555" paths=["/x/pods/u/volumes/p/v"]`,
				`00:03.0 I "Orphaned pod found, but volumes are not cleaned up" podUID="11111111-2222-3333-4444-555555555555"`,
				`00:11.0 I "Orphaned pod found, but volumes are not cleaned up" podUID="11111111-2222-3333-4444-555555555555"`,
			),
			map[string][]string{"11111111-2222-3333-4444-555555555555": {"KL18"}},
		},
		"one in which something was mounted for a moment": {
			lines(
				`00:01.0 I "Orphaned pod found, but volumes are not cleaned up" podUID="11111111-2222-3333-4444-555555555555"`,
				`00:09.0 I "Orphaned pod found, but volumes are not cleaned up" podUID="11111111-2222-3333-4444-555555555555"`,
				`00:11.0 I "Cleaned up orphaned pod volumes dir" podUID="11111111-2222-3333-4444-555555555555" path="/x"`,
			),
			map[string][]string{"11111111-2222-3333-4444-555555555555": nil},
		},
		"one that stayed, and went": {
			lines(
				`00:01.0 I "Orphaned pod found, but volumes are not cleaned up" podUID="11111111-2222-3333-4444-555555555555"`,
				`00:11.0 I "Orphaned pod found, but volumes are not cleaned up" podUID="11111111-2222-3333-4444-555555555555"`,
				`00:15.0 I "Cleaned up orphaned pod volumes dir" podUID="11111111-2222-3333-4444-555555555555" path="/x"`,
			),
			map[string][]string{"11111111-2222-3333-4444-555555555555": nil},
		},
		"a pod that is only mentioned, beside a runtime that does not answer": {
			lines(
				`00:01.0 I "PLEG: Write status" pod="shop/near"`,
				`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:02.0 I "Creating PodSandbox for pod" pod="shop/web"`,
				`00:12.0 E "CreatePodSandbox for pod failed" err="rpc error: code = DeadlineExceeded desc = context deadline exceeded" pod="shop/web"`,
			),
			map[string][]string{"near": nil, "web": {"KL15"}},
		},
		"a runtime that does not answer a housekeeping": {
			lines(
				`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:06.0 E "ListPodSandbox with filter from runtime service failed" err="rpc error: code = DeadlineExceeded desc = context deadline exceeded" filter="state:{}"`,
				`00:06.0001 E "Failed cleaning pods" err="rpc error: code = DeadlineExceeded desc = context deadline exceeded"`,
				`00:06.0002 E "Housekeeping took longer than expected" err="housekeeping took too long" expected="1s" actual="4.0002s"`,
				`00:08.0 I "other"`,
			),
			map[string][]string{"web": {"KL15", "KL16"}},
		},
		"a housekeeping that takes long, after a call that failed": {
			lines(
				`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:02.0 E "ListPodSandbox with filter from runtime service failed" err="rpc error: code = DeadlineExceeded desc = context deadline exceeded" filter=""`,
				`00:06.0002 E "Housekeeping took longer than expected" err="housekeeping took too long" expected="1s" actual="4.0002s"`,
				`00:08.0 I "other"`,
			),
			map[string][]string{"web": {"KL16"}},
		},
		"volumes that do not come": {
			lines(
				`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:01.5 I "Waiting for volumes to attach and mount for pod" pod="shop/web"`,
				`00:41.5 E "Error syncing pod, skipping" err="unmounted volumes=[data], unattached volumes=[data], failed to process volumes=[]: context deadline exceeded" pod="shop/web" podUID="u1"`,
				`00:42.0 I "Waiting for volumes to attach and mount for pod" pod="shop/web"`,
				`00:50.0 I "other"`,
			),
			map[string][]string{"web": {"KL10"}},
		},
		"a DRA driver that is not there": {
			lines(
				`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:01.5 E "Failed to prepare dynamic resources" err="prepare dynamic resources: DRA driver gpu.example.com is not registered" pod="shop/web"`,
				`00:50.0 I "other"`,
			),
			map[string][]string{"web": {"KL44"}},
		},
		"a sandbox that fails at the log's end": {
			lines(`00:01.0 E "Failed to create sandbox for pod" err="rpc error: code = Unknown desc = failed to setup network for sandbox \"ab\": plugin type=\"bridge\" failed (add): no" pod="shop/web"`),
			map[string][]string{"web": {"KL07"}},
		},
		"a folded line of an old kubelet": {
			lines(`00:01.0 E CreatePodSandbox for pod "web_shop(11111111-2222-3333-4444` + "\n" + `-555555555555)" failed: rpc error: code = Unknown desc = failed to setup network for sandbox "ab": no`),
			map[string][]string{"web": {"KL07"}},
		},
		"a node that was started again": {
			lines(
				`00:01.0 I "Starting kubelet main sync loop"`,
				`00:02.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:02.2 I "No ready sandbox for pod can be found. Need to start a new one" pod="shop/web"`,
				`00:05.0 I "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"u1","Type":"ContainerStarted","Data":"`+strings.Repeat("a", 64)+`"}`,
				`00:06.0 I "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"u1","Type":"ContainerStarted","Data":"`+strings.Repeat("b", 64)+`"}`,
				`00:30.0 I "other"`,
			),
			map[string][]string{"web": nil},
		},
		"a sandbox that went later": {
			lines(
				`00:02.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:02.2 I "No ready sandbox for pod can be found. Need to start a new one" pod="shop/web"`,
				`00:05.0 I "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"u1","Type":"ContainerStarted","Data":"`+strings.Repeat("a", 64)+`"}`,
				`00:06.0 I "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"u1","Type":"ContainerStarted","Data":"`+strings.Repeat("b", 64)+`"}`,
				`00:30.0 I "other"`,
			),
			map[string][]string{"web": {"KL14"}},
		},
		"a disk that is attached late, at V3": {
			lines(
				`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:01.002 I "Waiting for volumes to attach and mount for pod" pod="shop/web"`,
				`00:01.1 I "operationExecutor.VerifyControllerAttachedVolume started `+volumeA,
				`00:01.2 I "operationExecutor.MountVolume started `+volumeA,
				`00:01.21 I "MountVolume.SetUp succeeded `+volumeA,
				`00:09.1 I "operationExecutor.VerifyControllerAttachedVolume started `+volumeDisk,
				`00:09.106 I "Controller attach succeeded `+volumeDisk,
				`00:09.2 I "operationExecutor.MountVolume started `+volumeDisk,
				`00:09.3 I "MountVolume.SetUp succeeded `+volumeDisk,
				`00:09.502 I "All volumes are attached and mounted for pod" pod="shop/web"`,
				`00:11.0 I "Event occurred" object="shop/web" fieldPath="spec.containers{main}" kind="Pod" apiVersion="v1" type="Normal" reason="Started" message="Container started"`,
				`00:40.0 I "other"`,
			),
			map[string][]string{"web": {"KL10"}},
		},
		"a disk that is attached late, at V2": {
			lines(
				`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:01.1 I "operationExecutor.VerifyControllerAttachedVolume started `+volumeA,
				`00:01.2 I "operationExecutor.MountVolume started `+volumeA,
				`00:01.21 I "MountVolume.SetUp succeeded `+volumeA,
				`00:09.1 I "operationExecutor.VerifyControllerAttachedVolume started `+volumeDisk,
				`00:09.106 I "Controller attach succeeded `+volumeDisk,
				`00:09.2 I "operationExecutor.MountVolume started `+volumeDisk,
				`00:09.3 I "MountVolume.SetUp succeeded `+volumeDisk,
				`00:11.0 I "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"11111111-2222-3333-4444-555555555555","Type":"ContainerStarted","Data":"`+strings.Repeat("a", 64)+`"}`,
				`00:11.0 I "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"11111111-2222-3333-4444-555555555555","Type":"ContainerStarted","Data":"`+strings.Repeat("b", 64)+`"}`,
				`00:40.0 I "other"`,
			),
			map[string][]string{"web": {"KL10"}},
		},
		"a disk that is attached late, alone, at V2": {
			lines(
				`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:01.1 I "No sandbox for pod can be found. Need to start a new one" pod="shop/web"`,
				`00:09.1 I "operationExecutor.VerifyControllerAttachedVolume started `+volumeDisk,
				`00:09.106 I "Controller attach succeeded `+volumeDisk,
				`00:09.2 I "operationExecutor.MountVolume started `+volumeDisk,
				`00:09.3 I "MountVolume.SetUp succeeded `+volumeDisk,
				`00:09.4 I "No sandbox for pod can be found. Need to start a new one" pod="shop/web"`,
				`00:11.0 I "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"11111111-2222-3333-4444-555555555555","Type":"ContainerStarted","Data":"`+strings.Repeat("a", 64)+`"}`,
				`00:11.0 I "SyncLoop (PLEG): event for pod" pod="shop/web" event={"ID":"11111111-2222-3333-4444-555555555555","Type":"ContainerStarted","Data":"`+strings.Repeat("b", 64)+`"}`,
				`00:40.0 I "other"`,
			),
			map[string][]string{"web": {"KL10"}},
		},
		"a disk that is there": {
			lines(
				`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:01.002 I "Waiting for volumes to attach and mount for pod" pod="shop/web"`,
				`00:01.1 I "operationExecutor.VerifyControllerAttachedVolume started `+volumeDisk,
				`00:01.106 I "Controller attach succeeded `+volumeDisk,
				`00:01.2 I "operationExecutor.MountVolume started `+volumeDisk,
				`00:01.21 I "MountVolume.SetUp succeeded `+volumeDisk,
				`00:01.302 I "All volumes are attached and mounted for pod" pod="shop/web"`,
				`00:04.0 I "Event occurred" object="shop/web" fieldPath="spec.containers{main}" kind="Pod" apiVersion="v1" type="Normal" reason="Started" message="Container started"`,
				`00:40.0 I "other"`,
			),
			map[string][]string{"web": nil},
		},
		"a finalizer": {
			lines(
				`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:01.5 I "SyncPod enter" pod="shop/web" podUID="u1"`,
				`00:02.0 I "SyncLoop DELETE" source="api" pods=["shop/web"]`,
				`00:03.0 I "Pod removed broadcasted" podUID="u1"`,
				`00:03.0 I "Pod is complete and the worker can now stop" pod="shop/web" podUID="u1"`,
				`00:03.1 I "Pod fully terminated and removed from etcd" pod="shop/web"`,
				`00:09.0 I "SyncLoop REMOVE" source="api" pods=["shop/web"]`,
			),
			map[string][]string{"web": {"KL17"}},
		},
		"one that is removed": {
			lines(`00:01.0 I "Orphaned pod found, removing" podUID="11111111-2222-3333-4444-555555555555"`),
			map[string][]string{},
		},
		"a name that is reserved": {
			lines(
				`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`,
				`00:30.0 E "Failed to create sandbox for pod" err="rpc error: code = DeadlineExceeded desc = context deadline exceeded" pod="shop/web"`,
				`00:30.002 E "Error syncing pod, skipping" err="failed to \"CreatePodSandbox\" for \"web_shop(u1)\" with CreatePodSandboxError: \"rpc error: code = DeadlineExceeded desc = context deadline exceeded\"" pod="shop/web" podUID="u1"`,
				`00:45.0 E "Failed to create sandbox for pod" err="rpc error: code = Unknown desc = failed to reserve sandbox name \"web_shop_u1_0\": name \"web_shop_u1_0\" is reserved for \"abc\"" pod="shop/web"`,
				`00:45.001 E "Error syncing pod, skipping" err="failed to \"CreatePodSandbox\" for \"web_shop(u1)\" with CreatePodSandboxError: \"rpc error: code = Unknown desc = failed to reserve sandbox name \\\"web_shop_u1_0\\\": name \\\"web_shop_u1_0\\\" is reserved for \\\"abc\\\"\"" pod="shop/web" podUID="u1"`,
				`00:59.0 I "other"`,
			),
			map[string][]string{"web": {"KL08"}},
		},
		"an image back-off alone": {
			lines(`00:01.0 E "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"main\" with ImagePullBackOff: \"Back-off pulling image \\\"r/i:1\\\"\"" pod="shop/web" podUID="u1"`),
			map[string][]string{"web": {"KL05"}},
		},
		"the image of a sandbox": {
			lines(`00:01.0 E "Failed to create sandbox for pod" err="rpc error: code = DeadlineExceeded desc = failed to get sandbox image \"r.io/pause:3\": failed to pull image \"r.io/pause:3\": dial tcp 10.0.0.1:443: i/o timeout" pod="shop/web"`),
			map[string][]string{"web": {"KL05"}},
		},
		"the image of a sandbox, by a kubelet of 1.5": {
			lines(
				`00:01.0 E Error syncing pod 0123456789abcdef0123456789abcdef, skipping: failed to "StartContainer" for "POD" with ImagePullBackOff: "Back-off pulling image \"r.io/pause:3\""`,
				`00:01.1 I SyncLoop (UPDATE, "api"): "web_shop(0123456789abcdef0123456789abcdef)"`,
			),
			map[string][]string{"web": {"KL05"}},
		},
		"a pod that cannot be killed": {
			lines(`00:01.0 E "Error syncing pod, skipping" err="[failed to \"KillContainer\" for \"main\" with KillContainerError: \"rpc error: code = DeadlineExceeded desc = context deadline exceeded\", failed to \"KillPodSandbox\" for \"u1\" with KillPodSandboxError: \"rpc error: code = DeadlineExceeded desc = context deadline exceeded\"]" pod="shop/web" podUID="u1"`),
			map[string][]string{"web": {"KL15", "KL17"}},
		},
		"a sandbox that cannot be stopped for a new one": {
			lines(
				`00:01.0 E "killPodWithSyncResult failed" err="failed to \"KillPodSandbox\" for \"u1\" with KillPodSandboxError: \"rpc error: code = Unknown desc = no shim\""`,
				`00:01.0 E "Error syncing pod, skipping" err="failed to \"KillPodSandbox\" for \"u1\" with KillPodSandboxError: \"rpc error: code = Unknown desc = no shim\"" pod="shop/web" podUID="u1"`,
			),
			map[string][]string{"web": nil},
		},
		"a runtime that does not answer": {
			lines(`00:01.0 E "Error syncing pod, skipping" err="rpc error: code = Unavailable desc = connection error: dial unix /run/x.sock: connect: connection refused" pod="shop/web" podUID="u1"`),
			map[string][]string{"web": {"KL15"}},
		},
		"a ConfigMap that an environment needs": {
			lines(`00:01.0 E "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"main\" with CreateContainerConfigError: \"configmap \\\"a\\\" not found\"" pod="shop/web" podUID="u1"`),
			map[string][]string{"web": {"KL34"}},
		},
		"storage that does not come": {
			lines(`00:01.0 E "Error syncing pod, skipping" err="unmounted volumes=[data], unattached volumes=[data kube-api-access-x]: timed out waiting for the condition" pod="shop/web" podUID="u1"`, `00:03.0 I "other"`),
			map[string][]string{"web": {"KL10"}},
		},
		"a token that does not come": {
			lines(`00:01.0 E "Error syncing pod, skipping" err="unmounted volumes=[kube-api-access-x], unattached volumes=[data kube-api-access-x]: timed out waiting for the condition" pod="shop/web" podUID="u1"`, `00:03.0 I "other"`),
			map[string][]string{"web": nil},
		},
		"a log of another year than its file's": {
			lines(
				`00:01.0 E Operation for "{volumeName:kubernetes.io/configmap/11111111-2222-3333-4444-555555555555-a podName:11111111-2222-3333-4444-555555555555 nodeName:}" failed. No retries permitted until 2021-11-22 08:02:03 -0500 CDT m=+1.5 (durationBeforeRetry 2m2s). Error: "MountVolume.SetUp failed for volume \"a\" (UniqueName: \"kubernetes.io/configmap/11111111-2222-3333-4444-555555555555-a\") pod \"web\" (UID: \"11111111-2222-3333-4444-555555555555\") : configmap \"a\" not found"`,
				`00:09.0 I "other"`,
			),
			map[string][]string{"web": {"KL11"}},
		},
		"a pod whose namespace is told later": {
			lines(
				`00:01.0 E Operation for "{volumeName:kubernetes.io/csi/d^v podName: nodeName:}" failed. No retries permitted until 2026-11-22 08:02:03 +0000 UTC m=+1.5 (durationBeforeRetry 2m2s). Error: "MountVolume.MountDevice failed for volume \"v\" (UniqueName: \"kubernetes.io/csi/d^v\") pod \"web\" (UID: \"11111111-2222-3333-4444-555555555555\") : driver name d not found in the list of registered CSI drivers"`,
				`00:31.0 E "Unable to attach or mount volumes for pod; skipping pod" err="unmounted volumes=[data], unattached volumes=[data]: timed out waiting for the condition" pod="shop/web"`,
			),
			map[string][]string{"web": {"KL10"}},
		},
		"a claim without a volume": {
			lines(`00:01.0 E "Error syncing pod, skipping" err="unmounted volumes=[data], unattached volumes=[data]: error processing PVC shop/data: PVC is not bound" pod="shop/web" podUID="11111111-2222-3333-4444-555555555555"`),
			map[string][]string{"web": {"KL11"}},
		},
		"a runtime that is away": {
			lines(
				`00:01.0 E "Error syncing pod, skipping" err="failed to \"CreatePodSandbox\" for \"web_shop(u1)\" with CreatePodSandboxError: \"rpc error: code = Unavailable desc = transport is closing\"" pod="shop/web" podUID="u1"`,
				`00:16.0 E "Error syncing pod, skipping" err="failed to \"CreatePodSandbox\" for \"web_shop(u1)\" with CreatePodSandboxError: \"rpc error: code = Unavailable desc = transport is closing\"" pod="shop/web" podUID="u1"`,
			),
			map[string][]string{"web": {"KL15"}},
		},
		"a name that CRI-O has reserved": {
			lines(
				`00:01.0 E Error syncing pod 11111111-2222-3333-4444-555555555555 (shop/web), skipping: failed to "CreatePodSandbox" for "web_shop(11111111-2222-3333-4444-555555555555)" with CreatePodSandboxError: "rpc error: code = DeadlineExceeded desc = context deadline exceeded"`,
				`00:16.0 E Error syncing pod 11111111-2222-3333-4444-555555555555 (shop/web), skipping: failed to "CreatePodSandbox" for "web_shop(11111111-2222-3333-4444-555555555555)" with CreatePodSandboxError: "rpc error: code = Unknown desc = error reserving pod name k8s_web_shop_u_0 for id ab: name is reserved"`,
			),
			map[string][]string{"web": {"KL08"}},
		},
		"a container's name that is reserved": {
			lines(
				`00:01.0 E "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"main\" with CreateContainerError: \"context deadline exceeded\"" pod="shop/web" podUID="11111111-2222-3333-4444-555555555555"`,
				`00:13.0 E "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"main\" with CreateContainerError: \"failed to reserve container name \\\"main_0\\\": name \\\"main_0\\\" is reserved for \\\"ab\\\"\"" pod="shop/web" podUID="11111111-2222-3333-4444-555555555555"`,
			),
			map[string][]string{"web": {"KL08"}},
		},
		"a network that cannot be taken away": {
			lines(`00:01.0 E "Error syncing pod, skipping" err="failed to \"KillPodSandbox\" for \"11111111-2222-3333-4444-555555555555\" with KillPodSandboxError: \"rpc error: code = Unknown desc = failed to destroy network for sandbox \\\"ab\\\": plugin type=\\\"bridge\\\" failed (delete): no\"" pod="shop/web" podUID="11111111-2222-3333-4444-555555555555"`),
			map[string][]string{"web": {"KL17"}},
		},
		"a volume that can be taken away in the end": {
			lines(
				`00:01.0 I "SyncLoop DELETE" source="api" pods=["shop/web"]`,
				`00:01.1 I "operationExecutor.UnmountVolume started for volume \"v\" (UniqueName: \"kubernetes.io/csi/d^v\") pod \"11111111-2222-3333-4444-555555555555\" (UID: \"11111111-2222-3333-4444-555555555555\") " pod="shop/web"`,
				`00:01.2 E Operation for "{volumeName:kubernetes.io/csi/d^v podName:11111111-2222-3333-4444-555555555555 nodeName:}" failed. No retries permitted until 2026-11-22 08:00:01.7 +0000 UTC m=+1.5 (durationBeforeRetry 500ms). Error: "UnmountVolume.TearDown failed for volume \"v\" (UniqueName: \"kubernetes.io/csi/d^v\") pod \"11111111-2222-3333-4444-555555555555\" (UID: \"11111111-2222-3333-4444-555555555555\") : target is busy"`,
				`00:01.8 I "UnmountVolume.TearDown succeeded for volume \"kubernetes.io/csi/d^v\" (OuterVolumeSpecName: \"v\") pod \"11111111-2222-3333-4444-555555555555\" (UID: \"11111111-2222-3333-4444-555555555555\"). InnerVolumeSpecName \"v\". PluginName \"kubernetes.io/csi\", VolumeGIDValue \"\""`,
				`00:09.0 I "other"`,
			),
			map[string][]string{"web": nil},
		},
		"a line that a pager cut": {
			lines(`00:01.0 E "Error syncing pod, skipping" err="failed to \"CreatePodSandbox\" for \"web_shop(11111111-2222-3333-4444-555555555555)\" with CreatePodSandboxError: \"rpc error: code = DeadlineExceeded desc = context deadline ex>`),
			map[string][]string{"web": {"KL15"}},
		},
		"a name that is reserved as the log begins": {
			lines(
				`00:45.0 E "Failed to create sandbox for pod" err="rpc error: code = Unknown desc = failed to reserve sandbox name \"web_shop_u1_0\": name \"web_shop_u1_0\" is reserved for \"abc\"" pod="shop/web"`,
			),
			map[string][]string{"web": {"KL08"}},
		},
		"eviction": {
			lines(`00:01.0 I "Eviction manager: pod is evicted successfully" pod="shop/web"`, `00:02.0 I "other"`),
			map[string][]string{"web": {"KL22"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, causes(t, c.log)); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(lines(`00:01.0 I "SyncLoop ADD" source="api" pods=["shop/web"]`, `00:01.0 E "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"main\" with ErrImagePull: \"x\"" pod="shop/web"`))
	f.Add(lines(`00:01.0 I SyncLoop (ADD, "api"): "web_shop(11111111-2222-3333-4444-555555555555)"`, `59:01.0 I "SyncLoop REMOVE" pods=["shop/web"]`, `00:02.0 I "Killing container with a grace period" pod="shop/web" containerName="a" gracePeriod=-1`))
	f.Add(lines(`00:01.0 I "operationExecutor.VerifyControllerAttachedVolume started `+volumeA, `00:02.0 I "Created PodSandbox for pod" pod="shop/web"`))
	f.Fuzz(func(t *testing.T, text string) {
		recs, _, _ := all(t, text)
		for i := range recs {
			if recs[i].Dur < 0 || recs[i].Event == nil {
				t.Fatalf("%+v", recs[i])
			}
		}
	})
}
