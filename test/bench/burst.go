package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// widths are how many pods at a time the floor makes; the best counts: see best.
func widths() []int { return []int{2, 3, 4} }

// outcome of a burst: when the median and the last pod had started.
type outcome struct{ median, last time.Duration }

// bursts has many pods start at once on each side in turn.
func (b *bench) bursts(ctx context.Context, size int) error {
	if err := b.startAgent(ctx, &b.ours); err != nil {
		return err
	}
	floors := map[int][]outcome{}
	var agents []outcome
	for range max(3, b.o.n/3) {
		for _, w := range widths() {
			f, err := b.floorBurst(ctx, size, w)
			if err != nil {
				return err
			}
			floors[w] = append(floors[w], f)
			a, err := b.agentBurst(ctx, size)
			if err != nil {
				return err
			}
			agents = append(agents, a)
		}
	}
	median, last := map[int][]float64{}, map[int][]float64{}
	for _, w := range widths() {
		median[w], last[w] = millis(medians(floors[w])), millis(lasts(floors[w]))
		fmt.Printf("  floor, %d at a time: median %s, last %s\n", w, ms(p50(medians(floors[w]))), ms(p50(lasts(floors[w]))))
	}
	report(fmt.Sprintf("burst of %d, median start", size), fromMilli(best(median)), p50(medians(agents)), 1.10)
	report(fmt.Sprintf("burst of %d, last start", size), fromMilli(best(last)), p50(lasts(agents)), 1.10)
	return nil
}

func (b *bench) floorBurst(ctx context.Context, size, width int) (outcome, error) {
	pods := make([]*v1.Pod, size)
	for i := range pods {
		pods[i] = plain(b.twin.lab)
	}
	begin := time.Now()
	made, err := b.twin.cri.burst(ctx, pods, width)
	if err != nil {
		return outcome{}, err
	}
	out, err := b.twin.collect(ctx, pods, "", begin)
	for _, m := range made {
		if e := b.twin.cri.stop(ctx, m); err == nil {
			err = e
		}
	}
	return out, err
}

func (b *bench) agentBurst(ctx context.Context, size int) (outcome, error) {
	pods := make([]*v1.Pod, size)
	for i := range pods {
		pods[i] = plain(b.ours.lab)
	}
	begin := time.Now()
	for _, p := range pods {
		if err := b.agent.write(p); err != nil {
			return outcome{}, err
		}
	}
	out, err := b.ours.collect(ctx, pods, "-"+hostname(), begin)
	if err != nil {
		return out, err
	}
	for _, p := range pods {
		if err := b.agent.remove(p); err != nil {
			return out, err
		}
	}
	for _, p := range pods {
		if _, err := b.ours.events.awaitGone(ctx, p.Name+"-"+hostname()); err != nil {
			return out, err
		}
	}
	return out, nil
}

// collect waits for all pods to have started.
func (s *side) collect(ctx context.Context, pods []*v1.Pod, suffix string, begin time.Time) (outcome, error) {
	var took []time.Duration
	for _, p := range pods {
		at, err := s.events.awaitStarted(ctx, p.Name+suffix, len(p.Spec.Containers))
		if err != nil {
			return outcome{}, err
		}
		took = append(took, at.Sub(begin))
	}
	return outcome{median: p50(took), last: percentile(took, 100)}, nil
}

func medians(os []outcome) (out []time.Duration) {
	for _, o := range os {
		out = append(out, o.median)
	}
	return out
}

func lasts(os []outcome) (out []time.Duration) {
	for _, o := range os {
		out = append(out, o.last)
	}
	return out
}
