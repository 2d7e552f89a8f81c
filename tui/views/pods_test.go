package views

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/tuitest"
)

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// A narrow list of pods has what kubectl has, and the reason of trouble, before how long it lasts.
func TestPodsThatAreNarrow(t *testing.T) {
	_, m, now := told(tuitest.Session())
	p := NewPods(Look{Theme: style.New(false), Keys: keys.New(), Scene: &Scene{}})
	p.SetSize(55, 20)
	p.Refresh(Frame{Model: m, Now: now})
	for _, want := range []string{"POD                  STATE       READY DOING", "jobs/flaky           backing off 0/1   CrashLoopBack"} {
		if got := escapes.ReplaceAllString(p.View(), ""); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// While a pod backs off, the row has the reason; while something is done for it, that.
func TestPodDoing(t *testing.T) {
	p := NewPods(Look{Theme: style.New(false), Keys: keys.New(), Scene: &Scene{}})
	now := tuitest.Epoch
	wait := trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRetry}, Cause: "no such secret"}
	pod := &model.Pod{Backoff: model.Backoff{Wait: wait, Since: now.Add(-time.Second)}}
	pod.Waits = []model.Wait{{Wait: wait, Since: now.Add(-time.Second)}}
	if got := p.doing(pod); got != "back-off: no such secret" {
		t.Errorf("backing off: %q", got)
	}
	pod.Containers = []trace.ContainerStatus{{Name: "web", State: trace.ContainerWaiting, Reason: "InvalidImageName", Message: "no tag"}}
	if got := p.doing(pod); got != "InvalidImageName web: no tag" {
		t.Errorf("with a reason: %q", got)
	}
	pod.Actions = []model.Action{{ID: "start web", Verb: string(trace.VerbStart), Since: now}}
	if got := p.doing(pod); got != "start web" {
		t.Errorf("starting: %q", got)
	}
}
