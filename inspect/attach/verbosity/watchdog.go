package verbosity

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// armed is what a watchdog says when it is ready.
	armed = "armed\n"
	// patience is how long the kubelet is asked until it answers, retry how often.
	patience = 10 * time.Minute
	retry    = time.Second
	// maxJob bounds what a watchdog reads.
	maxJob = 64 << 10
)

// Watchdog reads a job from in and says on out that it is armed. It puts the verbosity back when in ends, at the job's time, or when ctx
// ends, whichever is first.
func Watchdog(ctx context.Context, in io.Reader, out io.Writer) error {
	r := bufio.NewReader(io.LimitReader(in, maxJob))
	line, err := r.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	var j Job
	if err := json.Unmarshal(line, &j); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	if _, err := io.WriteString(out, armed); err != nil {
		return err
	}
	gone := make(chan struct{})
	go func() {
		io.Copy(io.Discard, r) //nolint:errcheck // any end is one
		close(gone)
	}()
	t := time.NewTimer(time.Until(j.Until))
	defer t.Stop()
	select {
	case <-gone:
	case <-t.C:
	case <-ctx.Done():
	}
	return j.putBack()
}

// putBack tries until the kubelet answers.
func (j *Job) putBack() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		if err = j.Set(ctx, j.Old); err == nil || j.ended() {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("put the verbosity back to %d: %w", j.Old, err)
		case <-time.After(retry):
		}
	}
}

// ended reports whether the kubelet whose verbosity was raised is known to have ended, where its files are those that its process sees: the next
// one begins with the verbosity of its configuration.
func (j *Job) ended() bool {
	for _, pin := range j.Pins {
		below, ok := strings.CutPrefix(pin, "/proc/")
		pid, _, _ := strings.Cut(below, "/")
		if _, err := os.Stat("/proc/" + pid); !ok || !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return len(j.Pins) > 0
}

// arming is how long the watchdog may take to be ready: a process of its own, on a node that may have no processor to spare. Nothing is
// raised before.
const arming = 20 * time.Second

// ErrNotArmed says that the watchdog did not get ready: nothing was raised.
var ErrNotArmed = errors.New("the watchdog is not ready: the verbosity stays")

// ErrOver says that the job's time was over before the verbosity was raised. It is as it was.
var ErrOver = errors.New("the time for which the verbosity is raised was over before it was")

// Raised is a verbosity that is raised.
type Raised struct {
	// Done is closed when it was put back, or cannot be; see Err.
	Done  chan struct{}
	life  io.Closer
	once  sync.Once
	err   error
	until time.Time
}

// Raise arms the watchdog, which is run by the command, and raises the verbosity. The command is this program, as it calls [Watchdog] with
// its standard input and output.
func (j *Job) Raise(ctx context.Context, level int, watchdog *exec.Cmd) (_ *Raised, err error) {
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	in, err := watchdog.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := watchdog.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var errs bytes.Buffer
	watchdog.Stderr, watchdog.WaitDelay = &errs, time.Second
	watchdog.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the terminal's signals are for the others
	if err := watchdog.Start(); err != nil {
		return nil, errors.Join(ErrNotArmed, err)
	}
	r := &Raised{Done: make(chan struct{}), life: in, until: j.Until}
	ready := make([]byte, len(armed))
	_, err = in.Write(append(text, '\n'))
	late := time.AfterFunc(arming, func() {
		watchdog.Process.Kill() //nolint:errcheck // it may have ended
		out.Close()             //nolint:errcheck // what it started may have it open, too
	})
	if err == nil {
		_, err = io.ReadFull(out, ready)
	}
	late.Stop()
	go func() {
		defer close(r.Done)
		if err := watchdog.Wait(); err != nil {
			r.err = fmt.Errorf("the watchdog: %w: %s", err, bytes.TrimSpace(errs.Bytes()))
		}
	}()
	if err != nil || string(ready) != armed {
		r.Close() //nolint:errcheck // the other error counts
		return nil, errors.Join(ErrNotArmed, err, r.err)
	}
	switch err := j.raise(ctx, level); {
	case err == nil:
		return r, nil
	case refused(err):
		watchdog.Process.Kill() //nolint:errcheck // it may have ended
		<-r.Done
		return nil, err
	default:
		return nil, errors.Join(err, r.closeWithin(settling))
	}
}

// settling is how long Raise waits, after it failed, until the verbosity was put back. The watchdog continues.
const settling = 15 * time.Second

// closeWithin is Close that waits for a limited time.
func (r *Raised) closeWithin(d time.Duration) error {
	r.Release()
	select {
	case <-r.Done:
		return r.err
	case <-time.After(d):
		return fmt.Errorf("the kubelet does not answer: a watchdog tries for %v to put its verbosity back", patience)
	}
}

// raise sets the verbosity. If the job's time is over then, the watchdog may have put it back before, and it is put back once more.
func (j *Job) raise(ctx context.Context, level int) error {
	err := j.Set(ctx, level)
	if refused(err) || time.Now().Before(j.Until) {
		return err
	}
	return errors.Join(ErrOver, err, j.putBack())
}

// Until is when it is put back at the latest.
func (r *Raised) Until() time.Time { return r.until }

// Release has the verbosity put back. It does not wait.
func (r *Raised) Release() {
	r.once.Do(func() { r.life.Close() }) //nolint:errcheck // its end is what counts
}

// Err says after Done whether it was put back.
func (r *Raised) Err() error { return r.err }

// Close has the verbosity put back, and waits for that.
func (r *Raised) Close() error {
	r.Release()
	<-r.Done
	return r.err
}
