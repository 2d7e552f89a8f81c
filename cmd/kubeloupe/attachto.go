package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/inspect/attach/watch"
	"github.com/kubeloupe/kubeloupe/inspect/backlog"
	"github.com/kubeloupe/kubeloupe/inspect/control"
	"github.com/kubeloupe/kubeloupe/inspect/otlp"
	"github.com/kubeloupe/kubeloupe/inspect/ship"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/tui"
)

// attachSocket is where attach listens for kubeloupe's other commands: attach writes nothing below the kubelet's root directory.
const attachSocket = "/run/kubeloupe/attach.sock"

// attachBuffer is how many records are kept for slow readers, of attachBytes at most, and as many for late ones: attach begins with some
// minutes of the past, and is a guest on the node.
const (
	attachBuffer = 1 << 14
	attachBytes  = 16 << 20
)

// attaching is one run of the attach command.
type attaching struct {
	s      streams
	find   discover.Options
	check  bool
	output string
	noTUI  bool
	view   string
	theme  theme
	socket string
	file   string
	record recordOptions
	raise  raising
	// Where spans are received, and who receives them.
	otlpGRPC, otlpHTTP string
	spans              *otlp.Receiver
	// Where spans are sent, and the fraction of ordinary starts.
	endpoint string
	caFile   string
	sampling float64
	// Where metrics are served, and who serves them; nil if nobody does.
	address string
	port    *metricsPort
}

func newAttach(s streams) *cobra.Command {
	a := &attaching{s: s}
	c := &cobra.Command{
		Use:   "attach",
		Short: "Watch upstream's kubelet on this node",
		Long: `Watch the kubelet that runs on this node: upstream's, also within k3s, k0s and microk8s. attach finds it by its listeners, follows
its log and the container runtime's log, and shows their events in the UI with a short delay. It reads the last ten minutes first.
The view resources shows which CPUs, memory, devices and claims its containers have, from the kubelet's podresources API.
Neither the kubelet nor its settings change, except with --raise-verbosity. attach needs root.

Meanwhile, why, trace, inspect, events, record and tui work on this node as with kubeloupe's own agent.

--check only prints what was found: the process, its configuration, its container runtime, and for each source (logs, sockets, APIs) what
it gives, what is missing and how to get it. It changes nothing and connects to nothing.`,
		Example: `  kubeloupe attach --check
  kubeloupe attach
  kubeloupe attach --no-tui --record incident.klr
  kubeloupe attach --raise-verbosity 4 --for 60s`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.run(c.Context()) },
	}
	f := c.Flags()
	f.BoolVar(&a.check, "check", false, "print what was found, and change nothing")
	f.StringVarP(&a.output, "output", "o", "", "output without the UI: text, wide or json (every record); with --check: json")
	f.BoolVar(&a.noTUI, "no-tui", false, "print lines even on a terminal")
	f.StringVar(&a.view, "view", "", "the first view: "+strings.Join(tui.ViewNames(), ", "))
	a.theme.add(f)
	f.StringVar(&a.socket, "control-socket", attachSocket, "socket for kubeloupe's other commands, for root only; none disables it")
	f.StringVar(&a.file, "record", "", "record the session to this file (see kubeloupe replay)")
	a.record.add(c, "record-")
	f.IntVar(&a.find.PID, "pid", 0, "the kubelet's process, if there are several; by default it is found by its listeners")
	f.StringVar(&a.find.LogFile, "kubelet-log", "", "file with the kubelet's log, if attach cannot find it; in a container, also the path on the node")
	f.StringVar(&a.find.RuntimeLog, "runtime-log", "", "file with the container runtime's log, if attach cannot find it")
	f.StringVar(&a.find.RuntimeEndpoint, "container-runtime-endpoint", "", "the runtime's socket, if attach cannot find it, such as unix:///run/containerd/containerd.sock")
	f.StringVar(&a.find.Kubeconfig, "kubeconfig", "", "kubeconfig for the API server, to read Events and pods of this node; by default, the API server is not used")
	f.BoolVar(&a.find.InCluster, "in-cluster", false, "use the service account of the pod that attach runs in for the API server and the kubelet's API")
	f.StringVar(&a.otlpGRPC, "otlp-grpc", "", "receive spans of the container runtime and of the kubelet on this loopback address (OTLP over gRPC), such as 127.0.0.1:4317; --check tells the runtime's settings")
	f.StringVar(&a.otlpHTTP, "otlp-http", "", "receive the container runtime's spans over HTTP, such as 127.0.0.1:4318")
	f.StringVar(&a.endpoint, "otlp-endpoint", "", "send each pod start as spans to the OpenTelemetry collector at this address (OTLP over gRPC), such as 127.0.0.1:4317, or https://HOST:PORT for TLS; slow and failed ones always")
	f.StringVar(&a.caFile, "otlp-ca-file", "", "with an https --otlp-endpoint: the certificates of the CA of the collector, in PEM; by default OTEL_EXPORTER_OTLP_CERTIFICATE, or those of the system")
	f.Float64Var(&a.sampling, "sampling", 0, "with --otlp-endpoint: the fraction of the other starts that are sent, 0 to 1")
	f.StringVar(&a.address, "metrics-address", "", "serve metrics of pod starts at this address, such as :9464, to anybody who can connect (/metrics, HTTP without TLS)")
	a.raise.add(c)
	f.SortFlags = false
	return c
}

