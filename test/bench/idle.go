package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// events compares starts with and without the event stream, on the same lab in turn.
func (b *bench) events(ctx context.Context) error {
	var on, off []time.Duration
	for range 8 {
		for _, arm := range []struct {
			into *[]time.Duration
			args []string
		}{{&on, []string{"-o", "json"}}, {&off, []string{"--event-buffer", "0"}}} {
			if err := b.startAgent(ctx, &b.ours, arm.args...); err != nil {
				return err
			}
			for i := range max(4, b.o.n/2) {
				start, _, err := b.agentOne(ctx, plain(b.ours.lab))
				if err != nil {
					return err
				}
				if i > 0 {
					*arm.into = append(*arm.into, start)
				}
			}
		}
	}
	report("events on (json) against off p50", p50(off), p50(on), 1.02)
	return nil
}

// idle measures what the agent uses when nothing happens.
func (b *bench) idle(ctx context.Context) error {
	if err := b.startAgent(ctx, &b.ours); err != nil {
		return err
	}
	var pods []*v1.Pod
	for _, size := range []int{0, 30} {
		for len(pods) < size {
			p := plain(b.ours.lab)
			pods = append(pods, p)
			if err := b.agent.write(p); err != nil {
				return err
			}
		}
		for _, p := range pods {
			if _, err := b.ours.events.awaitStarted(ctx, p.Name+"-"+hostname(), 1); err != nil {
				return err
			}
		}
		time.Sleep(5 * time.Second)
		pid := b.agent.cmd.Process.Pid
		before, _, err := usage(pid)
		if err != nil {
			return err
		}
		woke, err := wakeups(pid)
		if err != nil {
			return err
		}
		select {
		case <-time.After(b.o.idle):
		case <-ctx.Done():
			return ctx.Err()
		}
		after, rss, err := usage(pid)
		if err != nil {
			return err
		}
		wokeAfter, err := wakeups(pid)
		if err != nil {
			return err
		}
		cpu := 100 * float64(after-before) / float64(b.o.idle)
		fmt.Printf("%-34s %10s %7.2f %% %7s  ≤ 1 %%   of a core\n", fmt.Sprintf("idle CPU, %d pods", size), "-", cpu, "")
		fmt.Printf("%-34s %10s %6.1f MiB %6s  ≤ 50 MiB\n", fmt.Sprintf("RSS, %d pods", size), "-", float64(rss)/(1<<20), "")
		fmt.Printf("%-34s %10s %8.0f %8s  per minute\n", fmt.Sprintf("wake-ups, %d pods", size), "-", (wokeAfter-woke)/b.o.idle.Minutes(), "")
	}
	for _, p := range pods {
		if err := b.agent.remove(p); err != nil {
			return err
		}
	}
	for _, p := range pods {
		if _, err := b.ours.events.awaitGone(ctx, p.Name+"-"+hostname()); err != nil {
			return err
		}
	}
	return nil
}

func hostname() string {
	h, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return strings.ToLower(h)
}
