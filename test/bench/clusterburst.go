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
	if err := c.burstFloor(ctx, size, lines); err != nil {
		return fmt.Errorf("floor: %w", err)
	}
	out, err := c.agentBurst(ctx, size)
	if err != nil {
		return err
	}
	lines.median.agent(c.kind, out.median)
	lines.last.agent(c.kind, out.last)
	lines.ready.agent(c.kind, out.ready)
	lines.later.agent(c.kind, out.ready-out.last)
	lines.gone.agent(c.kind, out.gone)
	return nil
}

type burstLines struct{ median, last, ready, later, gone *line }

// burst is how long it took from a call for all pods to the start of the median and of the last one, until the API had all Ready, and
// from another call to the end of the last one.
type burst struct {
	outcome
	ready, gone time.Duration
}

// agentBurst has the agent start and end many pods.
func (c *clusterBench) agentBurst(ctx context.Context, size int) (burst, error) {
	var out burst
	pods := make([]*v1.Pod, size)
	for i := range pods {
		pods[i] = bound(plain(c.node.lab))
	}
	tell := c.usedCPU(fmt.Sprintf("%d pods, %s, start", size, c.kind))
	begin := time.Now()
	err := each(pods, 10, func(p *v1.Pod) error { return c.create(ctx, p) })
	if err != nil {
		return out, err
	}
	if out.outcome, err = c.node.collect(ctx, pods, "", begin); err != nil {
		return out, err
	}
	tell()
	for _, p := range pods {
		at, err := c.seen.awaitReady(ctx, p.Name)
		if err != nil {
			return out, err
		}
		out.ready = max(out.ready, at.Sub(begin))
	}
	time.Sleep(time.Second)
	tell = c.usedCPU(fmt.Sprintf("%d pods, %s, end", size, c.kind))
	begin = time.Now()
	if err := c.removeAll(ctx, pods); err != nil {
		return out, err
	}
	for _, p := range pods {
		at, err := c.seen.awaitGone(ctx, p.Name)
		if err != nil {
			return out, err
		}
		out.gone = max(out.gone, at.Sub(begin))
	}
	tell()
	time.Sleep(time.Second)
	return out, nil
}

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
