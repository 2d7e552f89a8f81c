package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/agent/nodelock"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui"
)

func newRun(s streams) *cobra.Command {
	var o nodeOptions
	var justOnce bool
	c := &cobra.Command{
		Use:   "run",
		Short: "Run the node agent in the foreground",
		Long: `Run the node agent in the foreground. On a terminal it opens the UI; otherwise it prints one line per event.

With --kubeconfig, the agent registers as a node of a cluster. If that file does not exist yet, the agent uses
--bootstrap-kubeconfig to request a certificate, and creates the file. Without --kubeconfig, the agent is standalone and runs
static pods only. Most flags, and the file of --config, are the kubelet's.

SIGINT, SIGTERM, or q in the UI, which asks first, stops the agent. Its pods continue to run. The next agent with the same --root-dir adopts them;
this agent can also be upstream's kubelet.`,
		Example: `  kubeloupe run --config kubelet.yaml --kubeconfig /etc/kubernetes/kubelet.conf
  kubeloupe run --kubeconfig node.conf --bootstrap-kubeconfig bootstrap.conf --hostname-override node-1
  kubeloupe run --pod-manifest-path ./manifests
  kubeloupe run --pod-manifest-path ./manifests --once
  kubeloupe run --runtime sim --pod-manifest-path ./manifests
  kubeloupe run --pod-manifest-path ./manifests -o json | jq .`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			n, err := o.build(c, nil)
			if err != nil {
				return err
			}
			if justOnce {
				return n.runOnce(c.Context(), s)
			}
			return n.run(c.Context(), func(ctx context.Context) error { return o.show(ctx, n, s, tui.Config{Leaving: n.leaving()}) })
		},
	}
	o.add(c)
	c.Flags().BoolVar(&justOnce, "once", false, "start the static pods, wait until each one runs or has terminated, print the result and exit; the pods continue to run")
	return c
}

// runOnce runs the agent until its pods have got where they go.
func (n *node) runOnce(ctx context.Context, s streams) error {
	if n.cfg.Kubelet.API.Kubeconfig != "" {
		err := userError{errors.New("--once is for static pods without an API server: remove --kubeconfig")}
		return errors.Join(err, n.beside.abandon())
	}
	var result error
	err := n.run(ctx, func(ctx context.Context) error {
		result = once(ctx, n.agent, s.out)
		return nil
	})
	if err != nil {
		return err
	}
	return result
}

// run runs the agent and, beside it, what shows it. It ends when either ends: a UI
// that was quit ends the agent; what merely failed to show does not.
func (n *node) run(ctx context.Context, show func(context.Context) error) error {
	defer catchPipe()()
	defer n.sim.stop()
	if err := n.sim.start(); err != nil {
		return errors.Join(err, n.beside.abandon())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	showCtx, endShow := context.WithCancel(context.Background())
	defer endShow()

	var wg sync.WaitGroup
	wg.Go(func() { n.metrics.run(showCtx, n.bus) })
	wg.Go(func() { n.beside.run(showCtx) })
	wg.Go(func() { keepTrim(showCtx, n.agent.Ready()) })
	shown := make(chan error, 1)
	var broke bool // what shows it failed before the agent ended
	wg.Go(func() {
		err := show(showCtx)
		broke = err != nil && ctx.Err() == nil
		cancel()
		shown <- err
	})
	err := n.agent.Run(ctx)
	endShow() // the view and the recording drain what is there and end
	wg.Wait()
	err = errors.Join(err, n.beside.close())
	if showErr := <-shown; (err == nil || broke) && showErr != nil && !errors.Is(showErr, context.Canceled) {
		err = showErr // the agent's own, if there is one, is that it had to end
	}
	if err != nil && errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	return userMends(err)
}

// trimEvery is how often what only the start, or a busy time, needed of memory is given back; first sooner.
const (
	trimFirst = 10 * time.Second
	trimEvery = time.Minute
)

func keepTrim(ctx context.Context, ready <-chan struct{}) {
	select {
	case <-ctx.Done():
		return
	case <-ready:
	}
	for wait := trimFirst; ; wait = trimEvery {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
			trimMemory()
		}
	}
}

// userMends marks errors of the start whose remedy is in the user's hands.
func userMends(err error) error {
	if errors.As(err, new(*nodelock.HeldError)) || errors.As(err, new(*cri.DialError)) || errors.Is(err, syscall.EADDRINUSE) {
		return userError{err}
	}
	return err
}

// show shows the stream until ctx ends or the user quits: the UI on a terminal,
// lines or JSON elsewhere.
func (o *nodeOptions) show(ctx context.Context, n *node, s streams, ui tui.Config) error {
	if !o.wantsUI(s) {
		return o.print(ctx, n.bus, s.out)
	}
	cur := n.bus.Subscribe(trace.FromOldest)
	defer cur.Close()
	ui.Source, ui.In, ui.Out, ui.ViewName, ui.Theme, ui.Logs = cur, s.in, screen(s.out), o.view, string(o.theme), n.readLogs
	err := tui.Run(ctx, ui)
	if err != nil && ctx.Err() == nil {
		// The UI broke, not the agent: continue in lines.
		fmt.Fprintf(s.err, "kubeloupe: the terminal UI failed (%v); the agent continues and prints one line per event\n", err) //nolint:errcheck // there is nowhere else to say it
		return o.print(ctx, n.bus, s.out)
	}
	if ctx.Err() == nil {
		rest := "its pods continue to run"
		if n.cfg.Simulated {
			rest = "its simulated runtime and pods are gone"
		}
		fmt.Fprintln(s.err, "kubeloupe: the agent has stopped; "+rest) //nolint:errcheck // there is nowhere else to say it
	}
	return nil
}

// leaving says what ends with the UI of an agent, and what stays.
func (n *node) leaving() string {
	if n.cfg.Simulated {
		return "The agent runs in this process and stops with the UI. Its simulated runtime and pods are gone then."
	}
	return "The agent runs in this process and stops with the UI. Its pods continue to run, but nothing probes or restarts them until an agent runs again."
}

// print prints records until ctx ends, then what is left.
func (o *nodeOptions) print(ctx context.Context, bus *trace.Bus, w io.Writer) error {
	cur := bus.Subscribe(trace.FromOldest)
	defer cur.Close()
	return printUntil(ctx, cur, sinkFor(o.output, w))
}

// wantsUI reports whether the UI can and should be shown.
func (o *nodeOptions) wantsUI(s streams) bool {
	return !o.noTUI && o.output == "" && canUI(s)
}

// canUI reports whether there is a terminal that can show the UI.
func canUI(s streams) bool {
	return isTerminal(s.in) && isTerminal(s.out) && os.Getenv("TERM") != "dumb" && os.Getenv("TERM") != ""
}

func isTerminal(x any) bool {
	if w, ok := x.(io.Writer); ok {
		x = screen(w)
	}
	f, ok := x.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
