package views

import (
	"slices"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/inspect/step"
)

// Command is a command of a page.
type Command struct {
	Name string
	Key  string // the key that does the same, "" none
	Does string
	Arg  string // it must be followed by this; "" it need not
}

// Commander is a page with its own commands, for the palette.
type Commander interface {
	// Commands lists them, none while the page takes none.
	Commands() []Command
	// Command returns what runs a line, and whether the line begins with a command of the page, in full or short.
	Command(line string) (run func() tea.Cmd, ok bool)
}

// Crumb implements Crumber.
func (p *Pod) Crumb() string { return p.pod.Key.String() }

// Why puts the cursor on the first cause.
func (p *Pod) Why() {
	if i := slices.IndexFunc(p.lines, func(l podLine) bool { return l.finding != nil }); i >= 0 {
		p.move(i)
	}
}

// Commands implements Commander.
func (p *Step) Commands() []Command {
	if p.stepper == nil || p.over {
		return nil
	}
	k := p.keys
	of := func(name string, b key.Binding) Command {
		return Command{Name: name, Key: b.Help().Key, Does: b.Help().Desc}
	}
	with := func(c Command, arg string) Command {
		c.Arg = arg
		return c
	}
	quit := k.quit
	if p.stop.Attached {
		quit = k.left
	}
	return []Command{
		of("next", k.next), of("step", k.into), of("continue", k.cont),
		{Name: "until", Arg: "WHAT", Does: "continue until the pod is ready, started or gone, or until an action"},
		of("retry", k.again), with(of("fail", k.fail), "CODE"), with(of("delay", k.delay), "DURATION"), with(of("break", k.brk), "WHAT"),
		of("print", k.print), of("inspect", k.inspect),
		{Name: "diff", Does: "changes since the last stop; diff start: since the first stop"},
		{Name: "where", Does: "the current action, plan and sync, and the reason for the stop"},
		of("shell", k.shell),
		{Name: "transcript", Arg: "FILE", Does: "append all commands and their output to a file"},
		of("quit", quit),
	}
}

// Command implements Commander.
func (p *Step) Command(line string) (run func() tea.Cmd, ok bool) {
	name, _ := step.Split(line)
	if line == "" || !slices.ContainsFunc(p.Commands(), func(c Command) bool { return c.Name == name }) {
		return nil, false
	}
	return func() tea.Cmd { return p.Typed(StepLine{line}) }, true
}
