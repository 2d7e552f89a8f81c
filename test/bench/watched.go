package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// arm starts an agent on our lab that somebody looks at; end is called before the agent is stopped.
type arm func(ctx context.Context, b *bench) (end func() error, err error)

// watchedReach is what being looked at may cost a start.
const watchedReach = 1.02

// starts are what one arm gave in one round.
type starts struct {
	one          []time.Duration
	median, last time.Duration // of the burst
}

// watched compares starts under an agent that is looked at with one that prints to nowhere, in turn.
func (b *bench) watched(ctx context.Context, title string, on arm) error {
	var off, with []starts
	for i := range b.o.rounds {
		arms := []struct {
			start arm
			into  *[]starts
		}{{alone, &off}, {on, &with}}
		if i%2 == 1 {
			slices.Reverse(arms)
		}
		for _, a := range arms {
			s, err := b.round(ctx, a.start)
			if err != nil {
				return err
			}
			*a.into = append(*a.into, s)
		}
	}
	var ones, onesWith []time.Duration
	for i := range off {
		ones, onesWith = append(ones, off[i].one...), append(onesWith, with[i].one...)
	}
	report(title+", one p50", p50(ones), p50(onesWith), watchedReach)
	for _, of := range []struct {
		what string
		get  func(starts) time.Duration
	}{
		{fmt.Sprintf("burst of %d, median", b.o.pods), func(s starts) time.Duration { return s.median }},
		{fmt.Sprintf("burst of %d, last", b.o.pods), func(s starts) time.Duration { return s.last }},
	} {
		var x, y []time.Duration
		var ratios []string
		for i := range off {
			x, y = append(x, of.get(off[i])), append(y, of.get(with[i]))
			ratios = append(ratios, fmt.Sprintf("%.2f", float64(y[i])/float64(x[i])))
		}
		report(of.what, p50(x), p50(y), watchedReach)
		fmt.Printf("  by round: %s\n", strings.Join(ratios, " "))
	}
	return nil
}

// round measures one arm once: pods one by one, then many at once.
func (b *bench) round(ctx context.Context, start arm) (s starts, err error) {
	end, err := start(ctx, b)
	if err != nil {
		return s, err
	}
	defer func() {
		if e := end(); err == nil {
			err = e
		}
		if e := b.stopAgent(); err == nil {
			err = e
		}
	}()
	for i := range b.o.n + 1 {
		took, _, err := b.agentOne(ctx, plain(b.ours.lab))
		if err != nil {
			return s, err
		}
		if i > 0 { // the first warms up
			s.one = append(s.one, took)
		}
	}
	burst, err := b.agentBurst(ctx, b.o.pods)
	s.median, s.last = burst.median, burst.last
	return s, err
}

func nothing() error { return nil }

// alone is an agent that prints lines to a file and is not looked at.
func alone(ctx context.Context, b *bench) (func() error, error) {
	return nothing, b.startAgent(ctx, &b.ours)
}

// recorded is an agent that records its session.
func recorded(ctx context.Context, b *bench) (func() error, error) {
	return nothing, b.startAgent(ctx, &b.ours, "--record", filepath.Join(b.dir, "session.klr"))
}

// onStuckTerminal is an agent whose UI is on a terminal that takes nothing.
func onStuckTerminal(ctx context.Context, b *bench) (func() error, error) {
	t, err := openStuck()
	if err != nil {
		return nil, err
	}
	return t.close, b.startAgentOn(ctx, &b.ours, t.tty, "--view", "log")
}

// withStuckClient is an agent to which a UI is attached whose terminal takes nothing.
func withStuckClient(ctx context.Context, b *bench) (func() error, error) {
	t, err := openStuck()
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(b.dir, "control.sock")
	if err := b.startAgent(ctx, &b.ours, "--control-socket", socket); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, b.o.bin, "tui", "--socket", socket, "--view", "log")
	onTerminal(cmd, t.tty)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	var ending error
	go func() {
		defer close(ended)
		ending = cmd.Wait()
	}()
	return func() error {
		select {
		case <-ended:
			return fmt.Errorf("the attached UI ended before the agent: %w", ending)
		default:
		}
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		<-ended                                 // by the signal, or with the agent
		return t.close()
	}, nil
}
