package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

const (
	// beat is how often a relay says that it runs, silence how long it may say nothing: the kubelet calls a runtime down that does not
	// answer for 30 s.
	beat    = 2 * time.Second
	silence = 10 * time.Second
	// The wait before a relay that ended is started again, at first and at most. It is the first again after one that ran for long.
	againFirst = time.Second
	againMost  = 30 * time.Second
	long       = time.Minute
	// rest is how long a relay may take to end beyond the time that its calls have.
	rest = 5 * time.Second
)

// env tells a process that it is a relay with a guard.
const env = "KUBELOUPE_PROXY_GUARDED"

// Guard starts a relay, again and again, and turns the link.
type Guard struct {
	// Link is the kubelet's endpoint, Proxy the socket of the relay, Runtime that of the runtime.
	Link, Proxy, Runtime string
	// Command returns the command that runs the relay, anew each time.
	Command func() *exec.Cmd
	// Drain is how long the relay lets calls end.
	Drain time.Duration
	// Tell is told what happens.
	Tell func(what string)
	// Ready is called when the link leads to the proxy for the first time; nil is nothing.
	Ready func()

	silence, againFirst time.Duration // of tests
}

// Run keeps a relay running until ctx ends, and then turns the link, lets calls end, and returns. An error is that of a link that cannot be
// turned at the beginning, or of a relay that cannot be started.
func (g *Guard) Run(ctx context.Context) error {
	if g.silence == 0 {
		g.silence = silence
	}
	if g.againFirst == 0 {
		g.againFirst = againFirst
	}
	if err := Turn(g.Link, g.Runtime); err != nil {
		return err
	}
	for wait := g.againFirst; ; wait = min(2*wait, againMost) {
		began := time.Now()
		err := g.once(ctx)
		if ctx.Err() != nil || errors.As(err, new(*startError)) {
			return err
		}
		if time.Since(began) > long {
			wait = g.againFirst
		}
		g.Tell(fmt.Sprintf("the relay ended (%v): the kubelet reaches the runtime directly; starting it again in %v", err, wait))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// startError is a relay that could not be started.
type startError struct{ error }

// once runs a relay until it ends. The link leads to the runtime before and after.
func (g *Guard) once(ctx context.Context) error {
	beats, beating, err := os.Pipe()
	if err != nil {
		return &startError{err}
	}
	defer beats.Close() //nolint:errcheck // it was only read
	alive, living, err := os.Pipe()
	if err != nil {
		beating.Close() //nolint:errcheck // nothing was written
		return &startError{err}
	}
	defer living.Close() //nolint:errcheck // nothing is written: its end is the message
	c := g.Command()
	c.Env = append(c.Environ(), env+"=1")
	c.ExtraFiles = []*os.File{beating, alive}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a signal to this group is for this process
	err = c.Start()
	beating.Close() //nolint:errcheck // the relay has it
	alive.Close()   //nolint:errcheck // the relay has it
	if err != nil {
		return &startError{fmt.Errorf("start the relay: %w", err)}
	}
	var exit error // once ended is closed
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		exit = c.Wait()
	}()
	heard := make(chan struct{}, 1)
	go hear(beats, heard)
	err = g.watch(ctx, c.Process, heard, ended)
	if errors.Is(err, errEnded) {
		err = ending(exit)
	}
	if turn := Turn(g.Link, g.Runtime); turn != nil {
		g.Tell("the endpoint cannot be turned to the runtime: " + turn.Error())
	}
	return err
}

// hear reads beats until the relay's end of the pipe is closed.
func hear(beats *os.File, heard chan<- struct{}) {
	buf := make([]byte, 64)
	for {
		if _, err := beats.Read(buf); err != nil {
			return
		}
		select {
		case heard <- struct{}{}:
		default:
		}
	}
}

// errEnded is a relay that has ended by itself.
var errEnded = errors.New("it has ended")

// watch turns the link to the relay once that is heard, and ends it when it is not heard any more, or ctx ends.
func (g *Guard) watch(ctx context.Context, relay *os.Process, heard <-chan struct{}, ended <-chan struct{}) error {
	quiet := time.NewTimer(g.silence)
	defer quiet.Stop()
	turned := false
	for {
		select {
		case <-ended:
			return errEnded
		case <-heard:
			quiet.Reset(g.silence)
			if turned {
				continue
			}
			turned = true
			if err := Turn(g.Link, g.Proxy); err != nil {
				g.Tell("the endpoint cannot be turned to the proxy: " + err.Error())
				continue
			}
			g.Tell("the endpoint leads to the proxy")
			if g.Ready != nil {
				g.Ready()
				g.Ready = nil
			}
		case <-quiet.C:
			if err := Turn(g.Link, g.Runtime); err != nil { // first: one that waits in the kernel does not end
				g.Tell("the endpoint cannot be turned to the runtime: " + err.Error())
			}
			_ = relay.Kill()
			<-ended
			return fmt.Errorf("it was not heard of for %v", g.silence)
		case <-ctx.Done():
			return g.finish(relay, ended)
		}
	}
}

// finish turns the link first, so that the kubelet connects to the runtime, and then has the relay let calls end.
func (g *Guard) finish(relay *os.Process, ended <-chan struct{}) error {
	err := Turn(g.Link, g.Runtime)
	_ = relay.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(g.Drain + rest):
		_ = relay.Kill()
		<-ended
	}
	return err
}

func ending(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}
