package model

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The last decision says how healthy a volume is; decisions about others, and of others, say nothing of it.
func TestVolumeHealth(t *testing.T) {
	tp := tape.New()
	decide := func(by trace.Decider, volume string, v trace.Verdict, reason string) {
		tp.Point(ms, web, 0, &trace.Decision{By: by, Subject: "volume data", Volume: volume, Verdict: v, Reason: reason})
	}
	started(tp, web, 0, ms)
	tp.Point(ms, web, 0, &trace.Volume{Op: trace.VolumeSetup, Name: "pv", Plugin: "kubernetes.io/csi"})
	is := func(want string) {
		t.Helper()
		all := modelOf(tp).Volumes()
		if len(all) != 1 || all[0].Unhealthy != want {
			t.Errorf("%+v, want %q", all, want)
		}
	}
	is("")
	decide(trace.ByVolumes, "other", trace.VerdictUnhealthy, "x")
	decide(trace.ByOrphans, "pv", trace.VerdictUnhealthy, "x")
	is("")
	decide(trace.ByVolumes, "pv", trace.VerdictUnhealthy, "Degraded (Slow)")
	is("Degraded (Slow)")
	decide(trace.ByVolumes, "pv", trace.VerdictUnhealthy, "Inaccessible (NoPath)")
	is("Inaccessible (NoPath)")
	decide(trace.ByVolumes, "pv", trace.VerdictHealthy, "its CSI driver reports no problem any more")
	is("")
	decide(trace.ByVolumes, "pv", trace.VerdictUnhealthy, "Inaccessible (NoPath)")
	tp.Point(ms, web, 0, &trace.Volume{Op: trace.VolumeTeardown, Name: "pv", Plugin: "kubernetes.io/csi"})
	is("")
}
