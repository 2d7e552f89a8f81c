package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// clusterBurst has many pods start at once, and end at once: the floor first, then the agent.
func (c *clusterBench) clusterBurst(ctx context.Context, size int) error {
	title := fmt.Sprintf("%d pods at once: ", size)
	lines := burstLines{
		median: c.table.times(title+"median started", ofFloor(1.10)),
		last:   c.table.times(title+"last started", ofFloor(1.10)),
		ready:  c.table.times(title+"last Ready", noSlower),
		later:  c.table.partTimes(title+"last Ready after last started", atMost(15)),
		gone:   c.table.times(title+"deleted, last gone", ofFloor(1.40)),
	}
	// The same figures of the agent beside another floor, which has an API server on its CPUs.
	loaded := burstLines{
		median: c.table.partTimes(title+"median started, loaded floor", ofFloor(1.10)),
		last:   c.table.partTimes(title+"last started, loaded floor", ofFloor(1.10)),
		gone:   c.table.partTimes(title+"deleted, last gone, loaded floor", ofFloor(1.15)),
	}
	if err := c.burstFloor(ctx, size, lines); err != nil {
		return fmt.Errorf("floor: %w", err)
	}
	if err := c.loadedFloor(ctx, size, loaded); err != nil {
		return fmt.Errorf("loaded floor: %w", err)
	}
	pods := make([]*v1.Pod, size)
	for i := range pods {
		pods[i] = bound(plain(c.node.lab))
	}
	tell := c.usedCPU(fmt.Sprintf("%d pods, %s, start", size, c.kind))
	begin := time.Now()
	if err := each(pods, 10, func(p *v1.Pod) error { return c.create(ctx, p) }); err != nil {
		return err
	}
	out, err := c.node.collect(ctx, pods, "", begin)
	if err != nil {
		return err
	}
	tell()
	var shown time.Time
	for _, p := range pods {
		at, err := c.seen.awaitReady(ctx, p.Name)
		if err != nil {
			return err
		}
		if at.After(shown) {
			shown = at
		}
	}
	for _, l := range []burstLines{lines, loaded} {
		l.median.agent(c.kind, out.median)
		l.last.agent(c.kind, out.last)
	}
	lines.ready.agent(c.kind, shown.Sub(begin))
	lines.later.agent(c.kind, shown.Sub(begin)-out.last)
	time.Sleep(time.Second)
	tell = c.usedCPU(fmt.Sprintf("%d pods, %s, end", size, c.kind))
	begin = time.Now()
	if err := c.removeAll(ctx, pods); err != nil {
		return err
	}
	var last time.Time
	for _, p := range pods {
		if at, err := c.seen.awaitGone(ctx, p.Name); err == nil && at.After(last) {
			last = at
		}
	}
	tell()
	lines.gone.agent(c.kind, last.Sub(begin))
	loaded.gone.agent(c.kind, last.Sub(begin))
	time.Sleep(time.Second)
	return nil
}

type burstLines struct{ median, last, ready, later, gone *line }

// burstFloor tries another width in each turn.
func (c *clusterBench) burstFloor(ctx context.Context, size int, lines burstLines) error {
	width := widths()[c.phase%len(widths())]
	pods := make([]*v1.Pod, size)
	for i := range pods {
		pods[i] = plain(c.twin.lab)
	}
	begin := time.Now()
	all, err := c.twin.cri.burst(ctx, pods, width)
	if err != nil {
		return err
	}
	out, err := c.twin.collect(ctx, pods, "", begin)
	if err != nil {
		return err
	}
	lines.median.floor(width, out.median)
	lines.last.floor(width, out.last)
	time.Sleep(time.Second)
	begin = time.Now()
	if err := each(all, width, func(m *made) error { return c.twin.cri.stop(ctx, m) }); err != nil {
		return err
	}
	last, err := c.twin.events.awaitAllGone(ctx, pods)
	if err != nil {
		return err
	}
	lines.gone.floor(width, last.Sub(begin))
	return nil
}
