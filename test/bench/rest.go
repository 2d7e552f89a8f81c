package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
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

// quietFor is how long one reads nothing who has read all. A recorder looks every 20 ms while it receives the past, and
// hardly works meanwhile.
const quietFor = 300 * time.Millisecond

// quiet waits until the process has read nothing for a while.
func quiet(ctx context.Context, pid int) error {
	var last []byte
	since := time.Now()
	for end := since.Add(30 * time.Second); time.Now().Before(end); {
		io, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
		if err != nil {
			return err
		}
		_, io, _ = bytes.Cut(io, []byte("rchar: "))
		io, _, _ = bytes.Cut(io, []byte("\n"))
		switch {
		case !bytes.Equal(io, last):
			last, since = io, time.Now()
		case time.Since(since) >= quietFor:
			return nil
		}
		if err := pause(ctx, quietFor/10); err != nil {
			return err
		}
	}
	return fmt.Errorf("process %d reads on and on", pid)
}

// cpuTime reads the processes' CPU clocks: clock_getcpuclockid(3).
func cpuTime(pids []int) (sum time.Duration, err error) {
	for _, pid := range pids {
		var t unix.Timespec
		if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil {
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
