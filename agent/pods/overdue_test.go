package pods

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/agent/admission"
	"github.com/kubeloupe/kubeloupe/agent/eviction"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/trace"
)

// exceeded returns when a pod exceeded its grace period, after the first record, and about which pod.
func exceeded(b *bench) (out []string) {
	for _, r := range b.rec.OfKind("node.event") {
		if e, ok := r.Event.(*trace.NodeEvent); ok && e.Reason == "ExceededGracePeriod" {
			out = append(out, r.Pod.Name+" "+string(e.Type)+": "+e.Message)
		}
	}
	return out
}

func TestExceededGracePeriod(t *testing.T) {
	const late = "web Warning: Container runtime did not kill the pod within specified grace period."
	evict := func(grace int64) func(*bench, *v1.Pod) {
		return func(b *bench, p *v1.Pod) { b.Evict(b.t.Context(), p, eviction.Order{Message: "low", Grace: grace}) }
	}
	for _, c := range []struct {
		name  string
		end   func(*bench, *v1.Pod)
		takes time.Duration
		by    time.Duration // when the Event is due; 0 for none
	}{
		{"evicted, in time", evict(1), 9 * time.Second, 0},
		{"evicted, late", evict(1), 11 * time.Second, 10 * time.Second},
		{"with its grace, in time", evict(20), 29 * time.Second, 0},
		{"with its grace, late", evict(20), 31 * time.Second, 30 * time.Second},
		{"evicted again and again", func(b *bench, p *v1.Pod) {
			for range 4 { // does not delay the Event
				evict(20)(b, p)
				pass(3 * time.Second)
			}
		}, time.Minute, 18 * time.Second},
		{"sooner", func(b *bench, p *v1.Pod) { evict(600)(b, p); pass(0); evict(1)(b, p) }, time.Minute, 10 * time.Second},
		{"preempted", func(b *bench, _ *v1.Pod) {
			b.send(podsource.OpAdd, podOf("dns", "u2", takesMost, func(p *v1.Pod) { p.Spec.Priority = new(int32(2_000_001_000)) }))
		}, time.Minute, 30 * time.Second},
		{"node shutdown", func(b *bench, p *v1.Pod) { b.ShutDown(b.t.Context(), p, 8) }, time.Minute, 12 * time.Second},
		{"deleted", func(b *bench, p *v1.Pod) { b.send(podsource.OpDelete, p) }, time.Minute, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, _ := apiBench(t)
				b.cfg.Node = func(in *admission.Inputs) { in.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")} }
				b.rt.kill = func(ctx context.Context, _ *v1.Pod) error {
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(c.takes):
						return nil
					}
				}
				pod := podOf("web", "u1", takesMost, func(p *v1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(20)) })
				b.send(podsource.OpAdd, pod)
				pass(time.Second)
				c.end(b, pod)
				var want []string
				if c.by > 0 {
					pass(c.by - time.Millisecond)
					b.expect("before", nil, exceeded(b))
					want = []string{late}
				}
				pass(2 * time.Millisecond)
				if c.by == 0 {
					pass(time.Hour)
				}
				b.expect("after", want, exceeded(b))
				pass(time.Hour)
				b.expect("much later", want, exceeded(b))
				b.stop()
			})
		})
	}
}

// The agent's end ends the timer, too, and what has terminated gets none.
func TestKillWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := apiBench(t)
		b.rt.kill = func(ctx context.Context, pod *v1.Pod) error {
			if pod.Name == "over" {
				return nil
			}
			<-ctx.Done()
			return errors.New("stuck")
		}
		stuck, over := podOf("stuck", "u1", fromAPI), podOf("over", "u2", fromAPI)
		b.send(podsource.OpAdd, stuck, over)
		b.Evict(t.Context(), stuck, eviction.Order{Grace: 1})
		b.send(podsource.OpDelete, over)
		pass(time.Second)
		b.Evict(t.Context(), over, eviction.Order{Grace: 1})
		b.cfg.Store.with("u2", func(e *entry) {
			if e.kill.timer != nil {
				t.Error("what has terminated is watched")
			}
		})
		b.stop()
		pass(time.Hour)
		b.expect("events", nil, exceeded(b))
	})
}

func TestKillLimit(t *testing.T) {
	for grace, want := range map[int64]time.Duration{
		-1: 10 * time.Second, 0: 10 * time.Second, 6: 10 * time.Second, 7: 10 * time.Second, 8: 12 * time.Second, 30: 45 * time.Second,
		math.MaxInt64: mostKill + mostKill/2,
	} {
		if got := killLimit(grace); got != want {
			t.Errorf("grace %d: %s, want %s", grace, got, want)
		}
	}
}

// takesMost makes a pod of the API request most of the node's CPUs.
func takesMost(p *v1.Pod) {
	fromAPI(p)
	p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("800m")}
}
