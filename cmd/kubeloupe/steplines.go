package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/step"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// leaveAfter is how long a pod that was let go may take to start before the
// command, whose client is gone, stops waiting for it.
const leaveAfter = 5 * time.Minute

// typeAhead is how long a person's command waits for the next stop. A script's waits for
// as long as it takes.
const typeAhead = 3 * time.Second

// failed reports whether a pass over the pod ended with an error.
func failed(r *trace.Record) bool {
	e, ok := r.Event.(*trace.Sync)
	return ok && r.Edge == trace.EdgeEnd && e.Err != ""
}

// lines is stepping without a terminal: stops are printed, commands are read.
func (st *stepping) lines(ctx context.Context) error {
	news := make(chan trace.Record, 16)
	cur := st.node.bus.Subscribe(trace.FromOldest)
	defer cur.Close()
	var history []trace.Record
	go st.follow(ctx, cur, news)

	commands := st.commands(ctx)
	var read <-chan string // nil while no command is wanted
	var giveUp, patience <-chan time.Time
	started := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-giveUp:
			return fmt.Errorf("%s has not started within %s; it goes on by itself", st.pod, leaveAfter)
		case stop := <-st.session.Stops():
			st.printStop(stop)
			read = commands
		case <-patience: // a person may want to quit what does not come to the next stop
			read = commands
		case r, ok := <-news:
			if !ok {
				return nil
			}
			history = append(history, r)
			if failed(&r) {
				read = commands // there may be no next stop
			}
			if st.tell(&r, history) {
				started = true
				if giveUp != nil {
					return nil // nobody is there any more
				}
				read = commands
				st.say("(%s has started; q deletes it, end of input leaves it running)\n", st.pod)
			}
		case line, ok := <-read:
			if !ok {
				read, commands = nil, nil
				st.session.Close()
				if started {
					return nil
				}
				st.say("input ended: the gate is open, the pod goes on\n")
				giveUp = time.After(leaveAfter)
				continue
			}
			done, resumed := st.command(ctx, line)
			if done {
				return nil
			}
			if resumed {
				read = nil
				if st.script == nil && isTerminal(st.s.in) {
					patience = time.After(typeAhead)
				}
			}
		}
	}
}

// command carries out one line. done ends stepping; resumed says that the pod moves
// on and the next stop should come before the next command.
func (st *stepping) command(ctx context.Context, line string) (done, resumed bool) {
	st.say("> %s\n", line)
	if isQuit(line) {
		if err := st.remove(ctx); err != nil {
			st.say("%v\n", err)
			return true, false
		}
		st.say("%s is deleted, nothing of it is left\n", st.pod)
		return true, false
	}
	out, err := st.session.Do(ctx, line)
	switch {
	case errors.Is(err, step.ErrNothingWaits):
		st.say("%v\n", err)
	case err != nil:
		st.say("%v\n", err)
	case out != "":
		st.say("%s\n", out)
	default:
		return false, true
	}
	return false, false
}

func isQuit(line string) bool {
	l := strings.TrimSpace(line)
	return l == "q" || l == "quit"
}

// commands yields the lines of the script or of standard input.
func (st *stepping) commands(ctx context.Context) <-chan string {
	in := st.s.in
	if st.script != nil {
		in = st.script
	}
	out := make(chan string)
	go func() {
		defer close(out)
		sc := bufio.NewScanner(in)
		for sc.Scan() {
			line := strings.TrimSpace(sc.Text())
			if strings.HasPrefix(line, "#") {
				continue
			}
			select {
			case out <- line:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// follow hands on what is about the stepped pod.
func (st *stepping) follow(ctx context.Context, cur *trace.Cursor, out chan<- trace.Record) {
	defer close(out)
	buf := make([]trace.Record, 0, 64)
	for {
		recs, _, err := cur.Next(ctx, buf)
		if err != nil {
			return
		}
		for _, r := range recs {
			if r.Pod.UID != st.pod.UID {
				continue
			}
			select {
			case out <- r:
			case <-ctx.Done():
				return
			}
		}
	}
}

// tell prints what a person who steps should know at once; it reports whether the
// pod has started.
func (st *stepping) tell(r *trace.Record, history []trace.Record) (started bool) {
	switch e := r.Event.(type) {
	case *trace.Sync:
		if r.Edge == trace.EdgeEnd && e.Err != "" && !st.session.Quitting() {
			st.say("! %s\n", e.Err)
		}
	case *trace.SourceError:
		if e.Message != "" {
			st.say("! %s\n", e.Message)
		}
	case *trace.Decision:
		if e.Verdict == "reject" {
			st.say("! rejected: %s\n", e.Reason)
		}
	case *trace.Milestone:
		if e.Name == "started" {
			st.say("\nall containers run, %s after the pod was seen\n", human.Duration(e.Since))
			if w, err := waterfall.Build(history, st.pod); err == nil {
				st.say("%s\n", w.Text(100, waterfall.TextOptions{}))
			}
			return true
		}
	}
	return false
}

func (st *stepping) printStop(s step.Stop) {
	st.say("\nstep %s  paused before  %s   %d of %d\n%s\n", s.Pod, s.Next, position(s), s.Total, s.Plan())
	if s.RequestTitle != "" {
		st.say("next: %s (p prints it)\n", s.RequestTitle)
	}
	if len(s.Changed) > 0 {
		st.say("changed since the last stop:\n  %s\n", strings.Join(s.Changed, "\n  "))
	}
}

func position(s step.Stop) int {
	for i, a := range s.Actions {
		if a.State == step.Next {
			return i + 1
		}
	}
	return 0
}

// say prints for the person; a person who is gone is noticed by the end of input.
func (st *stepping) say(format string, args ...any) {
	fmt.Fprintf(st.s.out, format, args...) //nolint:errcheck // see above
}
