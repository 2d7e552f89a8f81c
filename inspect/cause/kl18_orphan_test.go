package cause_test

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestOrphanedVolume(t *testing.T) {
	kept := func(uid, verdict string) *trace.Decision {
		return &trace.Decision{
			By: trace.ByOrphans, Subject: "pod " + uid, Verdict: trace.Verdict(verdict),
			Reason: "/var/lib/kubelet/pods/" + uid + "/volumes/kubernetes.io~csi/pvc-1/mount is still mounted (ext4)",
			Orphan: uid, Path: "/var/lib/kubelet/pods/" + uid, Volume: "pvc-1",
		}
	}
	attach := trace.Wait{For: trace.WaitAttach, Target: trace.Target{Kind: trace.TargetVolume, Name: "pvc-1"}, Note: "ebs.csi.aws.com has to attach vol-1"}
	run(t, "KL18", []script{
		{
			name: "the pod's own", want: "its directory is left on the node, as its volumes cannot be removed: /var/lib/kubelet/pods/u-web/", found: true, current: true,
			write: func(s *casetest.Script) {
				s.Milestone(10*sec, trace.MilestoneGone)
				s.PointOf(node(), 60*sec, 0, kept("u-web", "keep"))
			},
		},
		{
			name: "one that the pod needs", want: "it waited 20.0s so far for volume pvc-1, which is still mounted for pod u-old", cost: 20 * sec, current: true, now: 20 * sec, confidence: cause.Likely,
			write: func(s *casetest.Script) {
				s.Wait(0, casetest.Open, volumes(s, 0, casetest.Open, trace.Volume{Name: "pvc-1", Plugin: csiPlugin}), attach)
				s.PointOf(node(), 5*sec, 0, kept("u-old", "keep"))
			},
		},
		{
			name: "not: it went in the end", found: true,
			write: func(s *casetest.Script) {
				s.PointOf(node(), 60*sec, 0, kept("u-web", "keep"))
				s.PointOf(node(), 120*sec, 0, kept("u-web", "remove"))
			},
		},
		{
			name: "not: another volume than the one waited for", now: 20 * sec,
			write: func(s *casetest.Script) {
				wait := attach
				wait.Target.Name = "pvc-2"
				s.Wait(0, casetest.Open, volumes(s, 0, casetest.Open, trace.Volume{Name: "pvc-2", Plugin: csiPlugin}), wait)
				s.PointOf(node(), 5*sec, 0, kept("u-old", "keep"))
			},
		},
	})
}
