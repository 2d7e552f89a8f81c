package causes_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/config"
	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/inspect/cause"
)

// mine are the rules that a start without any trouble gives no reason to speak to. Pressure is the machine's.
func mine() []string {
	return []string{"KL09", "KL10", "KL11", "KL12", "KL13", "KL15", "KL16", "KL17", "KL18", "KL19", "KL20", "KL22"}
}

func TestNothingToSay(t *testing.T) {
	t.Parallel()
	n := run(t, runtime(), nil, nil)
	n.source.Set(podOf("web"))
	n.reached("web", "ready")
	n.silent("web", mine()...)
	n.source.Set()
	n.reached("web", "gone")
	n.silent("web", mine()...)
}

func TestRuntimeGivesNoAnswer(t *testing.T) {
	t.Parallel()
	n := run(t, runtime(), nil, nil)
	if _, err := n.srv.Inject(sim.Fault{Method: "RunPodSandbox", Times: 1, Delay: 300 * time.Millisecond, Code: codes.DeadlineExceeded, Message: "context deadline exceeded"}); err != nil {
		t.Fatal(err)
	}
	n.source.Set(podOf("web"))
	n.reached("web", "ready")
	if f := n.speaks("web", "KL15", "RunPodSandbox ended with DeadlineExceeded"); f.Confidence != cause.Certain || f.Cost < 300*time.Millisecond {
		t.Errorf("%+v", f)
	}
}

// TestSlowSandboxIsNoStall: the runtime is slow with one thing, and answers everything else.
func TestSlowSandboxIsNoStall(t *testing.T) {
	t.Parallel()
	n := run(t, runtime(), nil, nil)
	if _, err := n.srv.Inject(sim.Fault{Method: "RunPodSandbox", Delay: 2500 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	n.source.Set(podOf("web"))
	n.reached("web", "ready")
	n.silent("web", "KL10")
	n.claimsLess("web", "KL15", 2*time.Second)
	n.claimsLess("web", "KL16", 2*time.Second)
}

func TestContainerIgnoresTerm(t *testing.T) {
	t.Parallel()
	n := run(t, runtime(), nil, nil)
	deaf, polite := podOf("deaf", "sleep", "1000"), podOf("polite") // PID 1 has to handle TERM, and sleep does not
	deaf.Spec.TerminationGracePeriodSeconds = new(int64(5))
	polite.Spec.TerminationGracePeriodSeconds = new(int64(5))
	n.source.Set(deaf, polite)
	n.reached("deaf", "ready")
	n.reached("polite", "ready")
	n.source.Set()
	n.reached("polite", "gone")
	n.silent("polite", "KL17")
	n.reached("deaf", "gone")
	if f := n.speaks("deaf", "KL17", "its termination was delayed by container app, which did not exit in its grace period"); f.Current || f.Cost < 4*time.Second {
		t.Errorf("%+v", f)
	}
}

func TestProbeComesLate(t *testing.T) {
	t.Parallel()
	n := run(t, runtime(), nil, nil)
	late, early := podOf("late"), podOf("early")
	for _, p := range []*v1.Pod{late, early} {
		p.Spec.Containers[0].ReadinessProbe = &v1.Probe{
			ProbeHandler:  v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"true"}}},
			PeriodSeconds: 1, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
		}
	}
	late.Spec.Containers[0].ReadinessProbe.InitialDelaySeconds = 1
	n.source.Set(late, early)
	n.reached("early", "ready")
	n.reached("late", "ready")
	n.speaks("late", "KL19", "the readiness probe of app decided when it was ready: its first attempt had to wait for initialDelaySeconds")
	n.silent("early", "KL19")
}

func TestImageWasCollected(t *testing.T) {
	t.Parallel()
	n := run(t, runtime(), func(k *config.Config) { k.Images.GCMinimumAge, k.Containers.MinimumAge = 0, 0 }, nil)
	first, again, other := podOf("first"), podOf("again"), podOf("other")
	first.Spec.Containers[0].Image, again.Spec.Containers[0].Image = "far:1", "far:1"
	n.source.Set(first)
	n.reached("first", "ready")
	n.silent("first", "KL22")
	n.source.Set()
	n.reached("first", "gone")
	if sum, err := n.DeleteUnusedImages(t.Context()); err != nil || sum.Removed == 0 {
		t.Fatalf("%+v, %v", sum, err)
	}
	n.source.Set(again, other)
	n.reached("again", "ready")
	n.reached("other", "ready")
	n.speaks("again", "KL22", "image garbage collection removed far:1")
}
