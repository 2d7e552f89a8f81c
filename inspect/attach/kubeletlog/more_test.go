package kubeletlog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

// events are the events of one kind that a log tells of.
func events[E trace.Event](t *testing.T, log string) (out []trace.Record) {
	t.Helper()
	recs, _, _ := all(t, log)
	for i := range recs {
		if _, ok := recs[i].Event.(E); ok && recs[i].Edge != trace.EdgeBegin {
			out = append(out, recs[i])
		}
	}
	return out
}

const (
	seen  = `I1123 08:00:00.000000 1 a.go:1] "SyncLoop ADD" source="api" pods=["shop/web"]` + "\n"
	later = `I1123 09:00:00.000000 1 a.go:1] "other"` + "\n"
	begun = `I1123 08:00:00.900000 1 a.go:1] "operationExecutor.VerifyControllerAttachedVolume started for volume \"data\" (UniqueName: \"kubernetes.io/csi/x^y\") pod \"web\" (UID: \"11111111-2222\") " pod="shop/web"
I1123 08:00:01.000000 1 a.go:1] "operationExecutor.MountVolume started for volume \"data\" (UniqueName: \"kubernetes.io/csi/x^y\") pod \"web\" (UID: \"11111111-2222\") " pod="shop/web"` + "\n"
)