// frugal is how much the heap may grow until it is collected, in percent: attach is a guest on the node, where memory counts more than the
// processor time of its collections.
const frugal = 30

func (a *attaching) run(ctx context.Context) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(frugal)
	}
	if err := errors.Join(checkLook(a.output, a.view), a.raise.check(), a.access(), a.checkExport()); err != nil {
		return userError{err}
	}
	a.find.KubeletKubeconfig = a.raise.kubeconfig
	found, err := discover.Discover(discover.Machine{}, a.find)
	switch {
	case errors.Is(err, discover.ErrNoKubelet):
		return err // nothing is wrong with what the user said
	case err != nil:
		return userError{err}
	case a.check:
		return a.print(found)
	case !watchable(found):
		return userError{errors.New("neither the kubelet's log nor the container runtime's can be read here: kubeloupe attach --check says why")}
	}
	bus := trace.NewBusOf(attachBuffer, attachBytes)
	b, err := a.beside(ctx, found, bus)
	if err != nil {
		return err
	}
	if err := a.raise.begin(ctx, found, bus, a.s); err != nil {
		return errors.Join(err, b.abandon())
	}
	return errors.Join(a.follow(ctx, found, bus, b), a.raise.end(), b.close())
}

// export makes what sends spans and serves metrics, if that is wanted.
func (a *attaching) export(ctx context.Context, b *beside, node string) (err error) {
	if a.endpoint == "" && a.address == "" {
		return nil
	}
	e := exporting{endpoint: a.endpoint}
	if a.endpoint != "" {
		var secure bool
		if e.address, secure, err = ship.ParseEndpoint(a.endpoint); err != nil {
			return userError{err}
		}
		if secure {
			e.secure = exportFiles(a.caFile).config
		}
	}
	if e.perMillion, err = perMillion(a.sampling); err != nil {
		return userError{err}
	}
	if a.address != "" {
		if a.port, err = newMetricsPort(ctx, a.address); err != nil {
			return err
		}
		e.explained = a.port.sink.explained
	}
	if err = b.export(ctx, e, node); err != nil {
		a.port.close()
		return userError{err}
	}
	return nil
}

// checkExport checks the flags about the export of spans.
func (a *attaching) checkExport() error {
	if a.endpoint == "" {
		switch {
		case a.sampling != 0:
			return errors.New("--sampling can only be used with --otlp-endpoint")
		case a.caFile != "":
			return errors.New("--otlp-ca-file can only be used with --otlp-endpoint")
		}
		return nil
	}
	_, err := perMillion(a.sampling)
	switch _, secure, bad := ship.ParseEndpoint(a.endpoint); {
	case bad != nil:
		err = errors.Join(err, fmt.Errorf("--otlp-endpoint: %w", bad))
	case secure:
		_, bad = exportFiles(a.caFile).config()
		err = errors.Join(err, bad)
	case a.caFile != "":
		err = errors.Join(err, fmt.Errorf("--otlp-ca-file: --otlp-endpoint %q must begin with https:// for TLS", a.endpoint))
	}
	return err
}

func (a *attaching) print(found *discover.Found) error {
	switch a.output {
	case "":
		return found.Write(textOut(a.s.out))
	case "json":
	default:
		return userError{fmt.Errorf("--output %q: with --check, must be json", a.output)}
	}
	text, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.s.out, "%s\n", human.JSON(text))
	return err
}

// watchable reports whether there is something to watch.
func watchable(f *discover.Found) bool {
	for _, s := range f.Sources {
		if s.There && (s.Name == discover.SourceKubeletLog || s.Name == discover.SourceRuntimeLog) {
			return true
		}
	}
	return false
}

