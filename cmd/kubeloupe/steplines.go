package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
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

// typeAhead is how long a person's command waits for the next stop before more is read. A script's waits for
// as long as it takes.
const typeAhead = 3 * time.Second

// failed reports whether a pass over the pod ended with an error.
func failed(r *trace.Record) bool {
	e, ok := r.Event.(*trace.Sync)
	return ok && r.Edge == trace.EdgeEnd && e.Err != ""
}

// talk is stepping by lines: where it stands between what the pod and the person say.
type talk struct {
	*stepping
	stop     step.Stop
	history  []trace.Record
	want     chan struct{} // asks for a line
	lines    chan string
	hand     bool       // a person types
	asking   bool       // a line is wanted
	moved    bool       // an action was let go, and it or what follows it runs
	ahead    step.Ahead // what was typed meanwhile, or a script's line that wants an action to wait
	started  bool
	giveUp   <-chan time.Time
	patience <-chan time.Time
}

// lines is stepping without the UI: stops are printed, commands are read.
func (st *stepping) lines(ctx context.Context) error {
	t := &talk{stepping: st, hand: st.script == nil && isTerminal(st.s.in)}
	return t.run(ctx)
}

func (t *talk) run(ctx context.Context) error {
	st := t.stepping
	t.want, t.lines = make(chan struct{}, 1), make(chan string)
	var news chan trace.Record
	if st.node != nil {
		news = make(chan trace.Record, 16)
		cur := st.node.bus.Subscribe(trace.FromOldest)
		defer cur.Close()
		go st.follow(ctx, cur, news)
	}
	go t.read(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.giveUp:
			return fmt.Errorf("%s has not started within %s; it continues without step", st.pod, leaveAfter)
		case <-st.ended:
			st.say("the session has ended; the pod continues\n")
			return st.why()
		case stop, ok := <-st.front.Stops():
			if !ok {
				return nil
			}
			t.stopped(stop)
			t.typedAhead(ctx)
		case <-t.patience: // a person may want to quit what does not come to the next stop
			t.ask()
		case r, ok := <-news:
			if !ok || t.hear(&r) {
				return nil
			}
		case line, ok := <-t.lines:
			t.asking = false
			if !ok {
				if t.inputEnded() {
					return nil
				}
				continue
			}
			if t.typed(ctx, line) {
				return nil
			}
		}
	}
}

// typed takes a line, which may have to wait for the action that runs. done ends stepping.
func (t *talk) typed(ctx context.Context, line string) (done bool) {
	if isQuit(line) {
		t.drop()
		_ = t.command(ctx, line) // it has said so
		return true
	}
	switch waits, err := t.ahead.Keep(line, t.moved); {
	case err != nil:
		t.say("%v\n", err)
		t.ask()
	case waits && t.moved:
		t.say("running  %s; then %s\n", t.stop.Next, &t.ahead)
		if name, _ := step.Split(line); name != "shell" { // it reads what follows
			t.ask()
		}
	case waits:
		t.typedAhead(ctx)
	default:
		_ = t.command(ctx, line) // it has said so
	}
	return false
}

// typedAhead carries out what was typed while an action ran: up to a command that lets the next one go.
func (t *talk) typedAhead(ctx context.Context) {
	for !t.moved && (t.hand || t.stop.Waits()) {
		line, ok := t.ahead.Next()
		if !ok {
			return
		}
		if t.command(ctx, line) != nil {
			t.drop() // what follows may rest on it
		}
	}
}

// drop drops what was typed ahead, and says so.
func (t *talk) drop() {
	if text := t.ahead.Drop(); text != "" {
		t.say("%s\n", text)
	}
}

// ask lets a line be read, once.
func (t *talk) ask() {
	t.patience = nil
	if !t.asking && t.lines != nil {
		t.asking = true
		t.want <- struct{}{} // has room: only one is requested at a time
	}
}

// stopped takes a stop, or news of a pod of which nothing waits.
func (t *talk) stopped(stop step.Stop) {
	next := t.stop.Next
	t.stop, t.moved = stop, t.moved && stop.Runs()
	if t.moved {
		t.stop.Next = next // as far as is known
	}
	if t.node == nil || stop.Waits() { // otherwise the records tell it
		t.say("\n%s\n", stop.Text())
	}
	if stop.Err != "" && t.hand {
		t.drop() // it was typed for an action that works
	}
	if t.node != nil && !stop.Waits() || t.ahead.Waits() {
		return
	}
	if stop.Waits() || t.hand || stop.Err != "" || passed(&stop, trace.MilestoneStarted, trace.MilestoneReady, trace.MilestoneGone) {
		t.ask()
	}
}

