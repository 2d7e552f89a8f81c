package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a process that the lab started, recorded so that a later process
// with the same number is never mistaken for it.
type process struct {
	PID int
	// Start is the start time in clock ticks since boot; Boot names the boot.
	Start uint64
	Boot  string
}

// spawn starts a program that outlives this process, in a session of its own,
// with its output appended to logFile.
func spawn(dir, logFile string, env []string, path string, args ...string) (process, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return process{}, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return process{}, err
	}
	p := recordProcess(cmd.Process.Pid)
	go func() { _ = cmd.Wait() }()
	return p, nil
}

func recordProcess(pid int) process {
	st, _ := readStat(pid)
	return process{PID: pid, Start: st.start, Boot: bootID()}
}

func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
}

// alive reports whether the recorded process still runs.
func (p process) alive() bool {
	if p.PID <= 0 || p.Start == 0 || p.Boot != bootID() {
		return false
	}
	st, err := readStat(p.PID)
	return err == nil && st.start == p.Start && st.runs()
}

// reaped reports whether not even a zombie is left of the process.
func (p process) reaped() bool {
	st, err := readStat(p.PID)
	return err != nil || st.start != p.Start
}

// stop ends the process: SIGTERM, and SIGKILL when grace is over.
func (p process) stop(ctx context.Context, grace time.Duration) error {
	// On Linux this pins the process, so the number cannot be recycled
	// between the check and the signal.
	h, err := os.FindProcess(p.PID)
	if err != nil || !p.alive() {
		return nil
	}
	defer func() { _ = h.Release() }()
	for _, step := range []struct {
		sig  os.Signal
		wait time.Duration
	}{{syscall.SIGTERM, grace}, {syscall.SIGKILL, 10 * time.Second}} {
		if step.wait <= 0 {
			continue
		}
		if err := h.Signal(step.sig); errors.Is(err, os.ErrProcessDone) {
			return nil
		} else if err != nil {
			return fmt.Errorf("signal process %d: %w", p.PID, err)
		}
		gone := poll(ctx, step.wait, 5*time.Millisecond, func() bool { return !p.alive() })
		if gone {
			return nil
		}
	}
	return fmt.Errorf("process %d does not end", p.PID)
}

// poll calls done until it is true, the time is over, or ctx is done.
func poll(ctx context.Context, limit, every time.Duration, done func() bool) bool {
	end := time.Now().Add(limit)
	for {
		if done() {
			return true
		}
		if ctx.Err() != nil || time.Now().After(end) {
			return false
		}
		time.Sleep(every)
	}
}

// stat is what the lab uses of /proc/PID/stat.
type stat struct {
	state   byte // of the first thread
	ppid    int
	threads int // that have not ended, and the first one
	start   uint64
}

// runs reports whether a thread is left. While one is, the process listens where it did, even if its first thread has ended.
func (s stat) runs() bool {
	return s.state != 'Z' && s.state != 'X' || s.threads > 1
}

func readStat(pid int) (stat, error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return stat{}, err
	}
	return parseStat(data)
}

func parseStat(data []byte) (stat, error) {
	// The name in parentheses may hold anything, parentheses too.
	_, rest, ok := bytes.Cut(data[max(0, bytes.LastIndexByte(data, ')')):], []byte(") "))
	fields := strings.Fields(string(rest))
	if !ok || len(fields) < 20 {
		return stat{}, fmt.Errorf("not a process status: %q", data)
	}
	ppid, err1 := strconv.Atoi(fields[1])
	threads, err2 := strconv.Atoi(fields[17])
	start, err3 := strconv.ParseUint(fields[19], 10, 64)
	return stat{state: fields[0][0], ppid: ppid, threads: threads, start: start}, errors.Join(err1, err2, err3)
}

// processes returns the numbers of all processes.
func processes() []int {
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killTree kills the processes that match, and all that descend from them.
func killTree(ctx context.Context, match func(cmdline []string) bool) error {
	children := make(map[int][]int)
	var doomed []int
	for _, pid := range processes() {
		st, err := readStat(pid)
		if err != nil {
			continue
		}
		children[st.ppid] = append(children[st.ppid], pid)
		cmdline, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if match(strings.Split(strings.TrimRight(string(cmdline), "\x00"), "\x00")) {
			doomed = append(doomed, pid)
		}
	}
	for i := 0; i < len(doomed); i++ {
		doomed = append(doomed, children[doomed[i]]...)
	}
	// The last first: a shim reaps its containers, so they must not outlive it.
	var errs []error
	for _, pid := range slices.Backward(doomed) {
		p := recordProcess(pid)
		errs = append(errs, p.stop(ctx, 0))
		poll(ctx, time.Second, time.Millisecond, p.reaped)
	}
	return errors.Join(errs...)
}