// beside makes what runs beside a watch: what is kept for late readers, the recording, the control socket.
func (a *attaching) beside(ctx context.Context, found *discover.Found, bus *trace.Bus) (b *beside, err error) {
	b = &beside{bus: bus, kept: backlog.New(backlog.Options{Bytes: attachBytes}), owned: true}
	node := found.Config.NodeName
	if a.otlpGRPC != "" || a.otlpHTTP != "" {
		if a.spans, err = otlp.New(otlp.Config{GRPC: a.otlpGRPC, HTTP: a.otlpHTTP, Bus: bus}); err != nil {
			return nil, userError{fmt.Errorf("--otlp-grpc, --otlp-http: %w", err)}
		}
		if err = a.spans.Listen(ctx); err != nil {
			return nil, userError{err}
		}
	}
	if err = a.export(ctx, b, node); err != nil {
		return nil, errors.Join(err, b.close())
	}
	defer func() {
		if err != nil {
			a.port.close()
		}
	}()
	if a.file != "" {
		opt, err := a.record.options(node, "record-")
		if err != nil {
			return nil, userError{err}
		}
		opt.Backlog, opt.Tell = b.backlog, b.tell
		if b.writer, err = createRecording(ctx, a.file, opt); err != nil {
			return nil, userError{fmt.Errorf("--record: %w", err)}
		}
	}
	if a.socket == noSocket {
		return b, nil
	}
	b.control = control.New(control.Config{Path: a.socket, Bus: bus, Backlog: b.kept, Version: versionText(), NodeName: node})
	if a.socket == attachSocket {
		err = ownDir(a.socket)
	}
	if err == nil {
		err = b.control.Listen()
	}
	if err != nil {
		if a.socket != attachSocket {
			return nil, userError{errors.Join(err, b.close())}
		}
		a.s.note(err.Error() + "; the other commands cannot look at this attach")
		b.control = nil
	}
	return b, nil
}

// follow watches until ctx ends or the user quits.
func (a *attaching) follow(ctx context.Context, found *discover.Found, bus *trace.Bus, b *beside) error {
	defer catchPipe()()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var w *watch.Watch
	now := func() *discover.Found { return w.Found() }
	with := append([]watch.Observer{watch.Kernel(found, discover.Machine{}, bus)}, a.observers(found, now, bus)...)
	w = watch.New(watch.Config{Found: found, Bus: bus, Observers: with})
	var wg sync.WaitGroup
	wg.Go(func() { b.run(ctx) })
	wg.Go(func() { w.Run(ctx) }) //nolint:errcheck // what fails it publishes
	if a.port != nil {
		wg.Go(func() { a.port.sink.run(ctx, bus) })
		wg.Go(func() {
			if err := a.port.run(ctx); err != nil {
				trace.Point(bus, trace.Span{}, trace.Log{Level: trace.LevelError, Message: "the port for metrics failed: " + err.Error()})
			}
		})
	}
	wg.Go(func() {
		trimMemory() // of the start: the machine maps more of the program than is used
		keepTrim(ctx, closed())
	})
	err := a.show(ctx, w, bus)
	cancel()
	wg.Wait()
	return err
}

// closed is a channel that is closed.
func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func (a *attaching) show(ctx context.Context, w *watch.Watch, bus *trace.Bus) error {
	cur := bus.Subscribe(trace.FromOldest)
	defer cur.Close()
	found := w.Found()
	if a.noTUI || a.output != "" || !canUI(a.s) {
		fmt.Fprintf(a.s.err, "kubeloupe: attached to the kubelet, %s; seen by: %s\n", found.Process, a.seenBy(found)) //nolint:errcheck // there is nowhere else to say it
		return printUntil(ctx, cur, sinkFor(a.output, a.s.out))
	}
	return unlessEnded(ctx, tui.Run(ctx, tui.Config{
		Source: cur, In: a.s.in, Out: screen(a.s.out), ViewName: a.view, Theme: string(a.theme), LabelNow: func() string {
			now := w.Found() // it may have been restarted
			label := fmt.Sprintf("ATTACHED TO %s %d (%s)", now.Kind, now.Process.PID, a.seenBy(now))
			if raised := a.raise.label(); raised != "" {
				label = raised + " (" + label + ")"
			}
			return label
		},
	}))
}

// seenBy names the sources that are watched.
func (a *attaching) seenBy(found *discover.Found) string {
	var by []string
	for _, s := range found.Sources {
		switch {
		case !s.There:
		case s.Name == discover.SourceKubeletLog:
			by = append(by, fmt.Sprintf("log V%d", found.Config.Verbosity))
		case s.Name == discover.SourceRuntimeLog:
			by = append(by, found.Runtime.Name+" log")
		case s.Name == discover.SourcePods || s.Name == discover.SourceResources || s.Name == discover.SourceAPI || s.Name == discover.SourceAPIServer || s.Name == discover.SourceKernel:
			by = append(by, s.Name)
		}
	}
	if a.spans != nil {
		by = append(by, "spans")
	}
	return strings.Join(by, ", ")
}
