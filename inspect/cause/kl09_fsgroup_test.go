package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

const csiPlugin = "kubernetes.io/csi"

// volumes is the step that mounts, with one volume being set up all the time.
func volumes(s *casetest.Script, from, to time.Duration, v trace.Volume) trace.SpanID {
	act := s.Action(from, to, trace.Action{ID: "volumes", Verb: trace.VerbVolumes})
	if v.Op == "" {
		v.Op = "setup"
	}
	return s.Span(from, to, act, &v)
}

func TestOwnership(t *testing.T) {
	data := trace.Volume{Name: "data", Plugin: csiPlugin}
	progress := func(s *casetest.Script, vol trace.SpanID, from, to time.Duration, done bool) {
		n := int64(0)
		for at := from + sec; at < to; at += sec {
			n += 1000
			s.Point(at, vol, &trace.VolumeProgress{Op: "fsgroup", Path: "/pods/u/volumes/x/data/mount", Files: n, PerSecond: 1000})
		}
		if done {
			s.Point(to, vol, &trace.VolumeProgress{Op: "fsgroup", Path: "/pods/u/volumes/x/data/mount", Files: n + 500, Done: true})
		}
	}
	run(t, "KL09", []script{
		{
			name: "many files", want: "changing the group of the files of volume data to the pod's fsGroup took 5.50s: 5500 files", cost: 5500 * ms,
			write: func(s *casetest.Script) {
				progress(s, volumes(s, 0, 6*sec, data), 500*ms, 6*sec, true)
				start(s, 6*sec, "volumes")
			},
		},
		{
			name: "it goes on", want: "changing the group of the files of volume data to the pod's fsGroup took 29.5s so far", cost: 29500 * ms, current: true, now: 30 * sec,
			write: func(s *casetest.Script) {
				progress(s, volumes(s, 0, casetest.Open, data), 500*ms, 29*sec, false)
			},
		},
		{
			name: "not: beside a longer pull",
			write: func(s *casetest.Script) {
				progress(s, volumes(s, 0, 3*sec, data), 0, 3*sec, true)
				s.Action(0, 9*sec, trace.Action{ID: "image a", Verb: trace.VerbImage})
				start(s, 9*sec, "volumes", "image a")
			},
		},
		{
			name: "not: a volume that is slow without a change of ownership",
			write: func(s *casetest.Script) {
				volumes(s, 0, 6*sec, data)
				start(s, 6*sec, "volumes")
			},
		},
	})
}
