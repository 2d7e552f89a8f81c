package podruntime

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeloupe/kubeloupe/agent/semaphore"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/gate"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// The questions, in order, of a plan that succeeds.
func TestGateIsAsked(t *testing.T) {
	g := &fakeGate{answer: func(*gate.Question) (gate.Answer, error) { return gate.Answer{}, nil }}
	inBubble(t, g, func(t *testing.T, w *world) {
		if _, err := w.rt.Sync(t.Context(), always("web"), 1, nil); err != nil {
			t.Error(err)
		}
		equal(t, "asked", []string{
			"before cgroup", "after cgroup", "before dirs", "after dirs", "before volumes", "after volumes",
			"before sandbox", "call sandbox RunPodSandbox", "after sandbox", "before image web:1", "after image web:1",
			"before create web", "after create web", "before start web", "call start web StartContainer", "after start web",
		}, g.asked)
		if n := len(w.rec.OfKind("pod.wait")); n != 0 {
			t.Errorf("%d waits of a person who was not asked", n)
		}
	})
}

func TestGateFails(t *testing.T) {
	for _, tc := range []struct {
		name, at string
		reason   Reason
		did      string // the operation that must not run
	}{
		{"an action", "before cgroup", Reason{}, "cgroup"},
		{"an action's call", "before sandbox", Reason{}, "run sandbox"},
		{"a call", "call sandbox", Reason{}, "run sandbox"},
		{"a start", "before start web", Reason{Reason: "RunContainerError", Message: "out of order"}, "start web"},
		{"a start's call", "call start web", Reason{Reason: "RunContainerError", Message: "out of order"}, "start web"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := &fakeGate{}
			g.answer = func(q *gate.Question) (gate.Answer, error) {
				if string(q.When)+" "+q.Action == tc.at {
					return gate.Answer{Do: gate.Fail, Code: uint32(codes.Unavailable), Message: "out of order"}, nil
				}
				return gate.Answer{}, nil
			}
			inBubble(t, g, func(t *testing.T, w *world) {
				_, err := w.rt.Sync(t.Context(), always("web"), 1, nil)
				if status.Code(err) != codes.Unavailable {
					t.Errorf("error %v", err)
				}
				if slices.Contains(w.did(), tc.did) {
					t.Errorf("%s was done", tc.did)
				}
				equal(t, "reason", tc.reason, w.rt.Reasons("uid")["web"])
			})
		})
	}
}

// A failed step is repeated while the gate answers retry.
func TestGateRetries(t *testing.T) {
	g := &fakeGate{}
	var tries []int
	g.answer = func(q *gate.Question) (gate.Answer, error) {
		if q.When == gate.After && q.Err != nil {
			tries = append(tries, q.Attempt)
			return gate.Answer{Do: gate.Retry}, nil
		}
		return gate.Answer{}, nil
	}
	inBubble(t, g, func(t *testing.T, w *world) {
		fails := 2
		w.on("cgroup", func(context.Context) error {
			if fails--; fails >= 0 {
				return errors.New("busy")
			}
			return nil
		})
		if _, err := w.rt.Sync(t.Context(), always("web"), 1, nil); err != nil {
			t.Error(err)
		}
		equal(t, "tries", []int{1, 2}, tries)
	})
}

// A delay is a named wait, which ends with the client and with the pod. A person's time does not count as the action's.
func TestGateDelays(t *testing.T) {
	for _, tc := range []struct {
		name  string
		leave time.Duration
		want  time.Duration
	}{{"all of it", time.Hour, 3 * time.Second}, {"the client leaves", time.Second, time.Second}} {
		t.Run(tc.name, func(t *testing.T) {
			g := &fakeGate{}
			var left chan struct{}
			g.answer = func(q *gate.Question) (gate.Answer, error) {
				switch {
				case q.When == gate.Before && q.Action == "sandbox":
					return gate.Answer{Delay: 3 * time.Second, Left: left}, nil
				case q.When == gate.Call:
					defer q.Held()()
					time.Sleep(time.Minute) // simulated time: a person thinks
				case q.When == gate.After && q.Took != 0:
					t.Errorf("%s took %s", q.Action, q.Took)
				}
				return gate.Answer{}, nil
			}
			inBubble(t, g, func(t *testing.T, w *world) {
				left = make(chan struct{})
				leave := time.AfterFunc(tc.leave, func() { close(left) })
				defer leave.Stop()
				if _, err := w.rt.Sync(t.Context(), always("web"), 1, nil); err != nil {
					t.Error(err)
				}
				var waits []string
				for _, r := range w.rec.OfKind("pod.wait") {
					if e, ok := r.Event.(*trace.Wait); ok && r.Edge == trace.EdgeEnd {
						waits = append(waits, say.On(e)+" "+r.Dur.String())
					}
				}
				equal(t, "waits", []string{
					"a delay of 3s " + tc.want.String(), "the person who steps 1m0s", "the person who steps 1m0s",
				}, waits)
			})
		})
	}
}

// A pod that is held at a call has no slot, and a pod that is deleted meanwhile is not held.
func TestHeldAtACall(t *testing.T) {
	g := &fakeGate{}
	g.answer = func(q *gate.Question) (gate.Answer, error) { return gate.Answer{}, nil }
	inBubble(t, g, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		g.answer = func(q *gate.Question) (gate.Answer, error) {
			if q.Call != "RunPodSandbox" {
				return gate.Answer{}, nil
			}
			defer q.Held()()
			<-ctx.Done()
			return gate.Answer{}, ctx.Err()
		}
		done := make(chan error, 1)
		go func() { _, err := w.rt.Sync(ctx, always("web"), 1, nil); done <- err }()
		synctest.Wait()
		place, err := w.slots.Acquire(t.Context(), semaphore.Turn{Order: 9})
		if err != nil {
			t.Fatal(err)
		}
		place.Release()
		began := time.Now()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || time.Since(began) != 0 {
			t.Errorf("error %v after %s", err, time.Since(began))
		}
		equal(t, "reasons", map[string]Reason(nil), w.rt.Reasons("uid"))
	})
}

func TestObjectHasNoSecrets(t *testing.T) {
	g := &fakeGate{}
	shown := ""
	g.answer = func(q *gate.Question) (gate.Answer, error) {
		p, err := q.Object.MarshalJSON()
		shown = string(p)
		return gate.Answer{}, err
	}
	inBubble(t, g, func(t *testing.T, w *world) {
		pod := always("web")
		pod.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "hunter2", "a": "b"}
		pod.Spec.Containers[0].Env = []v1.EnvVar{{Name: "DB_PASSWORD", Value: "hunter2"}, {Name: "HOME", Value: "/root"}}
		get := v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(1), HTTPHeaders: []v1.HTTPHeader{{Name: "Authorization", Value: "Bearer hunter2"}}}}
		pod.Spec.Containers[0].LivenessProbe = &v1.Probe{ProbeHandler: get}
		pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{HTTPGet: get.HTTPGet}}
		if _, err := w.rt.Sync(t.Context(), pod, 1, nil); err != nil {
			t.Error(err)
		}
		if !json.Valid([]byte(shown)) || strings.Contains(shown, "hunter2") || !strings.Contains(shown, "/root") || !strings.Contains(shown, `"podIPs":["10.0.0.1"]`) {
			t.Error(shown)
		}
		if pod.Spec.Containers[0].Env[0].Value != "hunter2" {
			t.Error("the pod itself was changed")
		}
	})
}
