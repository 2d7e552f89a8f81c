package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/inspect/control"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui"
)

func newTUI(s streams) *cobra.Command {
	var o observed
	var view string
	var colors theme
	c := &cobra.Command{
		Use:   "tui",
		Short: "Open the UI of a running agent in this terminal",
		Long: `Open the UI of a running agent through its control socket. q closes the UI; the agent continues. If the agent restarts, the UI
reconnects. With --from, the UI shows a recording or a kubelet's log as it is at its end; to play a recording, use kubeloupe replay.`,
		Example: `  kubeloupe tui
  kubeloupe tui --socket /var/lib/kubelet/kubeloupe.sock --view cri
  kubeloupe tui --from kubelet.log`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkLook("", view); err != nil {
				return userError{err}
			}
			if !canUI(s) {
				return userError{errors.New("the UI needs a terminal, and TERM must not be dumb; to print lines, use kubeloupe events --follow")}
			}
			if o.from != "" {
				return o.show(c.Context(), s, view, colors)
			}
			cl, err := o.dial(c.Context())
			if err != nil {
				return err
			}
			l := &link{client: cl}
			defer l.close()
			return unlessEnded(c.Context(), tui.Run(c.Context(), tui.Config{
				Source: l, In: s.in, Out: screen(s.out), ViewName: view, Theme: string(colors), Link: l.trouble, Label: "ATTACHED", Logs: readLogs(cl),
			}))
		},
	}
	o.add(c)
	c.Flags().StringVar(&view, "view", "", "the first view: "+strings.Join(tui.ViewNames(), ", "))
	colors.add(c.Flags())
	c.Flags().SortFlags = false
	return c
}

// unlessEnded takes the end of ctx for no error: a signal is how a UI may end. Told, that would wait for a terminal that takes nothing.
func unlessEnded(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	return err
}

// checkLook refuses an output or a view that there is not.
func checkLook(output, view string) error {
	if !slices.Contains([]string{"", "text", "wide", "json"}, output) {
		return fmt.Errorf("--output %q: must be text, wide or json", output)
	}
	if err := tui.CheckView(view); err != nil {
		return fmt.Errorf("--view: %w", err)
	}
	return nil
}

// tryAgain is how long a link that broke waits before it connects again.
const tryAgain = time.Second

// link is a running agent's stream that connects again when it breaks.
type link struct {
	client *control.Client
	stream *control.Stream
	began  bool

	mu    sync.Mutex
	wrong string
}

// anew says that records begin anew, from an empty model.
type anew struct{}

func (anew) Error() string { return "connected again" }

// Rewound is called by the UI.
func (anew) Rewound() bool { return true }

// Next implements tui.Source.
func (l *link) Next(ctx context.Context, buf []trace.Record) (recs []trace.Record, lost uint64, err error) {
	for {
		if l.stream == nil {
			if again, err := l.connect(ctx); err != nil || again {
				return nil, 0, err
			}
		}
		recs, lost, err = l.stream.Next(ctx, buf)
		if err == nil || ctx.Err() != nil {
			return recs, lost, err
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, control.ErrEnded) {
			return recs, lost, err
		}
		l.stream.Close() //nolint:errcheck // it is over
		l.stream = nil
		l.say("the agent has stopped; reconnecting")
		if len(recs) > 0 || lost > 0 {
			return recs, lost, nil
		}
	}
}

// connect connects until it succeeds or ctx ends. Of all but the first connection it says so, by the error anew.
func (l *link) connect(ctx context.Context) (bool, error) {
	for {
		s, err := l.client.Events(ctx, control.EventsOptions{Backlog: true, Follow: true})
		if err == nil {
			l.stream = s
			l.say("")
			if !l.began {
				l.began = true
				return false, nil
			}
			return true, anew{}
		}
		if !l.began || ctx.Err() != nil {
			return false, err
		}
		l.say("the agent has stopped; reconnecting: " + err.Error())
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(tryAgain):
		}
	}
}

func (l *link) say(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = what
}

// trouble is what is wrong with the connection, "" while all is well.
func (l *link) trouble() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wrong
}

func (l *link) close() {
	if l.stream != nil {
		l.stream.Close() //nolint:errcheck // it is over
	}
}
