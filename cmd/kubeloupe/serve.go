package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/kubeloupe/kubeloupe/inspect/backlog"
	"github.com/kubeloupe/kubeloupe/inspect/control"
	"github.com/kubeloupe/kubeloupe/inspect/otlp"
	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/inspect/ship"
	"github.com/kubeloupe/kubeloupe/inspect/step"
	"github.com/kubeloupe/kubeloupe/trace"
)

// besideOptions say what runs beside an agent: who may look at it, what is kept, which spans are taken.
type besideOptions struct {
	socket   string
	file     string
	record   recordOptions
	otlpGRPC string
	otlpHTTP string
	cniBins  []string
}

// noSocket turns the control socket off.
const noSocket = "none"

func (o *besideOptions) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.socket, "control-socket", "", "socket for kubeloupe's other commands, for root only; by default "+socketName+" in --root-dir; none disables it")
	f.StringVar(&o.file, "record", "", "record the session to this file (see kubeloupe replay)")
	o.record.add(c, "record-")
	f.StringVar(&o.otlpGRPC, "otlp-grpc", "", "receive the container runtime's own spans on this loopback address (OTLP over gRPC), such as 127.0.0.1:4317")
	f.StringVar(&o.otlpHTTP, "otlp-http", "", "receive the container runtime's own spans over HTTP, such as 127.0.0.1:4318")
	f.StringSliceVar(&o.cniBins, "cni-bin-dir", []string{"/opt/cni/bin"}, "directory of the CNI plugins; with --otlp-grpc or --otlp-http, each run of a plugin is reported too")
}

// beside is what runs beside an agent; any of it may be missing.
type beside struct {
	control *control.Server
	kept    *backlog.Store
	writer  *recording.Writer
	spans   *otlp.Receiver
	ship    *ship.Shipper
	client  *ship.Client // of ship; nil if nothing is sent
	bus     *trace.Bus
	listens bool // control does already
	owned   bool // the root directory is no agent's: control need not wait for one
}

// hosted is what something runs beside: an agent, or a proxy.
type hosted struct {
	bus               *trace.Bus
	nodeName, runtime string
	socket            string // by default
	simulated         bool
	node              control.Node // may be nil
	export            *exporting   // nil: nothing is sent
	gate              *step.Switch
}

// hosted is the node's agent.
func (n *node) hosted() *hosted {
	return &hosted{
		bus: n.bus, nodeName: n.cfg.NodeName, runtime: n.cfg.Endpoint, socket: socketIn(n.cfg.Kubelet.Node.RootDir),
		simulated: n.cfg.Simulated, node: n.agent, gate: n.gate,
		export: &exporting{endpoint: n.cfg.Kubelet.Tracing.Endpoint, perMillion: n.cfg.Kubelet.Tracing.SamplingPerMillion, explained: n.metrics.explained},
	}
}

