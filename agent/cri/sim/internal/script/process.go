package script

import (
	"errors"
	"fmt"
	"io"
	"path"
	"sync"
	"sync/atomic"
	"time"
)

// Config describes one process.
type Config struct {
	// Args is the command line; Args[0] is the program.
	Args []string
	// Env holds KEY=VALUE pairs.
	Env []string
	// Hostname is the output of hostname.
	Hostname string
	// Init is true for the first process of a PID namespace, which ignores signals without a handler.
	Init bool
	// Once makes unknown programs succeed immediately instead of running until stopped; it is for the commands of probes.
	Once bool
	// MemoryLimit, in bytes, kills a program that consumes memory. 0 means none.
	MemoryLimit int64
	// Exists reports whether the image has a program; nil means that it has every program.
	Exists func(name string) bool
	// Files is the container's file system, shared by its processes. It may be nil.
	Files *Files
	// Stdout and Stderr receive the output. Both must be safe for concurrent use. Nil discards it.
	Stdout, Stderr io.Writer
}

// Exit is the result of a process.
type Exit struct {
	// Code is the exit code; 128 + n after signal n.
	Code int
	// OOM is true if the memory limit killed the process.
	OOM bool
}

// Process is one simulated process. Run it once.
type Process struct {
	cfg     Config
	signals chan string
	jobs    sync.WaitGroup
	running atomic.Int32 // running jobs

	once   sync.Once
	killed chan struct{}
	exit   Exit // set before killed is closed
}

// ErrNotFound means that the image has no such program.
var ErrNotFound = errors.New("executable file not found in $PATH")

// New returns a process that has not started. It returns ErrNotFound if the program does not exist.
func New(cfg Config) (*Process, error) {
	if len(cfg.Args) == 0 {
		return nil, errors.New("no command specified")
	}
	if cfg.Files == nil {
		cfg.Files = &Files{}
	}
	if cfg.Stdout == nil {
		cfg.Stdout = io.Discard
	}
	if cfg.Stderr == nil {
		cfg.Stderr = io.Discard
	}
	p := &Process{cfg: cfg, signals: make(chan string, 16), killed: make(chan struct{})}
	if !p.exists(cfg.Args[0]) {
		return nil, fmt.Errorf("exec: %q: %w", cfg.Args[0], ErrNotFound)
	}
	return p, nil
}

// Run executes the process until it exits or is killed.
func (p *Process) Run() Exit {
	sh := &shell{p: p, main: true, vars: newVariables(p.cfg.Env), traps: map[string]string{}, out: p.cfg.Stdout, err: p.cfg.Stderr}
	sh.execed = true
	status, err := sh.program(p.cfg.Args)
	exit := Exit{Code: status}
	if e, ok := errors.AsType[*exitError](err); ok {
		exit = e.Exit
	}
	p.Kill(exit) // ends background jobs; the first result counts
	p.jobs.Wait()
	return p.exit
}

// Signal delivers a signal by its name without SIG, such as TERM. A process that has exited ignores it.
func (p *Process) Signal(name string) {
	if name == "KILL" {
		p.Kill(Exit{Code: 128 + signalNumber(name)})
		return
	}
	select {
	case p.signals <- name:
	default: // sixteen signals are pending; one more makes no difference
	}
}

// Kill makes the process exit immediately with the given result. The first result counts.
func (p *Process) Kill(exit Exit) {
	p.once.Do(func() {
		p.exit = exit
		close(p.killed)
	})
}

// exists reports whether the image has the program. Shell syntax and built-in commands always exist.
func (p *Process) exists(name string) bool {
	return p.cfg.Exists == nil || p.cfg.Exists(path.Base(name))
}

// exitError unwinds a shell that exits.
type exitError struct{ Exit }

func (e *exitError) Error() string { return fmt.Sprintf("exit status %d", e.Code) }

var errInterrupted = errors.New("interrupted by a signal")

// block waits for the timer or for done, whichever is first; either may be nil. It handles signals meanwhile.
func (sh *shell) block(timer <-chan time.Time, done <-chan struct{}, interruptible bool) error {
	signals := sh.p.signals
	if !sh.main {
		signals = nil
	}
	for {
		select {
		case <-timer:
			return nil
		case <-done:
			return nil
		case <-sh.p.killed:
			return &exitError{sh.p.exit}
		case sig := <-signals:
			if err := sh.deliver(sig); err != nil {
				return err
			}
			if interruptible && len(sh.pending) > 0 {
				return errInterrupted
			}
		}
	}
}

// deliver handles a signal by its disposition: ignored, trapped, or the default.
func (sh *shell) deliver(sig string) error {
	if action, ok := sh.traps[sig]; ok {
		if action != "" {
			sh.pending = append(sh.pending, action)
		}
		return nil
	}
	if sh.p.cfg.Init && !sh.handles {
		return nil
	}
	return &exitError{Exit{Code: 128 + signalNumber(sig)}}
}

// signalNumbers are Linux's numbers of the signals that stop containers.
var signalNumbers = map[string]int{ //nolint:gochecknoglobals // a constant table
	"HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "USR1": 10, "USR2": 12, "TERM": 15, "RTMIN+3": 37,
}

func signalNumber(name string) int {
	if n, ok := signalNumbers[name]; ok {
		return n
	}
	return signalNumbers["TERM"]
}
