package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// What is rest: less than a 20th of a CPU.
const (
	restWindow = 60 * time.Millisecond
	restUse    = restWindow / 20
)

// rest waits until all of the processes, and so whatever was begun with them or let go, have come to rest.
func rest(ctx context.Context, pids ...int) error {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		before, err := cpuTime(pids)
		if err != nil {
			return err
		}
		if err := pause(ctx, restWindow); err != nil {
			return err
		}
		after, err := cpuTime(pids)
		if err != nil {
			return err
		}
		if after-before < restUse {
			return nil
		}
	}
	return fmt.Errorf("processes %v do not come to rest", pids)
}

// cpuTime reads the processes' CPU clocks: clock_getcpuclockid(3).
func cpuTime(pids []int) (sum time.Duration, err error) {
	for _, pid := range pids {
		var t unix.Timespec
		if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil { //nolint:gosec // a process id is small
			return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
		}
		sum += time.Duration(t.Nano())
	}
	return sum, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
