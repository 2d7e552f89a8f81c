package verbosity

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

const (
	// lease is how long after its last renewal a timer puts the verbosity back, renewal how often that is.
	lease   = time.Minute
	renewal = 20 * time.Second
	// notLoaded is the exit status of systemctl for a unit that is not there.
	notLoaded = 5
)

// Timer is a transient timer of systemd. It is in systemd's own memory: nothing that is killed takes it along.
type Timer struct {
	// Name is that of its units, without the suffix.
	Name string
	// PutBack is a command, which gets one more argument and hands it to [PutBack].
	PutBack []string
	// Run runs systemd-run or systemctl.
	Run func(ctx context.Context, program string, args ...string) error

	lease, renewal time.Duration // of tests
}

// RaiseByTimer arms a timer, and raises the verbosity. The timer is armed anew while this process lives. It puts the verbosity back a minute
// after that ends, whatever ended it.
func (j *Job) RaiseByTimer(ctx context.Context, level int, t Timer) (*Raised, error) {
	if t.lease == 0 {
		t.lease, t.renewal = lease, renewal
	}
	if err := t.arm(ctx, j); err != nil {
		return nil, errors.Join(ErrNotArmed, err)
	}
	if err := j.Set(ctx, level); err != nil {
		// A kubelet that did not answer may have raised it, or do so later. If it does not take the old value either, the timer stays.
		if refused(err) || j.Set(context.WithoutCancel(ctx), j.Old) == nil {
			err = errors.Join(err, t.stop())
		}
		return nil, err
	}
	released := make(chan struct{})
	r := &Raised{Done: make(chan struct{}), life: closer(released), until: j.Until}
	go func() {
		defer close(r.Done)
		t.hold(j.Until, released)
		if r.err = j.putBack(); r.err == nil {
			r.err = t.stop()
		}
	}()
	return r, nil
}

// closer is a channel that is closed once.
type closer chan struct{}

func (c closer) Close() error {
	close(c)
	return nil
}

func (t *Timer) arm(ctx context.Context, j *Job) error {
	timers := *j
	if err := timers.absolute(); err != nil { // its command runs in another directory
		return err
	}
	text, err := json.Marshal(&timers)
	if err != nil {
		return err
	}
	first := min(t.lease, time.Until(j.Until)+renewal/2)
	args := []string{
		"--quiet", "--collect", "--unit=" + t.Name, fmt.Sprintf("--description=Put the verbosity of the kubelet back to %d", j.Old),
		fmt.Sprintf("--on-active=%dms", first.Milliseconds()), "--timer-property=AccuracySec=1s", "--",
	}
	// A unit's command line has characters of its own: the job has none of them.
	args = append(append(args, t.PutBack...), base64.RawURLEncoding.EncodeToString(text))
	return t.run(ctx, "systemd-run", args...)
}

// hold arms the timer anew until the verbosity is to be put back: at its time, when it is released, or because the timer has done it.
func (t *Timer) hold(until time.Time, released <-chan struct{}) {
	end, tick := time.NewTimer(time.Until(until)), time.NewTicker(t.renewal)
	defer end.Stop()
	defer tick.Stop()
	for armed := time.Now(); time.Since(armed) < t.lease; {
		select {
		case <-end.C:
			return
		case <-released:
			return
		case <-tick.C:
		}
		if t.run(context.Background(), "systemctl", "restart", t.Name+".timer") == nil {
			armed = time.Now()
		}
	}
}

// stop ends the timer, after which nothing is left of it.
func (t *Timer) stop() error {
	err := t.run(context.Background(), "systemctl", "stop", t.Name+".timer")
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == notLoaded {
		return nil // it has put the verbosity back meanwhile
	}
	return err
}

func (t *Timer) run(ctx context.Context, program string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	return t.Run(ctx, program, args...)
}

// PutBack puts a verbosity back, which a timer's command asks for. It tries until the kubelet answers.
func PutBack(job string) error {
	j, err := decode(job)
	if err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	return j.putBack()
}

func decode(job string) (*Job, error) {
	text, err := base64.RawURLEncoding.DecodeString(job)
	if err != nil {
		return nil, err
	}
	j := new(Job)
	return j, json.Unmarshal(text, j)
}
