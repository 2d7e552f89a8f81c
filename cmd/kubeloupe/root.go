package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1 // something failed
	exitUser  = 2 // what the user said cannot be done
)

// userError is an error that the user can fix by saying something else.
type userError struct{ err error }

func (e userError) Error() string { return e.err.Error() }
func (e userError) Unwrap() error { return e.err }

// streams are a command's standard streams.
type streams struct {
	in  io.Reader
	out io.Writer
	err io.Writer
}

// note says something beside a command's output.
func (s streams) note(text string) {
	fmt.Fprintln(s.err, nameOwn+": "+text) //nolint:errcheck // there is nowhere else to say it
}

// execute runs a command line and returns the exit code.
func execute(args []string, in io.Reader, out, errw io.Writer) int {
	return executeAs(nameOwn, args, in, out, errw)
}

// executeAs is execute for a program that is called by that name.
func executeAs(name string, args []string, in io.Reader, out, errw io.Writer) int {
	// SIGINT and SIGTERM stop the agent, and so does a lost terminal. The pods continue to run.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ending, end := context.WithCancel(ctx)
	defer end()
	out = &output{to: out, ending: ending.Done(), patience: lastOutput}
	errw = &output{to: errw, ending: ending.Done(), patience: lastErrors}
	errw = human.Writer(errw) // errors quote what others wrote: manifests, registries, agents
	s := streams{in: in, out: out, err: errw}
	root := newRoot(s)
	callCommands(root, name)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	end()
	if err == nil {
		return exitOK
	}
	s.note(inCalls(root, name, err.Error()))
	switch {
	case errors.As(err, new(heldError)):
		return exitHeld
	case errors.As(err, new(userError)):
		return exitUser
	}
	return exitError
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubeloupe",
		Short: "A Kubernetes node agent that shows what it does",
		Long: `kubeloupe is a Kubernetes node agent: a kubelet that runs in the foreground and shows live what it does and how long each action
takes. The other commands connect to a running agent, or read a recording of its session.`,
		Example: `  kubeloupe tour                                     take a guided tour; needs no root and no containers
  kubeloupe run --pod-manifest-path ./manifests      run static pods
  kubeloupe why NAMESPACE/POD                        explain a slow or failed pod start`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
	}
	// Not cobra's: that has -v, which is the verbosity of logs elsewhere, and a template, for which the linker keeps every method of the program.
	printVersion := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(c *cobra.Command, _ []string) error {
		if *printVersion {
			return writeVersion(s)
		}
		return c.Help()
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return userError{flagError(c, err)} })
	root.AddCommand(newRun(s), newStep(s), newTrace(s), newWhy(s), newTUI(s), newAttach(s), newVerbosityWatchdog(s), newVerbosityPutBack(), newProxy(s), newInspect(s), newEvents(s), newRecord(s), newReplay(s), newExplain(s), newTour(s), newMan(s), newVersion(s))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	completeFlags(root)
	wrapArgs(root)
	checkNames(root)
	return root
}

// wrapArgs makes wrong arguments user errors.
func wrapArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return userError{argsError(c, args, err)}
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
}

func newVersion(s streams) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: `  kubeloupe version`,
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return writeVersion(s) },
	}
}
