package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/inspect/control"
	"github.com/kubeloupe/kubeloupe/inspect/proxy"
	"github.com/kubeloupe/kubeloupe/inspect/proxy/guard"
	"github.com/kubeloupe/kubeloupe/inspect/step"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Where a proxy has its sockets by default. The directory is root's alone.
const (
	proxyDir    = "/run/kubeloupe"
	proxyListen = proxyDir + "/cri.sock"
)

// proxyOptions are the command's flags.
type proxyOptions struct {
	listen, runtime, endpoint string
	output                    string
	events                    int
	drain                     time.Duration
	beside                    besideOptions
}

func newProxy(s streams) *cobra.Command {
	var o proxyOptions
	c := &cobra.Command{
		Use:   "proxy",
		Short: "Relay a kubelet's calls to its container runtime, and show them",
		Long: `Relay all calls between a kubelet that is not kubeloupe and its container runtime. Each call is published with its pod and its exact
time, without secrets. The other commands connect to the proxy as they do to an agent: use --socket. kubeloupe step can pause the
calls of one pod.

The kubelet must use the proxy's socket as its containerRuntimeEndpoint, which needs one restart of the kubelet. With --endpoint, the
kubelet uses a symbolic link. The proxy then runs in a second process, and when either process ends, the link leads to the runtime
again. After SIGTERM, the proxy first changes the link, and then waits until the calls in progress have finished.`,
		Example: `  kubeloupe proxy --runtime /run/containerd/containerd.sock --endpoint /run/kubeloupe/containerd.sock
  kubeloupe tui --socket /run/kubeloupe/kubeloupe.sock
  kubeloupe step --socket /run/kubeloupe/kubeloupe.sock --pod shop/cart-7d4f-x2z`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return userError{err}
			}
			if ward := guard.Warded(); ward != nil {
				return o.relay(c.Context(), s, ward)
			}
			if o.endpoint != "" {
				return o.guarded(c.Context(), s)
			}
			return o.relay(c.Context(), s, nil)
		},
	}
	c.AddCommand(newProxyInstall(s), newProxyUninstall(s), newProxyStatus(s), newProxyBypass())
	f := c.Flags()
	f.StringVar(&o.listen, "listen", proxyListen, "socket of the proxy, for root only; its directory is created with mode 0700")
	f.StringVar(&o.runtime, "runtime", "", "socket of the container runtime, such as /run/containerd/containerd.sock")
	f.StringVar(&o.endpoint, "endpoint", "", "symbolic link that the kubelet has as its containerRuntimeEndpoint; it leads to the proxy while that runs, otherwise to the runtime")
	f.DurationVar(&o.drain, "drain", 30*time.Second, "maximum time that calls may take to finish when the proxy is stopped")
	f.StringVarP(&o.output, "output", "o", "", "print events: text (one line per important event), wide (the same, not truncated) or json (every record)")
	f.IntVar(&o.events, "event-buffer", trace.DefaultCapacity, "number of records kept in memory for slow readers")
	o.beside.add(c)
	f.Lookup("control-socket").Usage = "socket for kubeloupe's other commands, for root only; by default " + socketName + " beside --listen; none disables it"
	f.SortFlags = false
	return c
}

func (o *proxyOptions) check() error {
	if o.runtime == "" {
		return errors.New("--runtime is required: the container runtime's socket, such as /run/containerd/containerd.sock")
	}
	var err error
	if o.runtime, err = cri.SocketPath(o.runtime); err != nil {
		return fmt.Errorf("--runtime: %w", err)
	}
	if o.listen, err = cri.SocketPath(o.listen); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if o.endpoint != "" {
		if o.endpoint, err = cri.SocketPath(o.endpoint); err != nil {
			return fmt.Errorf("--endpoint: %w", err)
		}
	}
	switch {
	case o.runtime == o.listen || o.runtime == o.endpoint || o.listen == o.endpoint:
		return errors.New("--listen, --runtime and --endpoint must be three different paths")
	case !slices.Contains([]string{"", "text", "wide", "json"}, o.output):
		return fmt.Errorf("--output %q: must be text, wide or json", o.output)
	case o.events < 64 || o.events > 1<<24:
		return fmt.Errorf("--event-buffer %d: must be 64 to %d", o.events, 1<<24)
	case o.drain <= 0:
		return fmt.Errorf("--drain %v: must be more than 0", o.drain)
	}
	return nil
}

// guarded runs the relay in a process of its own.
func (o *proxyOptions) guarded(ctx context.Context, s streams) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	g := &guard.Guard{
		Link: o.endpoint, Proxy: o.listen, Runtime: o.runtime, Drain: o.drain, Tell: s.note,
		Ready: func() {
			if _, err := daemon.SdNotify(false, daemon.SdNotifyReady); err != nil {
				s.note("systemd was not told that the proxy runs: " + err.Error())
			}
		},
		Command: func() *exec.Cmd {
			c := exec.Command(self, os.Args[1:]...)
			c.Stdout, c.Stderr = os.Stdout, os.Stderr // itself, no pipe to this process: the relay lives on when that dies
			return c
		},
	}
	return g.Run(ctx)
}

// relay runs the proxy until ctx ends, or its guard dies.
func (o *proxyOptions) relay(ctx context.Context, s streams, ward *guard.Ward) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	bus := trace.NewBus(o.events)
	calls := cri.NewForeign()
	bus.Scrub(calls.Scrubber())
	gate := step.NewSwitch(step.Config{Bus: bus})
	if o.beside.socket == "" {
		o.beside.socket = filepath.Join(filepath.Dir(o.listen), socketName)
	}
	listener, err := control.Listen(o.listen)
	if err != nil {
		return userError{fmt.Errorf("--listen: %w", err)}
	}
	beside, err := o.beside.build(ctx, &hosted{bus: bus, nodeName: name, runtime: o.runtime, gate: gate})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	p, err := proxy.New(proxy.Config{
		Listener: listener, Runtime: o.runtime, Bus: bus, Calls: calls, Gate: gate, Drain: o.drain, Node: name, Version: versionText(),
	})
	if err != nil {
		return errors.Join(err, listener.Close(), beside.abandon())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	show, endShow := context.WithCancel(context.Background())
	defer endShow()
	var wg sync.WaitGroup
	wg.Go(func() { beside.run(show) })
	wg.Go(func() { keepTrim(show, closedChannel()) })
	if o.output != "" {
		wg.Go(func() {
			cur := bus.Subscribe(trace.FromOldest)
			defer cur.Close()
			if err := printUntil(show, cur, sinkFor(o.output, s.out)); err != nil && !errors.Is(err, context.Canceled) {
				s.note("events are not printed any more: " + err.Error()) // calls matter more
			}
		})
	}
	if ward != nil {
		signal.Ignore(syscall.SIGPIPE) // whoever reads what it says may end with its guard
		wg.Go(func() { ward.Beat(show) })
		go o.orphaned(ward, s, cancel)
	} else {
		s.note("relaying " + o.listen + " to " + o.runtime)
	}
	err = p.Run(ctx)
	endShow()
	wg.Wait()
	return errors.Join(err, beside.close())
}

// orphaned turns the link and ends the relay when its guard has died.
func (o *proxyOptions) orphaned(ward *guard.Ward, s streams, end func()) {
	<-ward.Orphaned()
	if err := guard.Turn(o.endpoint, o.runtime); err != nil {
		s.note("the proxy's guard has died, and the endpoint cannot be turned to the runtime: " + err.Error())
		return // it is better to relay than to end
	}
	s.note("the proxy's guard has died: the kubelet reaches the runtime directly")
	end()
}

func closedChannel() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
