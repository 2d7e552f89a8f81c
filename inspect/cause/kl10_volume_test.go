package cause_test

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

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
