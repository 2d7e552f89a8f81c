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
		start:  c.table.pairTimes(title+"agent's CPU time of a start", 0.5),
		end:    c.table.pairTimes(title+"agent's CPU time of a deletion", 0.5),
	}
	if err := c.burstFloor(ctx, size, lines); err != nil {
		return fmt.Errorf("floor: %w", err)
	}
	out, err := c.agentBurst(ctx, size, 2*settleTime)
	if err != nil {
		return err
	}
	lines.median.agent(c.kind, out.median)
	lines.last.agent(c.kind, out.last)
	lines.ready.agent(c.kind, out.ready)
	lines.later.agent(c.kind, out.ready-out.last)
	lines.gone.agent(c.kind, out.gone)
	lines.start.agent(c.kind, out.startCPU/time.Duration(size))
	lines.end.agent(c.kind, out.endCPU/time.Duration(size))
	return nil
}

type burstLines struct{ median, last, ready, later, gone, start, end *line }

// settleTime is how long the machine is left alone after a burst.
const settleTime = time.Second

// burst is how long it took from a call for all pods to the start of the median and of the last one, until the API had all Ready, and
// from another call to the end of the last one. The agent's CPU time includes what it writes in the time to settle, such as Events.
type burst struct {
	outcome
	ready, gone      time.Duration
	startCPU, endCPU time.Duration
}

// agentBurst has the agent start and end many pods, and leaves the machine alone for the time to settle after both.
func (c *clusterBench) agentBurst(ctx context.Context, size int, settle time.Duration) (burst, error) {
	var out burst
	pods := make([]*v1.Pod, size)
	for i := range pods {
		pods[i] = bound(plain(c.node.lab))
	}
	idle, _, err := usage(c.agent.PID())
	if err != nil {
		return out, err
	}
	tell := c.usedCPU(fmt.Sprintf("%d pods, %s, start", size, c.kind))
	begin := time.Now()
	err = each(pods, 10, func(p *v1.Pod) error { return c.create(ctx, p) })
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
	time.Sleep(settle)
	started, _, err := usage(c.agent.PID())
	if err != nil {
		return out, err
	}
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
	time.Sleep(settle)
	ended, _, err := usage(c.agent.PID())
	out.startCPU, out.endCPU = started-idle, ended-started
	return out, err
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
	time.Sleep(settleTime)
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
