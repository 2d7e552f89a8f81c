package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endTime is how long the processes in the namespaces have to end the tests and keep their logs, before they are killed.
const endTime = 5 * time.Minute

// namespaces are those that a run has for itself. All of its processes end with the first one, and mounts and network devices go with them.
const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS

// spawnInit runs this program again as the first process in namespaces of its own, and waits for its end.
func spawnInit(ctx context.Context, p plan, out io.Writer) error {
	told, err := json.Marshal(p)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the child dies with the thread that made it
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	cmd.Env = append(os.Environ(), stageEnv+"="+stageInit, planEnv+"="+string(told))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = endTime
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("in the namespaces: %w", errors.Join(ctx.Err(), err))
	}
	return ctx.Err()
}

// initHost is the first process in the namespaces. It furnishes them, runs the tests in another process, and reaps what others leave. It
// does not return unless something fails before.
func initHost() error {
	// The cgroup namespace is that of a thread, and of the processes that it makes.
	runtime.LockOSThread()
	p, err := planOf()
	if err != nil {
		return err
	}
	if err := furnishNamespaces(p); err != nil {
		return err
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), stageEnv+"="+stageTests, "KUBELOUPE_CACHE="+p.Cache, "PATH="+inside+"/bin:"+os.Getenv("PATH"), "TMPDIR=/tmp")
	if err := cmd.Start(); err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR) || err == nil && pid != cmd.Process.Pid:
		case err != nil:
			return fmt.Errorf("wait for the tests: %w", err)
		case status.Signaled():
			return fmt.Errorf("the process of the tests was ended by the signal %s", status.Signal())
		default:
			os.Exit(status.ExitStatus())
		}
	}
}
