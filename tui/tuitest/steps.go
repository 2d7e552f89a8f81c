package tuitest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/step"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Steps is a pod that is stepped in name only: each n moves on by one action.
type Steps struct {
	stops chan step.Stop
	at    int
	// Asked are the commands that came.
	Asked []string
}

var plan = []string{"admit", "pod cgroup", "volumes", "sandbox", "image redis:7.2", "create cart", "start cart"}

// NewSteps returns a pod that waits before its sandbox.
func NewSteps() *Steps {
	s := &Steps{stops: make(chan step.Stop, 16), at: 3}
	s.stops <- s.stop()
	return s
}

// Stops implements tui.Stepper.
func (s *Steps) Stops() <-chan step.Stop { return s.stops }

// Do implements tui.Stepper.
func (s *Steps) Do(_ context.Context, line string) (string, error) {
	s.Asked = append(s.Asked, line)
	verb, arg, _ := strings.Cut(line, " ")
	if s.at > len(plan) && (verb == "n" || verb == "c") {
		return "", errors.New("the step session has ended")
	}
	switch verb {
	case "n":
		s.at++
		if s.at > len(plan) {
			close(s.stops)
			return "", nil
		}
		s.stops <- s.stop()
	case "c":
		s.at = len(plan)
		s.stops <- s.stop()
	case "b":
		if arg == "" {
			return "", fmt.Errorf("b: want the name of an action, one of %s", strings.Join(plan, ", "))
		}
		return "stops before " + arg, nil
	case "p":
		return s.stop().Request, nil
	}
	return "", nil
}

func (s *Steps) stop() step.Stop {
	st := step.Stop{Pod: trace.Pod{Namespace: "shop", Name: "cart-7d4f-x2z", UID: "9f"}, Index: s.at, Total: len(plan)}
	for i, id := range plan {
		a := step.Action{ID: id, Verb: trace.Verb(id), State: step.Todo}
		switch {
		case i < s.at:
			a.State, a.Dur = step.Done, time.Duration(i*i+1)*ms
		case i == s.at:
			a.State = step.Next
			st.Next = id
		}
		st.Actions = append(st.Actions, a)
	}
	if st.Next == "sandbox" {
		st.Next, st.RequestTitle = "RunPodSandbox", "runtime.v1.RunPodSandboxRequest"
		st.Request = "metadata: {name: cart-7d4f-x2z, uid: 9f, namespace: shop, attempt: 0}\nhostname: cart-7d4f-x2z\n" +
			"dns_config:\n  servers: [10.96.0.10]\n  searches: [shop.svc.cluster.local, svc.cluster.local]\n" +
			"linux:\n  cgroup_parent: /kubepods/burstable/pod9f\n" + strings.Repeat("  annotation: value\n", 30)
		st.Changed = []string{"+ /sys/fs/cgroup/kubepods/burstable/pod9f", "+ 3 mounts"}
	}
	return st
}
