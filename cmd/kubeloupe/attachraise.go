package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/inspect/attach/verbosity"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// maxRaised is how long a kubelet's verbosity may be raised, maxLevel how far: from V10 on, a kubelet logs environments.
	maxRaised = time.Hour
	maxLevel  = 5
	// putBackTime is how long attach waits at its end until the verbosity was put back; the watchdog continues.
	putBackTime = 15 * time.Second
	// watchdogName is the hidden command that is the watchdog, putBackName that of the timer.
	watchdogName = "verbosity-watchdog"
	putBackName  = "verbosity-put-back"
)

// raising says that the kubelet's verbosity is to be raised for a while.
type raising struct {
	level      int
	time       time.Duration
	kubeconfig string

	raised *verbosity.Raised
	old    int
}

func (r *raising) add(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&r.level, "raise-verbosity", 0, "raise the kubelet's verbosity to this level for a limited time, for example 4; needs credentials for the kubelet's API")
	f.DurationVar(&r.time, "for", time.Minute, "how long the verbosity is raised; the earlier verbosity is restored after this time or when attach ends, also if it is killed")
	f.StringVar(&r.kubeconfig, "kubelet-kubeconfig", "", "kubeconfig with a client certificate or a token that the kubelet's API accepts; by default that of a control plane, if this node is one")
}

// check says what is wrong with the options.
func (r *raising) check() error {
	switch {
	case r.level == 0:
		return nil
	case r.level < 0 || r.level > maxLevel:
		return fmt.Errorf("--raise-verbosity %d: must be 1 to %d", r.level, maxLevel)
	case r.time < time.Second || r.time > maxRaised:
		return fmt.Errorf("--for %s: must be 1s to %s", r.time, maxRaised)
	}
	return nil
}

// begin raises the verbosity, where that was asked for and it is lower.
func (r *raising) begin(ctx context.Context, found *discover.Found, bus *trace.Bus, s streams) error {
	if r.level == 0 {
		return nil
	}
	j, err := r.job(found)
	if err != nil {
		return userError{err}
	}
	if r.old, err = j.Verbosity(ctx); err != nil {
		return userError{fmt.Errorf("--raise-verbosity: %w", err)}
	}
	if r.old >= r.level {
		s.note(fmt.Sprintf("the kubelet's verbosity is %d already", r.old))
		return nil
	}
	j.Old, j.Until = r.old, time.Now().Add(r.time)
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	r.raised, err = nil, verbosity.ErrNotArmed
	if systemd() {
		r.raised, err = j.RaiseByTimer(ctx, r.level, verbosity.Timer{
			Name: fmt.Sprintf("kubeloupe-verbosity-%d", os.Getpid()), PutBack: []string{exe, putBackName}, Run: runQuietly,
		})
	}
	if errors.Is(err, verbosity.ErrNotArmed) {
		r.raised, err = j.Raise(ctx, r.level, exec.Command(exe, watchdogName))
	}
	if err != nil {
		return userError{fmt.Errorf("--raise-verbosity: %w", err)}
	}
	text := fmt.Sprintf("attach: the verbosity of %s is raised from %d to %d until %s", found.Kind, r.old, r.level, j.Until.Format(time.TimeOnly))
	if found.Kind != discover.Kubelet {
		text += "; this is that of the whole process, with all that runs in it"
	}
	trace.Point(bus, trace.Span{}, trace.Log{Level: trace.LevelWarn, Message: text})
	go func() {
		<-r.raised.Done
		e := trace.Log{Level: trace.LevelInfo, Message: fmt.Sprintf("attach: the verbosity was put back to %d", r.old)}
		if err := r.raised.Err(); err != nil {
			e = trace.Log{Level: trace.LevelError, Message: "attach: the verbosity may not have been put back: " + err.Error()}
		}
		trace.Point(bus, trace.Span{}, e)
	}()
	return nil
}

// systemd reports whether systemd runs this machine, and this process can ask it.
func systemd() bool {
	_, err := os.Stat("/run/systemd/system")
	return err == nil
}

// runQuietly runs a program of systemd, whose output is in the error.
func runQuietly(ctx context.Context, program string, args ...string) error {
	if said, err := exec.CommandContext(ctx, program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %.500s", program, err, bytes.TrimSpace(said))
	}
	return nil
}

// job is what verbosity needs to know of the kubelet.
func (*raising) job(found *discover.Found) (*verbosity.Job, error) {
	c := kubeletClient(found)
	if c == nil || c.Plain {
		return nil, errors.New("--raise-verbosity needs credentials for the kubelet's API, and none were found on this node: give --kubelet-kubeconfig")
	}
	return &verbosity.Job{Client: *c}, nil
}

// end has the verbosity put back, and waits for that a while.
func (r *raising) end() error {
	if r.raised == nil {
		return nil
	}
	r.raised.Release()
	select {
	case <-r.raised.Done:
		return r.raised.Err()
	case <-time.After(putBackTime):
		return fmt.Errorf("the kubelet does not answer: a watchdog tries for ten minutes to put its verbosity back to %d", r.old)
	}
}

// label says that the verbosity is raised, "" where it is not.
func (r *raising) label() string {
	if r.raised == nil {
		return ""
	}
	select {
	case <-r.raised.Done:
		return ""
	default:
		return fmt.Sprintf("RAISED V%d→V%d until %s", r.old, r.level, r.raised.Until().Format(time.TimeOnly))
	}
}

// newVerbosityWatchdog is the process that puts a verbosity back when attach cannot.
func newVerbosityWatchdog(s streams) *cobra.Command {
	return &cobra.Command{
		Use: watchdogName, Hidden: true, Args: cobra.NoArgs,
		Short: "Put a kubelet's verbosity back when standard input ends; attach starts it",
		RunE:  func(c *cobra.Command, _ []string) error { return verbosity.Watchdog(c.Context(), s.in, s.out) },
	}
}

// newVerbosityPutBack is what a timer of systemd runs when attach does not live any more.
func newVerbosityPutBack() *cobra.Command {
	return &cobra.Command{
		Use: putBackName, Hidden: true, Args: cobra.ExactArgs(1),
		Short: "Put a kubelet's verbosity back; the timer that attach arms runs it",
		RunE:  func(_ *cobra.Command, args []string) error { return verbosity.PutBack(args[0]) },
	}
}
