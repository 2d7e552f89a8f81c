package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/inspect/control"
	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// recordOptions say how much of a session is kept.
type recordOptions struct {
	max      string
	noBodies bool
}

func (o *recordOptions) add(c *cobra.Command, prefix string) {
	c.Flags().StringVar(&o.max, prefix+"max-size", "256Mi", "maximum size of the recording; when it is full, the oldest half is removed")
	c.Flags().BoolVar(&o.noBodies, prefix+"no-bodies", false, "do not record requests to the container runtime and their responses (secrets are never recorded)")
}

func (o *recordOptions) options(node, prefix string) (recording.Options, error) {
	q, err := resource.ParseQuantity(o.max)
	if err != nil || q.Value() < 1<<20 {
		return recording.Options{}, fmt.Errorf("--%smax-size %q: must be a size of 1Mi or more, such as 256Mi", prefix, o.max)
	}
	return recording.Options{MaxBytes: q.Value(), NoBodies: o.noBodies, Node: node, Kubeloupe: versionText()}, nil
}

// recordingOf is one run of the record command.
type recordingOf struct {
	observed
	recordOptions
	s        streams
	dur      time.Duration
	appended bool
}

func newRecord(s streams) *cobra.Command {
	r := &recordingOf{s: s}
	c := &cobra.Command{
		Use:   "record FILE",
		Short: "Record a running agent's session to a file",
		Long: `Record the session of a running agent: the state of the node at the beginning, and then all events. The recording stops after the
duration of --for, when the agent stops, or with Ctrl-C. kubeloupe replay shows the file. The commands trace, why, inspect, events and
tui read it with --from. The file is compressed and contains no secrets. A file that already has a session is refused without --append. After a crash, at most the last second is missing.`,
		Example: `  kubeloupe record incident.klr --for 10m
  kubeloupe replay incident.klr`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return r.run(c.Context(), args[0]) },
	}
	r.addSocket(c)
	r.recordOptions.add(c, "")
	c.Flags().BoolVar(&r.appended, "append", false, "add the session to FILE, if it already has one; by default, such a file is refused")
	c.Flags().DurationVar(&r.dur, "for", 0, "how long to record; 0 records until interrupted")
	c.Flags().SortFlags = false
	return c
}

func (r *recordingOf) run(ctx context.Context, file string) error {
	opt, err := r.options("", "")
	if err != nil {
		return userError{err}
	}
	if r.dur < 0 {
		return userError{fmt.Errorf("--for %s: must be 0 or more", r.dur)}
	}
	src, closing, err := r.openWith(ctx, r.s.in, control.EventsOptions{Backlog: true, Follow: true, Batch: true})
	if err != nil {
		return err
	}
	defer closing()
	opt.New = !r.appended
	opt.Tell = func(what recording.Trouble) { r.s.note(what.String()) }
	w, err := createRecording(ctx, file, opt)
	if errors.Is(err, recording.ErrExists) {
		err = fmt.Errorf("%w: use another file, or --append to add this session to it", err)
	}
	if err != nil {
		return userError{err}
	}
	if r.dur > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.dur)
		defer cancel()
	}
	fmt.Fprintf(r.s.err, "recording to %s; press Ctrl-C to stop\n", file) //nolint:errcheck // there is nowhere else to say it
	err = w.Run(ctx, src)
	if ctx.Err() != nil { // that is how it ends
		err = nil
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	rd, err := recording.Open(file)
	if err != nil {
		return err
	}
	defer rd.Close() //nolint:errcheck // it was only read
	_, err = fmt.Fprintln(textOut(r.s.out), recorded(file, rd.Info()))
	return err
}

// recorded says what is in a recording now.
func recorded(file string, info recording.Info) string {
	text := fmt.Sprintf("%s: %d records in %s", file, info.Records, human.Bytes(info.Bytes))
	if info.Lost > 0 {
		text += fmt.Sprintf("; %d records were lost", info.Lost)
	}
	return text
}

// createRecording is recording.Create that ends with ctx: a server of files may not answer.
func createRecording(ctx context.Context, file string, opt recording.Options) (*recording.Writer, error) {
	var w *recording.Writer
	done := make(chan error, 1)
	go func() {
		var err error
		w, err = recording.Create(file, opt)
		done <- err
	}()
	select {
	case err := <-done:
		return w, err
	case <-ctx.Done():
		return nil, fmt.Errorf("record to %s: the disk did not respond: %w", file, ctx.Err())
	}
}
