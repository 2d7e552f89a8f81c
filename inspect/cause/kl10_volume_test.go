package cause_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

func failedEvent(reason, message string, class trace.FailureClass) *trace.NodeEvent {
	return &trace.NodeEvent{Type: trace.EventWarning, Reason: reason, Message: message, Volume: "pvc-1", Class: class}
}

// TestEventsAsEvidence: where the log shows the volumes, an Event costs nothing, and is evidence.
func TestEventsAsEvidence(t *testing.T) {
	s := casetest.New(t)
	volumes(s, 0, 4*sec, trace.Volume{Name: "pvc-1", Plugin: csiPlugin})
	s.Point(sec, 0, failedEvent("FailedMount", `MountVolume.SetUp failed for volume "pvc-1" : busy`, ""))
	s.Point(2*sec, 0, failedEvent("FailedMount", `MountVolume.SetUp failed for volume "keys" : secret "keys" not found`, trace.FailObject))
	start(s, 4*sec, "volumes")
	f := casetest.One(t, s.Case(0), "KL10")
	told := func(e cause.Evidence) bool {
		return e.Text == `Event FailedMount: MountVolume.SetUp failed for volume "pvc-1" : busy`
	}
	if f == nil || f.Cost != 4*sec || len(f.Evidence) != 2 || !slices.ContainsFunc(f.Evidence, told) {
		t.Errorf("%+v", f)
	}
}

