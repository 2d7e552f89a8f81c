package cause_test

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause/casetest"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// start ends a script with the create and start of its container, which need all that is named.
func start(s *casetest.Script, at time.Duration, needs ...string) {
	s.Action(at, at+20*ms, trace.Action{ID: "create web", Verb: trace.VerbCreate}, needs...)
	s.Action(at+20*ms, at+40*ms, trace.Action{ID: "start web", Verb: trace.VerbStart}, "create web")
	s.Started(at + 40*ms)
}

func TestOtherPull(t *testing.T) {
	const image = "shop/web:1"
	run(t, "KL01", []script{
		{
			name: "the same image", want: "it waited 3.00s for pod shop/db to pull the image web:1", cost: 3 * sec,
			write: func(s *casetest.Script) {
				act := s.Action(0, 3*sec, trace.Action{ID: "image " + image, Verb: trace.VerbImage, Target: image})
				pull := s.Span(0, 3*sec, act, &trace.ImagePull{Image: image, Shared: true})
				s.Wait(0, 3*sec, pull, trace.Wait{For: trace.WaitOtherPull, Target: trace.Target{Kind: trace.TargetImage, Name: image}})
				s.Of(casetest.DB, 0, 3*sec, 0, &trace.ImagePull{Image: image})
				start(s, 3*sec, "image "+image)
			},
		},
		{
			name: "the same image, of which the pull waited too", cost: 3 * sec,
			want: "it waited 3.00s for pod shop/db to pull the image web:1, which itself waited 2.90s for a pull slot",
			write: func(s *casetest.Script) {
				act := s.Action(0, 3*sec, trace.Action{ID: "image " + image, Verb: trace.VerbImage, Target: image})
				s.Wait(0, 3*sec, act, trace.Wait{For: trace.WaitOtherPull, Target: trace.Target{Kind: trace.TargetImage, Name: image}})
				s.Of(casetest.DB, 0, 2900*ms, 0, &trace.Wait{For: trace.WaitOtherPull, Target: trace.Target{Kind: trace.TargetPulls}, Size: 1})
				s.Of(casetest.DB, 2900*ms, 3*sec, 0, &trace.ImagePull{Image: image})
				start(s, 3*sec, "image "+image)
			},
		},
		{
			name: "a pull slot, still", want: "it waited 5.00s so far for a pull slot (1 at a time), which shop/db had",
			cost: 5 * sec, current: true, now: 5 * sec,
			write: func(s *casetest.Script) {
				act := s.Action(0, casetest.Open, trace.Action{ID: "image " + image, Verb: trace.VerbImage, Target: image})
				s.Wait(0, casetest.Open, act, trace.Wait{For: trace.WaitOtherPull, Target: trace.Target{Kind: trace.TargetPulls}, Size: 1})
				s.Of(casetest.DB, 0, casetest.Open, 0, &trace.ImagePull{Image: "shop/db:2"})
			},
		},
		{
			name: "a pull slot, and nobody says how many there are", want: "it waited 5.00s so far for a pull slot, which shop/db had",
			cost: 5 * sec, current: true, now: 5 * sec,
			write: func(s *casetest.Script) {
				act := s.Action(0, casetest.Open, trace.Action{ID: "image " + image, Verb: trace.VerbImage, Target: image})
				s.Wait(0, casetest.Open, act, trace.Wait{For: trace.WaitOtherPull, Target: trace.Target{Kind: trace.TargetPulls}})
				s.Of(casetest.DB, 0, casetest.Open, 0, &trace.ImagePull{Image: "shop/db:2"})
			},
		},
		{
			name: "not: beside the critical path",
			write: func(s *casetest.Script) {
				act := s.Action(0, 900*ms, trace.Action{ID: "image " + image, Verb: trace.VerbImage, Target: image})
				s.Wait(0, 900*ms, act, trace.Wait{For: trace.WaitOtherPull, Target: trace.Target{Kind: trace.TargetImage, Name: image}})
				s.Action(0, sec, trace.Action{ID: "sandbox", Verb: trace.VerbSandbox})
				start(s, sec, "sandbox", "image "+image)
			},
		},
		{
			name: "not: the pod's own pull for another container",
			write: func(s *casetest.Script) {
				s.Span(0, 3*sec, s.Action(0, 3*sec, trace.Action{ID: "image a", Verb: trace.VerbImage}), &trace.ImagePull{Image: image})
				act := s.Action(1*sec, 3*sec, trace.Action{ID: "image b", Verb: trace.VerbImage})
				s.Wait(1*sec, 3*sec, act, trace.Wait{For: trace.WaitOtherPull, Target: trace.Target{Kind: trace.TargetImage, Name: image}})
				start(s, 3*sec, "image b")
			},
		},
		{
			name: "not: too short",
			write: func(s *casetest.Script) {
				act := s.Action(0, sec, trace.Action{ID: "image " + image, Verb: trace.VerbImage, Target: image})
				s.Wait(0, 40*ms, act, trace.Wait{For: trace.WaitOtherPull, Target: trace.Target{Kind: trace.TargetImage, Name: image}})
				start(s, sec, "image "+image)
			},
		},
	})
}