// passed reports whether the newest milestone is one of these.
func passed(stop *step.Stop, names ...trace.MilestoneName) bool {
	n := len(stop.Passed)
	return n > 0 && slices.Contains(names, stop.Passed[n-1].Name)
}

// hear takes a record of the pod; over says that nobody is there any more and the pod has started.
func (t *talk) hear(r *trace.Record) (over bool) {
	t.history = append(t.history, *r)
	if failed(r) {
		t.ask() // there may be no next stop
	}
	if t.tell(r, t.history) {
		t.started = true
		if t.giveUp != nil {
			return true
		}
		t.say("(%s has started; q deletes it, end of input keeps it running)\n", t.pod)
		t.ask()
	}
	return false
}

// inputEnded opens the gate; over says that there is nothing to wait for.
func (t *talk) inputEnded() (over bool) {
	t.lines = nil
	if t.node == nil {
		t.say("end of input: the pod continues\n")
		return true // the session ends with the connection
	}
	t.session.Close()
	if t.started {
		return true
	}
	t.say("end of input: the pod continues\n")
	t.giveUp = time.After(leaveAfter)
	return false
}

// command carries out one line. A line that lets the pod move on is followed by the next one after the next stop.
func (t *talk) command(ctx context.Context, line string) error {
	t.say("> %s\n", line)
	name, rest := step.Split(line)
	switch {
	case isQuit(line):
		t.quit(ctx)
		return nil
	case name == "shell":
		err := t.shell(ctx, rest)
		t.front.Heard("> "+line, nil)
		t.front.Heard("", err)
		t.ask()
		return err
	}
	out, err := t.front.Do(ctx, line)
	switch {
	case errors.Is(err, step.ErrNothingWaits) && t.node == nil && !t.hand:
		_, err = t.ahead.Keep(line, true) // until an action waits; no other line is read before
		return err
	case err != nil:
		t.say("%v\n", err)
	case out != "":
		t.say("%s\n", out)
	}
	if err != nil || !step.Moves(line) {
		t.ask()
		return err
	}
	t.moved = t.stop.Waits()
	if t.hand {
		t.patience = time.After(typeAhead)
	}
	return nil
}

func (t *talk) quit(ctx context.Context) {
	if t.node == nil {
		_, _ = t.front.Do(ctx, "quit") // the connection's end says the same
		t.say("quit: the pod continues\n")
		return
	}
	if err := t.remove(ctx); err != nil {
		t.say("%v\n", err)
		return
	}
	t.say("%s is deleted completely\n", t.pod)
}

// shell runs a command line on the node. Only a person at a terminal gets a shell to type in.
func (t *talk) shell(ctx context.Context, line string) error {
	cmd, err := step.Shell(ctx, &t.stop, line)
	if err == nil && line == "" && !t.hand {
		err = errors.New("without a terminal, a command is needed: ! COMMAND")
	}
	if err != nil {
		t.say("shell: %v\n", err)
		return err
	}
	cmd.Stdout, cmd.Stderr = screen(t.s.out), screen(t.s.out)
	if t.hand {
		cmd.Stdin = t.s.in
	}
	if err = cmd.Run(); err != nil {
		t.say("shell: %v\n", err)
	}
	return err
}

func isQuit(line string) bool {
	name, rest := step.Split(line)
	return name == "quit" && rest == ""
}

// read reads lines of the script or of standard input as they are wanted, and no further: a
// shell reads them too.
func (t *talk) read(ctx context.Context) {
	out := t.lines
	defer close(out)
	in := t.s.in
	if t.script != nil {
		in = t.script
	}
	sc := bufio.NewScanner(in)
	for {
		select {
		case <-t.want:
		case <-ctx.Done():
			return
		}
		line := "#"
		for strings.HasPrefix(line, "#") {
			if !sc.Scan() {
				return
			}
			line = strings.TrimSpace(sc.Text())
		}
		select {
		case out <- line:
		case <-ctx.Done():
			return
		}
	}
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
		if e.Verdict == trace.VerdictReject {
			st.say("! rejected: %s\n", e.Reason)
		}
	case *trace.Milestone:
		if e.Name == trace.MilestoneStarted {
			st.say("\nall containers run, %s after the agent received the pod\n", human.Duration(e.Since))
			if w, err := waterfall.Build(history, st.pod); err == nil {
				st.say("%s\n", w.Text(100, waterfall.TextOptions{}))
			}
			return true
		}
	}
	return false
}

// say prints for the person; a person who is gone is noticed by the end of input.
func (st *stepping) say(format string, args ...any) {
	fmt.Fprint(st.s.out, human.Visible(fmt.Sprintf(format, args...))) //nolint:errcheck // see above
}