func TestVolumeWait(t *testing.T) {
	data := trace.Volume{Name: "pvc-1", Plugin: csiPlugin}
	attach := trace.Wait{For: trace.WaitAttach, Target: trace.Target{Kind: trace.TargetVolume, Name: "pvc-1"}, Note: "ebs.csi.aws.com has to attach vol-1 (VolumeAttachment csi-1)"}
	run(t, "KL10", []script{
		{
			name: "attach", want: "it waited 8.00s for volume pvc-1: ebs.csi.aws.com has to attach vol-1 (VolumeAttachment csi-1)", cost: 8 * sec,
			write: func(s *casetest.Script) {
				s.Wait(100*ms, 7900*ms, volumes(s, 0, 8*sec, data), attach)
				start(s, 8*sec, "volumes")
			},
		},
		{
			name: "another SELinux label, still", now: 60 * sec, cost: 60 * sec, current: true,
			want: "it waited 1m00s so far for volume pvc-1: pod shop/a has it with the SELinux label a, and this pod needs the SELinux label b",
			write: func(s *casetest.Script) {
				act := s.Action(0, casetest.Open, trace.Action{ID: "volumes", Verb: trace.VerbVolumes})
				s.Wait(0, casetest.Open, act, trace.Wait{
					For: trace.WaitLabel, Target: trace.Target{Kind: trace.TargetVolume, Name: "pvc-1"},
					Note: "pod shop/a has it with the SELinux label a, and this pod needs the SELinux label b",
				})
			},
		},
		{
			name: "attach, still", want: "it waited 1m00s so far for volume pvc-1", cost: 60 * sec, current: true, now: 60 * sec,
			write: func(s *casetest.Script) {
				s.Wait(0, casetest.Open, volumes(s, 0, casetest.Open, data), attach)
			},
		},
		{
			name: "the driver", want: "it waited 4.00s for NodeStageVolume of the CSI driver ebs.csi.aws.com for volume pvc-1", cost: 4 * sec,
			write: func(s *casetest.Script) {
				v := volumes(s, 0, 4*sec, data)
				s.Span(100*ms, 3900*ms, v, &trace.CSICall{Driver: "ebs.csi.aws.com", Method: "NodeStageVolume", Code: "OK"})
				start(s, 4*sec, "volumes")
			},
		},
		{
			name: "a login", want: "it waited 4.00s for login of the program iscsiadm for volume disk", cost: 4 * sec,
			write: func(s *casetest.Script) {
				v := volumes(s, 0, 4*sec, trace.Volume{Name: "disk", Plugin: "kubernetes.io/iscsi"})
				s.Span(100*ms, 3900*ms, v, &trace.CSICall{Driver: "iscsiadm", Program: true, Method: "login", Volume: "disk", Code: "OK"})
				start(s, 4*sec, "volumes")
			},
		},
		{
			name: "a mount", want: "it waited 3.00s for the set-up of volume share (kubernetes.io/nfs)", cost: 3 * sec,
			write: func(s *casetest.Script) {
				volumes(s, 0, 3*sec, trace.Volume{Name: "share", Plugin: "kubernetes.io/nfs"})
				start(s, 3*sec, "volumes")
			},
		},
		{
			name: "tries that fail", want: `it waited 10.0s so far for the retry: setup of volume "pvc-1" (kubernetes.io/csi) failed: no such driver`, cost: 10 * sec, current: true, now: 10 * sec,
			write: func(s *casetest.Script) {
				err := `setup of volume "pvc-1" (kubernetes.io/csi) failed: no such driver`
				act := s.Action(0, 10*ms, trace.Action{ID: "volumes", Verb: trace.VerbVolumes, Err: err})
				s.Span(0, 10*ms, act, &trace.Volume{Op: "setup", Name: "pvc-1", Plugin: csiPlugin, Err: err})
				s.Wait(10*ms, casetest.Open, 0, trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRetry}, Cause: "volumes: " + err})
			},
		},
		{
			name: "Events of a dump, and nothing else", want: `it waited 1m30s so far for volume pvc-1: AttachVolume.Attach failed for volume "pvc-1"`, cost: 90 * sec, current: true, now: 100 * sec,
			write: func(s *casetest.Script) {
				for _, at := range []time.Duration{10 * sec, 70 * sec} {
					s.Point(at, 0, failedEvent("FailedAttachVolume", `AttachVolume.Attach failed for volume "pvc-1" : no such disk`, ""))
				}
			},
		},
		{
			name: "Events, and then it starts", want: `it waited 1m00s for volume pvc-1`, cost: 60 * sec,
			write: func(s *casetest.Script) {
				for _, at := range []time.Duration{10 * sec, 70 * sec} {
					s.Point(at, 0, failedEvent("FailedMount", `MountVolume.SetUp failed for volume "pvc-1" : no such device`, ""))
				}
				start(s, 71*sec)
			},
		},
		{
			name: "not: an Event of a Secret (KL11)", now: 100 * sec,
			write: func(s *casetest.Script) {
				for _, at := range []time.Duration{10 * sec, 70 * sec} {
					s.Point(at, 0, failedEvent("FailedMount", `MountVolume.SetUp failed for volume "keys" : secret "keys" not found`, trace.FailObject))
				}
			},
		},
		{
			name: "not: an Event long ago, and the pod went on", now: 300 * sec,
			write: func(s *casetest.Script) {
				s.Point(10*sec, 0, failedEvent("FailedMount", `MountVolume.SetUp failed for volume "pvc-1" : no such device`, ""))
				s.Action(11*sec, casetest.Open, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
			},
		},
		{
			name: "not: another pod's Events", now: 100 * sec,
			write: func(s *casetest.Script) {
				for _, at := range []time.Duration{10 * sec, 70 * sec} {
					s.PointOf(casetest.DB, at, 0, failedEvent("FailedMount", `MountVolume.SetUp failed for volume "pvc-1" : no such device`, ""))
				}
			},
		},
		{
			name: "not: the files change hands (KL09)",
			write: func(s *casetest.Script) {
				v := volumes(s, 0, 6*sec, data)
				s.Point(sec, v, &trace.VolumeProgress{Op: "fsgroup", Files: 1})
				s.Point(6*sec, v, &trace.VolumeProgress{Op: "fsgroup", Files: 6, Done: true})
				start(s, 6*sec, "volumes")
			},
		},
		{
			name: "not: a ConfigMap that is not there (KL11)",
			write: func(s *casetest.Script) {
				v := volumes(s, 0, 5*sec, trace.Volume{Name: "config", Plugin: "kubernetes.io/configmap"})
				s.Wait(0, 5*sec, v, trace.Wait{For: trace.WaitObject, Target: trace.Target{Kind: trace.TargetConfigMap, Namespace: "shop", Name: "app"}})
				start(s, 5*sec, "volumes")
			},
		},
		{
			name: "not: beside the sandbox",
			write: func(s *casetest.Script) {
				volumes(s, 0, 900*ms, data)
				s.Action(0, sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
				start(s, sec, "sandbox", "volumes")
			},
		},
		{
			name: "not: another pod's volume",
			write: func(s *casetest.Script) {
				s.Of(casetest.DB, 0, 5*sec, 0, &data)
				s.Of(casetest.DB, 0, 5*sec, 0, &attach)
				s.Action(0, 5*sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
				start(s, 5*sec, "sandbox")
			},
		},
	})
}

// For a wait because of a label, the remedy is about labels.
func TestLabelRemedy(t *testing.T) {
	s := casetest.New(t)
	act := s.Action(0, 3*sec, trace.Action{ID: "volumes", Verb: trace.VerbVolumes})
	s.Wait(0, 3*sec, act, trace.Wait{For: trace.WaitLabel, Target: trace.Target{Kind: trace.TargetVolume, Name: "pvc-1"}})
	start(s, 3*sec, "volumes")
	if f := casetest.One(t, s.Case(0), "KL10"); f == nil || !strings.Contains(f.Remedy, "seLinuxChangePolicy: Recursive") {
		t.Errorf("%+v, want a remedy about labels", f)
	}
}

func TestVolumeRemedy(t *testing.T) {
	for plugin, want := range map[string]string{
		"kubernetes.io/host-path": "Look at the path on the node",
		"kubernetes.io/nfs":       "Look at the server of the mount",
		"kubernetes.io/iscsi":     "iscsiadm must be installed",
		"kubernetes.io/fc":        "/dev/disk/by-path",
		"kubernetes.io/csi":       "the CSI driver's own log",
	} {
		s := casetest.New(t)
		s.Span(0, 3*sec, s.Action(0, 3*sec, trace.Action{ID: "volumes", Verb: trace.VerbVolumes}), &trace.Volume{Op: trace.VolumeSetup, Name: "data", Plugin: plugin})
		start(s, 3*sec, "volumes")
		f := casetest.One(t, s.Case(0), "KL10")
		if f == nil || !strings.Contains(f.Remedy, want) {
			t.Errorf("%s: %+v, want a remedy with %q", plugin, f, want)
		}
	}
}
