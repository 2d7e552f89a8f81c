package pods

import (
	"context"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podruntime"
	"github.com/kubeloupe/kubeloupe/trace"
)

// networkRetry is how long to wait before the pod network is checked again.
const networkRetry = time.Second

// Settle ends all open waits and timers. Call it when no worker works any more.
func (s *Syncer) Settle() {
	s.cfg.Store.mu.Lock()
	defer s.cfg.Store.mu.Unlock()
	for _, e := range s.cfg.Store.pods {
		s.endInitWait(e)
		e.kill.stop()
	}
}

// networkRepeat is how often a pod that waits for the network says so: an Event that is not repeated is gone after an hour.
const networkRepeat = 5 * time.Minute

// sayNetwork publishes that the pod waits for the network: at once for each reason, and then each networkRepeat. Upstream does so in each sync.
func (s *Syncer) sayNetwork(ctx context.Context, pod *v1.Pod, waits bool) {
	why := ""
	if err := s.cfg.Network.NetworkError(); waits && err != nil {
		why = err.Error()
	}
	news := false
	s.cfg.Store.with(pod.UID, func(e *entry) {
		now := time.Now()
		if news = why != "" && (e.network.why != why || now.Sub(e.network.at) >= networkRepeat); news || why == "" {
			e.network = networkEvent{why, now}
		}
	})
	if news {
		s.event(ctx, pod, "Warning", "NetworkNotReady", "network is not ready: "+why)
	}
}

func (s *Syncer) event(ctx context.Context, pod *v1.Pod, kind, reason, message string) {
	if s.cfg.Events != nil {
		s.cfg.Events.Pod(ctx, pod, "", kind, reason, message)
		return
	}
	trace.Point(s.cfg.Bus, trace.FromContext(ctx), trace.NodeEvent{Type: trace.EventType(kind), Reason: reason, Message: message})
}

// reached publishes a milestone when it is first reached. A terminating pod reaches no milestone of a start, and a pod
// is not ready before it has started.
func (s *Syncer) reached(ctx context.Context, pod *v1.Pod, name trace.MilestoneName, adopted bool) {
	ms := trace.Milestone{Name: name, Adopted: adopted}
	first := false
	s.cfg.Store.with(pod.UID, func(e *entry) {
		ms.Since = time.Since(e.seenAt)
		switch name {
		case trace.MilestoneStarted:
			first = !e.started && !e.ending
			e.started = e.started || first
		case trace.MilestoneReady:
			first = !e.ready && e.started && !e.ending
			e.ready = e.ready || first
		case trace.MilestoneTerminating:
			first, e.ending = !e.ending, true
			if e.ended.IsZero() {
				e.ended = time.Now()
			}
		case trace.MilestoneSeen, trace.MilestoneGone:
		}
	})
	if first {
		trace.Point(s.cfg.Bus, trace.FromContext(ctx), ms)
	}
}

// initWait publishes the time in which the pod only waits for an init container: it begins when a sync leaves one
// running and ends when the next sync begins.
func (s *Syncer) initWait(ctx context.Context, pod *v1.Pod, container string) {
	s.cfg.Store.with(pod.UID, func(e *entry) {
		s.endInitWait(e)
		if container != "" {
			e.init.wait = trace.Wait{For: trace.WaitInit, Target: trace.Target{Kind: trace.TargetInitContainer, Name: container}}
			e.init.span = trace.Begin(s.cfg.Bus, trace.FromContext(ctx), e.init.wait)
		}
	})
}

// endInitWait ends this wait. Called with the store's mu.
func (s *Syncer) endInitWait(e *entry) {
	if e.init.wait.For != "" {
		trace.End(s.cfg.Bus, e.init.span, e.init.wait)
		e.init = initWait{}
	}
}

// waitFor returns the wait for containers in back-off, with the reasons.
func waitFor(reasons map[string]podruntime.Reason) trace.Wait {
	names := slices.Sorted(maps.Keys(reasons))
	if len(names) == 0 {
		return trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetRetry}}
	}
	wait := trace.Wait{For: trace.WaitBackoff, Target: trace.Target{Kind: trace.TargetContainer, Name: names[0]}, Reason: reasons[names[0]].Reason}
	for _, name := range names[1:] {
		wait.More = append(wait.More, trace.Held{Name: name, Reason: reasons[name].Reason})
	}
	return wait
}
