package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/inspect/attach/bundle"
	"github.com/kubeloupe/kubeloupe/inspect/control"
	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/trace"
)

// defaultRootDir is where an agent has its state, and its control socket, unless told otherwise.
const defaultRootDir = "/var/lib/kubelet"

// socketName is the control socket's name in the root directory.
const socketName = "kubeloupe.sock"

// socketEnv names the control socket for commands that look at an agent.
const socketEnv = "KUBELOUPE_SOCKET"

func socketIn(rootDir string) string { return filepath.Join(rootDir, socketName) }

// observed says what a command looks at: a running agent, or a recording.
type observed struct {
	from   string
	more   []string // further files
	zone   string   // of a kubelet's log
	socket string

	log *bundle.Source // what --from names, where that is no recording
}

func (o *observed) add(c *cobra.Command) {
	o.addSocket(c)
	c.Flags().Var(fromFlag{o}, "from", "read this `FILE` instead of a running agent: a recording, the output of run -o json, or logs of a kubelet and its container runtime, dumps of objects, and directories and tar files of these, also several times (see docs/attach.md); - is standard input")
	c.Flags().StringVar(&o.zone, "log-zone", "", "with --from a kubelet's log: the node's time `ZONE`, such as UTC; by default the zone in the log or, if it has none, this machine's")
}

// fromFlag is --from, which may be given several times.
type fromFlag struct{ o *observed }

// String implements pflag.Value.
func (f fromFlag) String() string {
	if f.o == nil {
		return ""
	}
	return f.o.from
}

// Set implements pflag.Value.
func (f fromFlag) Set(file string) error {
	switch {
	case file == "":
		return errors.New("it must name a file")
	case f.o.from == "":
		f.o.from = file
	default:
		f.o.more = append(f.o.more, file)
	}
	return nil
}

// Type implements pflag.Value.
func (f fromFlag) Type() string { return "FILE" }

// named are the files of --from.
func (o *observed) named() []string { return append([]string{o.from}, o.more...) }

func (o *observed) addSocket(c *cobra.Command) {
	def := socketIn(defaultRootDir)
	if env := os.Getenv(socketEnv); env != "" {
		def = env
	}
	c.Flags().StringVar(&o.socket, "socket", def, "control socket of the running agent (or $"+socketEnv+")")
}

// source is a stream of records that a command reads.
type source interface {
	Next(ctx context.Context, buf []trace.Record) (recs []trace.Record, lost uint64, err error)
}

// open returns the stream. live says that it is a running agent's; close is to be called when done.
func (o *observed) open(ctx context.Context, in io.Reader, follow bool) (src source, closing func(), err error) {
	return o.openWith(ctx, in, control.EventsOptions{Backlog: true, Follow: follow})
}

// openWith is open with options for a running agent.
func (o *observed) openWith(ctx context.Context, in io.Reader, opt control.EventsOptions) (src source, closing func(), err error) {
	if o.from == "" {
		c, err := o.dial(ctx)
		if err != nil {
			return nil, nil, err
		}
		s, err := c.Events(ctx, opt)
		if err != nil {
			return nil, nil, err
		}
		return s, func() { s.Close() }, nil //nolint:errcheck // nothing is lost with it
	}
	log, in, done, err := o.openLog(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	if log != nil {
		o.log = log
		return &fromLog{log, strings.Join(o.named(), " ")}, done, nil
	}
	r, done, err := o.recording(in)
	if err != nil {
		return nil, nil, err
	}
	next, stop := iter.Pull2(r.All())
	return &fromFile{next: next, file: o.from}, func() { stop(); done() }, nil
}

func (o *observed) dial(ctx context.Context) (*control.Client, error) {
	c, err := control.Dial(ctx, o.socketOf())
	if err != nil {
		return nil, userError{err}
	}
	return c, nil
}

// socketOf is the socket to look at: an attach's, if no other was named and no agent has one.
func (o *observed) socketOf() string {
	if o.socket != socketIn(defaultRootDir) {
		return o.socket
	}
	if _, err := os.Lstat(o.socket); !errors.Is(err, os.ErrNotExist) {
		return o.socket
	}
	if _, err := os.Lstat(attachSocket); err != nil {
		return o.socket
	}
	return attachSocket
}

func (o *observed) recording(in io.Reader) (*recording.Reader, func(), error) {
	if o.from == "-" {
		r, err := recording.OpenReader(in)
		if err != nil {
			return nil, nil, userError{fmt.Errorf("--from -: %w", err)}
		}
		return r, func() {}, nil
	}
	r, err := recording.Open(o.from)
	if err != nil {
		return nil, nil, userError{fmt.Errorf("--from: %w", err)}
	}
	return r, func() { r.Close() }, nil //nolint:errcheck // it was only read
}

// fromFile is a recording as a source, without its pace.
type fromFile struct {
	next func() (recording.Item, error, bool)
	file string
	held *recording.Item // read, with a loss that belongs before it
}

// Next implements source.
func (f *fromFile) Next(ctx context.Context, buf []trace.Record) (recs []trace.Record, lost uint64, err error) {
	recs = buf[:0]
	if f.held != nil {
		recs, lost, f.held = append(recs, f.held.Rec), f.held.Lost, nil
	}
	for len(recs) < max(cap(buf), 1) {
		item, err, ok := f.next()
		switch {
		case !ok:
			return recs, lost, io.EOF
		case err != nil:
			return recs, lost, fmt.Errorf("--from %s: %w", f.file, err)
		}
		if item.Lost > 0 && len(recs) > 0 {
			f.held = &item
			break
		}
		recs, lost = append(recs, item.Rec), lost+item.Lost
	}
	return recs, lost, ctx.Err()
}

// folder takes records in.
type folder interface {
	Apply(r *trace.Record)
	Lost(n uint64)
}

// latest is the later of a running agent's last record and now: where the wall clock was set back, times of records are ahead of it.
func latest(last, now time.Time) time.Time {
	if last.After(now) {
		return last
	}
	return now
}

// fold reads all there is now into each of into and returns the time of the question: that of the last record of a recording, now of
// a running agent.
func (o *observed) fold(ctx context.Context, in io.Reader, into ...folder) (now time.Time, err error) {
	src, closing, err := o.open(ctx, in, false)
	if err != nil {
		return time.Time{}, err
	}
	defer closing()
	buf := make([]trace.Record, 0, 512)
	some := false
	for {
		recs, lost, err := src.Next(ctx, buf)
		for _, f := range into {
			f.Lost(lost)
			for i := range recs {
				f.Apply(&recs[i])
			}
		}
		if n := len(recs); n > 0 {
			now, some = recs[n-1].At(), true
		}
		switch {
		case errors.Is(err, io.EOF):
			if o.from == "" {
				return latest(now, time.Now()), nil
			}
			if !some {
				return now, userError{fmt.Errorf("%s has no records", o.from)}
			}
			return now, nil
		case err != nil:
			return now, err
		}
	}
}