// build makes what the options ask for and binds its addresses, so that what is wrong is known before the agent begins.
func (o *besideOptions) build(ctx context.Context, n *hosted) (b *beside, err error) {
	b = &beside{bus: n.bus}
	if n.bus == nil {
		if n.export != nil && n.export.endpoint != "" {
			return nil, userError{errors.New("--event-buffer 0: tracing needs events")}
		}
		if o.file != "" || o.otlpGRPC != "" || o.otlpHTTP != "" || o.socket != "" && o.socket != noSocket {
			return nil, userError{errors.New("--event-buffer 0: recording, the control socket and spans need events")}
		}
		return b, nil
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	if o.otlpGRPC != "" || o.otlpHTTP != "" {
		if b.spans, err = otlp.New(otlp.Config{GRPC: o.otlpGRPC, HTTP: o.otlpHTTP, CNIBinDirs: o.cniBins, Runtime: n.runtime, Bus: n.bus}); err != nil {
			return b, userError{fmt.Errorf("--otlp-grpc, --otlp-http: %w", err)}
		}
		if err = b.spans.Listen(ctx); err != nil {
			return b, userError{err}
		}
	}
	if n.export != nil {
		if err = b.export(ctx, *n.export, n.nodeName); err != nil {
			return b, userError{fmt.Errorf("tracing: %w", err)}
		}
	}
	if o.file != "" || o.socket != noSocket {
		b.kept = backlog.New(backlog.Options{})
	}
	if o.file != "" {
		opt, err := o.record.options(n.nodeName, "record-")
		if err != nil {
			return b, userError{err}
		}
		opt.Backlog, opt.Tell = b.backlog, b.tell
		if b.writer, err = createRecording(ctx, o.file, opt); err != nil {
			return b, userError{fmt.Errorf("--record: %w", err)}
		}
	}
	if o.socket == noSocket {
		return b, nil
	}
	path := o.socket
	if path == "" {
		path = n.socket
	}
	b.control = control.New(control.Config{
		Path: path, Bus: n.bus, Backlog: b.kept, Node: n.node, Steppers: steppers{n.gate},
		Version: versionText(), NodeName: n.nodeName, Simulated: n.simulated,
	})
	if o.socket == "" {
		return b, nil // it listens once the root directory is this agent's
	}
	if err = b.control.Listen(); err != nil {
		return b, userError{err}
	}
	b.listens = true
	return b, nil
}

// run runs it until ctx ends. What fails here is told, and ends nothing: pods matter more.
func (b *beside) run(ctx context.Context) {
	if b == nil {
		return
	}
	var g errgroup.Group
	start := func(what string, run func(context.Context) error) {
		g.Go(func() error {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				trace.Point(b.bus, trace.Span{}, trace.Log{Level: trace.LevelError, Message: what + " failed: " + err.Error()})
			}
			return nil
		})
	}
	if b.spans != nil {
		start("the span receiver", b.spans.Run)
	}
	if b.ship != nil {
		start("the export of spans", b.ship.Run)
	}
	if b.writer != nil {
		start("the recording", func(ctx context.Context) error {
			cur := b.bus.Subscribe(trace.FromOldest)
			defer cur.Close()
			return b.writer.Run(ctx, cur)
		})
	}
	if b.kept != nil {
		start("the backlog", func(ctx context.Context) error {
			cur := b.bus.Subscribe(trace.FromOldest)
			defer cur.Close()
			cur.Batch() // it is up to date when somebody asks
			return b.kept.Run(ctx, cur)
		})
	}
	if b.control != nil {
		start("the control socket", func(ctx context.Context) error {
			if !b.owned && !b.awaitLock(ctx) && !b.listens {
				return nil // the directory is another agent's, and so is the socket's place
			}
			return b.control.Run(ctx)
		})
	}
	_ = g.Wait()
}

// tell publishes that the recording stands still, or continues.
func (b *beside) tell(what recording.Trouble) {
	level := trace.LevelWarn
	if what.Err != nil {
		level = trace.LevelError
	}
	trace.Point(b.bus, trace.Span{}, trace.Log{Level: level, Message: what.String()})
}

// backlogTime is how long a new part of a recording waits for what the backlog has not read yet.
const backlogTime = time.Second

// backlog tells the node as it is, for a part of a recording whose predecessor may be gone.
func (b *beside) backlog() []trace.Record {
	ctx, cancel := context.WithTimeout(context.Background(), backlogTime)
	defer cancel()
	known, err := b.kept.Picture(ctx, b.bus.Seq())
	if err != nil { // it has ended, or the machine is very busy: what it knows is better than nothing
		known, _ = b.kept.Picture(context.Background(), 0) // it does not wait
	}
	return known.Records
}

// awaitLock waits until the agent says that it starts, which it does with its root directory locked; false when ctx ends first.
func (b *beside) awaitLock(ctx context.Context) bool {
	cur := b.bus.Subscribe(trace.FromOldest)
	defer cur.Close()
	buf := make([]trace.Record, 0, 16)
	for {
		recs, _, err := cur.Next(ctx, buf)
		if err != nil {
			return false
		}
		if slices.ContainsFunc(recs, func(r trace.Record) bool { _, ok := r.Event.(*trace.Agent); return ok }) {
			return true
		}
	}
}

// abandon ends what was begun for an agent that does not run.
func (b *beside) abandon() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b.run(ctx)
	return b.close()
}

// close ends the recording, and the connection to the collector of spans.
func (b *beside) close() (err error) {
	if b == nil {
		return nil
	}
	if b.client != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = b.client.Close(ctx) // what could be sent is
		b.client = nil
	}
	if b.writer != nil {
		err = b.writer.Close()
	}
	return err
}

// steppers begins sessions for whoever attaches by the control socket.
type steppers struct{ gate *step.Switch }

// Attach implements control.Steppers.
func (s steppers) Attach(_ context.Context, req control.StepRequest) (control.Session, error) {
	namespace, name, _ := strings.Cut(req.Pod, "/")
	cfg := step.Config{Pod: trace.Pod{Namespace: namespace, Name: name}, Attached: true}
	switch {
	case req.Creation:
		cfg.Only = step.Creation
	case req.Deletion:
		cfg.Only = step.Deletion
	}
	return s.gate.Attach(cfg)
}
