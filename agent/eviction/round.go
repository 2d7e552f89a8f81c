package eviction

import (
	"context"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// round measures the node once, and acts. It returns the pods that it evicted, with their longest grace period, in seconds.
func (m *Manager) round(ctx context.Context) (evicted []*v1.Pod, grace int64) {
	began := time.Now()
	seen, act, ok := m.look(ctx)
	if !ok || m.cfg.Observe {
		return nil, 0
	}
	now := time.Now()
	m.near = len(act) == 0 && m.nearest(seen, nearShare) != nil
	if evicted = m.enforceLimits(ctx, now); len(evicted) > 0 {
		return evicted, hardGrace
	}
	if len(act) == 0 {
		m.foresee(ctx, seen, now)
		return nil, 0
	}
	first := act[0] // memory first, a hard threshold before a soft one of the same signal: that is their order
	if first == m.vain.threshold && now.Sub(m.vain.at) < Period-pause-pause/2 {
		return nil, 0 // a moment ago there was nothing to evict for it
	}
	evicted, grace = m.relieve(ctx, &m.thresholds[first], seen, began)
	if len(evicted) == 0 {
		m.vain.threshold, m.vain.at = first, now
	}
	return evicted, grace
}

// look measures the node, and updates its conditions. It returns the indices of the thresholds for which to act.
func (m *Manager) look(ctx context.Context) (seen observations, act []int, ok bool) {
	seen, ok = m.measure(ctx)
	if !ok {
		return nil, nil, false
	}
	now := time.Now()
	act = m.judge.judge(m.thresholds, seen, now)
	m.setConditions(m.judge.conditions(m.cfg.Transition, now))
	m.tellVerdicts(seen)
	return seen, act, true
}

// urgent reports whether the next round acts for a hard threshold.
func (m *Manager) urgent(ctx context.Context) bool {
	_, act, _ := m.look(ctx)
	return len(act) > 0 && m.thresholds[act[0]].Grace == 0
}

// measure observes the node and publishes what it saw.
func (m *Manager) measure(ctx context.Context) (observations, bool) {
	got, err := m.cfg.Measure(ctx)
	if ctx.Err() != nil {
		return nil, false
	}
	if err != nil {
		if !m.failing {
			trace.Point(m.cfg.Bus, trace.Span{}, trace.Log{Level: trace.LevelWarn, Message: "eviction: cannot measure the node: " + err.Error()})
		}
		m.failing = true
	} else {
		m.failing = false
	}
	if m.judge == nil || got.Layout != m.layout {
		m.layout, m.thresholds = got.Layout, got.Layout.thresholds(m.cfg.Thresholds)
		m.judge, m.told, m.vain.at = newJudge(len(m.thresholds)), map[trace.Signal]said{}, time.Time{}
	}
	seen := observe(&got)
	if m.cfg.Watcher != nil {
		m.cfg.Watcher.Set(marks(m.thresholds, seen))
	}
	if now := time.Now(); now.Sub(m.figured) >= Period-pause-pause/2 {
		m.figured = now
		m.tellFigures(seen)
	}
	return seen, true
}

// enforceLimits evicts the pods that exceed a limit of local storage. It looks once in a Period: the usage of pods costs more than that of
// the node.
func (m *Manager) enforceLimits(ctx context.Context, now time.Time) (evicted []*v1.Pod) {
	if !m.cfg.Isolation || now.Sub(m.enforced) < Period-pause-pause/2 {
		return nil
	}
	m.enforced = now
	pods := slices.DeleteFunc(slices.Clone(m.cfg.Pods.Active(m.grace(nil))), func(p *v1.Pod) bool { return !limited(p) })
	if len(pods) == 0 {
		return nil
	}
	stats, err := m.usage(ctx, func(uid string) bool {
		return slices.ContainsFunc(pods, func(p *v1.Pod) bool { return string(p.UID) == uid })
	})
	if err != nil {
		return nil // the next round tries again
	}
	for _, pod := range pods {
		st := stats[string(pod.UID)]
		if st == nil || podspec.CriticalPod(pod) {
			continue
		}
		if e, ok := exceeds(pod, m.layout, st); ok {
			m.evictOver(ctx, pod, &e)
			evicted = append(evicted, pod)
		}
	}
	return evicted
}

// relieve removes what no pod uses; if that is not enough, it evicts the first pod of the ranking. What is seen was measured after since.
func (m *Manager) relieve(ctx context.Context, t *Threshold, seen observations, since time.Time) ([]*v1.Pod, int64) {
	got := seen[t.Signal]
	e := trace.Eviction{Signal: t.Signal, Available: got.available, Capacity: got.capacity, Threshold: t.trace(), Outcome: trace.EvictionNone}
	defer func() { trace.Point(m.cfg.Bus, trace.FromContext(ctx), e) }()
	if m.cfg.Warn != nil {
		m.cfg.Warn(ctx, "EvictionThresholdMet", "Attempting to reclaim "+string(resourceOf(t.Signal)))
	}
	if m.reclaim(ctx, t, &e) {
		e.Outcome = trace.EvictionReclaimed
		return nil, 0
	}
	stats, err := m.usage(ctx, nil)
	if err != nil {
		e.Err = strings.TrimPrefix(e.Err+"; "+err.Error(), "; ")
		return nil, 0
	}
	grace := m.grace(t)
	all := m.rank(t, stats)
	e.Ranked = ranking(all)
	i := slices.IndexFunc(all, func(r ranked) bool { return !podspec.CriticalPod(r.pod) })
	if i < 0 {
		return nil, 0
	}
	victim := &all[i]
	e.Age = time.Since(since)
	e.Outcome, e.Evicted, e.Grace = trace.EvictionEvicted, podspec.Ref(victim.pod).String(), grace(victim.pod)
	m.evict(ctx, t, got, victim, e.Grace)
	return []*v1.Pod{victim.pod}, e.Grace
}

// rank ranks the pods for a threshold. The usage of a pod that has not started is known: it is nothing. While another pod is evicted, new ones do
// not start, and they would be the next ones otherwise.
func (m *Manager) rank(t *Threshold, stats map[string]*statsapi.PodStats) []ranked {
	pods := m.cfg.Pods.Active(m.grace(t))
	for _, pod := range pods {
		if uid := string(pod.UID); stats[uid] == nil && m.cfg.Pods.Empty(pod.UID) {
			stats[uid] = &statsapi.PodStats{}
		}
	}
	return rank(t.Signal, m.layout, pods, stats)
}

// usage returns the usage of the pods by UID.
func (m *Manager) usage(ctx context.Context, fresh func(uid string) bool) (map[string]*statsapi.PodStats, error) {
	list, err := m.cfg.Usage(ctx, fresh)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*statsapi.PodStats, len(list))
	for i := range list {
		out[list[i].PodRef.UID] = &list[i]
	}
	return out, nil
}

// grace returns the grace periods of pods that are evicted for a threshold, or for a limit of local storage if it is nil, in seconds.
func (m *Manager) grace(t *Threshold) func(*v1.Pod) int64 {
	if t == nil || t.Grace == 0 {
		return func(*v1.Pod) int64 { return hardGrace }
	}
	return func(pod *v1.Pod) int64 {
		if own := pod.Spec.TerminationGracePeriodSeconds; own != nil {
			return min(m.cfg.MaxGrace, *own)
		}
		return m.cfg.MaxGrace
	}
}
