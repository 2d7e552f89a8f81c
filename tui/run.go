package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"golang.org/x/term"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// Source is where records come from: a cursor on a live agent's bus, a connection to another one, a file. Next waits for at least
// one record and appends up to cap(buf) of them to buf[:0]; lost is how many are missing before them. It returns when ctx ends, and
// io.EOF after the last record. An error with the method Rewound() bool that returns true says that the records begin again, for
// example after a jump back in a replay or a new connection: more records follow.
type Source interface {
	Next(ctx context.Context, buf []trace.Record) (recs []trace.Record, lost uint64, err error)
}

// Stepper is a step session. Stops delivers the stops of the pod; Do executes one command line, such as "n" or "b sandbox", and
// returns its output.
type Stepper = views.Stepper

// Config is what a UI needs. Only Source is required.
type Config struct {
	Source  Source
	Stepper Stepper // nil: nothing is being stepped
	In      io.Reader
	Out     io.Writer
	// Env is the terminal's environment as KEY=value: TERM, NO_COLOR, COLORTERM, LANG,
	// LC_*; nil is the process's own.
	Env []string
	// View is the number of the view to start with, ViewName its name, one of
	// ViewNames; without either it is the Overview, or Step when stepping.
	View     int
	ViewName string
	// Theme is dark, light or auto, which is "" too: by the terminal's background.
	Theme string
	// Label is the label in the header, such as ATTACHED; "" is LIVE. The agent's process id is added.
	Label string
	// LabelNow returns the label if it changes. May be nil. It must not block.
	LabelNow func() string
	// Link describes a problem of the connection to the source, and what is done about it; it returns "" if there is none. May be
	// nil. It must not block.
	Link func() string
	// Player controls the Source when that is a recording; nil: it is not.
	Player Player
	// Logs reads the end of containers' logs; nil: the source has none, such as a recording.
	Logs views.LogReader
	// Leaving says what ends with the UI, and what stays: the user is asked before that. "" leaves at once.
	Leaving string
	// NoMouse leaves the mouse to the terminal, for selecting text, until it is requested.
	NoMouse bool
	// ExportDir is where exports go; "" is the working directory.
	ExportDir string
	// Now is the clock to measure ages with; nil is the Player's own, else time.Now.
	Now func() time.Time

	width, height int // of an Out that is no terminal, for tests
}

// fps is how many frames a second are drawn at most.
const fps = 10

// Run shows the UI until it is quit (nil), ctx ends (ctx's error) or it fails.
// However it ends, the terminal is as it was before. It handles no signal but
// the terminal's change of size.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Source == nil {
		return errors.New("terminal UI: field Source is missing: want a source of records")
	}
	if cfg.Now == nil {
		cfg.Now = clockOf(cfg.Player)
	}
	if cfg.Env == nil {
		cfg.Env = os.Environ()
	}
	if err := CheckView(cfg.ViewName); err != nil {
		return fmt.Errorf("terminal UI: %w", err)
	}
	if err := style.CheckName(cfg.Theme); err != nil {
		return fmt.Errorf("terminal UI: %w", err)
	}
	if cfg.Out == nil {
		cfg.Out = os.Stdout
	}
	var wrote *atomic.Int64
	var out *late
	cfg.Out, wrote, out = metered(cfg.Out)
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	p := newPump(cfg.Source)
	go p.run(inner)
	g := &guard{app: newApp(inner, cfg, style.For(cfg.Env), p)}
	g.app.budget.wrote = wrote
	program := tea.NewProgram(g, options(inner, cfg)...)
	if out != nil {
		out.again = func() { program.Send(tea.ClearScreen()) }
	}
	err := runUntil(ctx, program, cfg.In)
	cancel()
	if out != nil {
		out.finish(leave)
	}
	p.wait(time.Second)
	switch {
	case g.failure != nil:
		return g.failure
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("terminal UI: %w", err)
	}
	return nil
}

// leave is how long after its end the UI may take to give the terminal back.
const leave = 2 * time.Second

// runUntil runs the program. When ctx ends and the terminal takes nothing any more, so that the program
// waits for it, that is left to itself: whoever ends the agent is not to wait for a terminal.
func runUntil(ctx context.Context, p *tea.Program, in io.Reader) error {
	back := func() {}
	if f, ok := in.(*os.File); ok {
		if was, err := term.GetState(int(f.Fd())); err == nil {
			back = func() { _ = term.Restore(int(f.Fd()), was) } // it may be gone
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := p.Run()
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(leave):
		back()
		return ctx.Err()
	}
}

// clockOf is a replay's own clock, else the wall's.
func clockOf(p Player) func() time.Time {
	if c, ok := p.(interface{ Now() time.Time }); ok {
		return c.Now
	}
	return time.Now
}

func options(ctx context.Context, cfg Config) []tea.ProgramOption {
	opts := []tea.ProgramOption{
		tea.WithContext(ctx), tea.WithFPS(fps), tea.WithEnvironment(cfg.Env), tea.WithoutSignalHandler(),
		tea.WithOutput(cfg.Out),
	}
	if cfg.In != nil {
		opts = append(opts, tea.WithInput(cfg.In))
	}
	if cfg.width > 0 {
		opts = append(opts, tea.WithWindowSize(cfg.width, cfg.height))
	}
	if style.NoColor(cfg.Env) {
		opts = append(opts, tea.WithColorProfile(colorprofile.ASCII))
	}
	return opts
}