// TestOwnership names a change of ownership that took longer than 30 s, and nothing where a mount was long without one.
func TestOwnership(t *testing.T) {
	path := "/var/lib/kubelet/pods/11111111-2222/volumes/kubernetes.io~csi/data/mount"
	warned := `W1123 08:00:31.000000 1 a.go:1] "Setting volume ownership for ` + path + ` and fsGroup set. If the volume has a lot of files then setting volume ownership could be slow"` + "\n"
	further := `W1123 08:01:31.000000 1 a.go:1] "Setting volume ownership for ` + path + `, processed 1234567 files."` + "\n"
	mounted := `I1123 08:02:00.000000 1 a.go:1] "MountVolume.SetUp succeeded for volume \"data\" (UniqueName: \"kubernetes.io/csi/x^y\") pod \"web\" (UID: \"11111111-2222\") " pod="shop/web"` + "\n"
	started := `I1123 08:02:02.000000 1 a.go:1] "Observed pod startup duration" pod="shop/web" podStartE2EDuration="122s"` + "\n"
	for name, c := range map[string]struct {
		log  string
		want []string
	}{
		"long":      {seen + begun + warned + further + mounted + started + later, []string{"KL09"}},
		"goes on":   {seen + begun + warned + further, []string{"KL09"}},
		"near miss": {seen + begun + mounted + started + later, []string{"KL10"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, causes(t, c.log)["web"]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	p := events[*trace.VolumeProgress](t, seen+begun+warned+further+mounted)
	if e, ok := p[len(p)-1].Event.(*trace.VolumeProgress); len(p) != 2 || !ok || e.Files != 1234567 || e.Path != path || p[1].Pod.Name != "web" {
		t.Errorf("got %+v", p)
	}
}

// TestMore sees what further messages tell.
func TestMore(t *testing.T) {
	log := seen + `I1123 08:00:01.000000 1 a.go:1] "Pod cannot start yet" pod="shop/web" podUID="u1"
I1123 08:00:03.000000 1 a.go:1] "SyncPod enter" pod="shop/web" podUID="u1"
I1123 08:00:04.000000 1 a.go:1] "GenericPLEG: Relisting"
I1123 08:00:04.250000 1 a.go:1] "Retrieved pods from runtime" all=true
I1123 08:00:05.000000 1 a.go:1] "Exec-Probe runProbe" pod="shop/web" podUID="u1" containerName="app" execCommand=["true"]
I1123 08:00:05.500000 1 a.go:1] "Probe succeeded" probeType="Readiness" pod="shop/web" podUID="u1" containerName="app"
I1123 08:00:06.000000 1 a.go:1] "Disk usage on image filesystem is over the high threshold, trying to free bytes down to the low threshold" usage=91 highThreshold=85 amountToFree=1 lowThreshold=80
I1123 08:00:07.000000 1 a.go:1] "Removing image to free bytes" imageID="sha256:1" size=7
I1123 08:00:08.000000 1 a.go:1] "Image garbage collection succeeded"
I1123 08:00:09.000000 1 a.go:1] "Status for pod updated successfully" pod="shop/web" statusVersion=3 status={"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}
E1123 08:00:09.500000 1 a.go:1] "Failed to get status for pod" err="Get \"https://h/api/v1/namespaces/shop/pods/web\": dial tcp: connection refused" pod="shop/web" podUID="u1"
E1123 08:00:10.000000 1 a.go:1] "Failed to update lease" err="leases.coordination.k8s.io: timeout"
I1123 08:00:11.000000 1 a.go:1] "Pod resize is deferred; will reevaluate later" pod="shop/web"
I1123 08:00:12.000000 1 a.go:1] "kubernetes.io/csi: calling NodeStageVolume rpc" volID="v1"
I1123 08:00:13.000000 1 a.go:1] "SyncLoop (housekeeping) end" duration="15ms"
` + later
	var got []string
	recs, _, told := all(t, log)
	for i := range recs {
		r := &recs[i]
		if r.Edge == trace.EdgeBegin {
			continue
		}
		switch e := r.Event.(type) {
		case *trace.Wait:
			got = append(got, "wait "+string(e.For)+" "+r.Dur.String())
		case *trace.PLEGRelist:
			got = append(got, "relist "+r.Dur.String())
		case *trace.ProbeAttempt:
			got = append(got, "probe "+string(e.Result)+" "+r.Dur.String())
		case *trace.GC:
			got = append(got, "gc "+r.Dur.String())
		case *trace.StatusPatch:
			what := string(e.Class)
			for _, c := range e.Changed {
				what += c.Name
			}
			got = append(got, "status "+what)
		case *trace.APICall:
			got = append(got, "call "+e.Resource+" "+e.Err)
		case *trace.CSICall:
			got = append(got, "csi "+e.Method+" "+e.Volume)
		case *trace.Decision:
			got = append(got, strings.TrimSpace(string(e.By)+" "+string(e.Verdict)))
		case *trace.Loop:
			if e.Case == trace.LoopHousekeeping {
				got = append(got, "housekeeping "+r.Dur.String())
			}
		}
	}
	want := []string{
		"wait pod 2s", "relist 250ms", "probe success 500ms", "gc.image remove", "gc 2s", "status Ready", "status unreachable", "call leases leases.coordination.k8s.io: timeout",
		"resize Deferred", "csi NodeStageVolume v1", "housekeeping 15ms",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if told.Level != 5 {
		t.Errorf("level %d, want 5", told.Level)
	}
}

// TestThrottledStatus: a start does not wait for the requests about the pod's status, which name the pod, and a token's request names the account.
func TestThrottledStatus(t *testing.T) {
	const url, why = "https://10.0.0.1:6443/api/v1/namespaces/shop/", "client-side throttling, not priority and fairness"
	started := `I1123 08:00:04.000000 1 a.go:1] "Observed pod startup duration" pod="shop/web" podStartE2EDuration="4s"` + "\n"
	for name, c := range map[string]struct {
		line   string
		target trace.TargetKind
		of     trace.Target
	}{
		"status":              {`"Waited before sending request" delay="2s" reason="` + why + `" verb="PATCH" URL="` + url + `pods/web/status"`, trace.TargetStatus, trace.Target{}},
		"status, before 1.33": {`Waited for 2s due to ` + why + `, request: GET:` + url + `pods/web`, trace.TargetStatus, trace.Target{}},
		"token": {
			`"Waited before sending request" delay="2s" reason="` + why + `" verb="POST" URL="` + url + `serviceaccounts/web/token"`,
			trace.TargetClient,
			trace.Target{Kind: trace.TargetToken, Namespace: "shop", Name: "web"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := seen + "I1123 08:00:03.000000 1 a.go:1] " + c.line + "\n" + started + later
			waits := events[*trace.Wait](t, log)
			if len(waits) != 1 {
				t.Fatalf("%d waits", len(waits))
			}
			if w, ok := waits[0].Event.(*trace.Wait); !ok || w.Target.Kind != c.target || w.Request != c.of || waits[0].Dur != 2*time.Second {
				t.Errorf("%+v", waits[0])
			}
			if got := causes(t, log)["web"]; len(got) > 0 {
				t.Errorf("causes %q", got)
			}
		})
	}
}
