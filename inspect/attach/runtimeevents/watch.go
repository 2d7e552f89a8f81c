package runtimeevents

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/containerd/containerd/api/services/containers/v1"
	"github.com/containerd/containerd/api/services/events/v1"
	"github.com/containerd/containerd/api/services/introspection/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/kubeloupe/kubeloupe/inspect/attach/crilist"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// namespace is where containerd's CRI plugin keeps everything.
	namespace = "k8s.io"
	// maxMessage bounds an event and what containerd tells of a container, maxQueue the events that wait to be read.
	maxMessage = 4 << 20
	maxQueue   = 1 << 12
	// askTime is how long containerd has to tell who it is.
	askTime = 5 * time.Second
)

// topics are those that are read; events of other namespaces and commands in containers are left out.
var topics = []string{"/tasks/create", "/tasks/start", "/tasks/exit", "/tasks/oom", "/containers/create", "/containers/delete", "/snapshot/prepare", "/snapshot/commit", "/content/create"}

// Watcher watches one containerd. Use [New].
type Watcher struct {
	socket string
	pid    uint64    // of the containerd that was watched last; 0 before
	until  time.Time // when it was lost
}

// New returns a watcher of the containerd that listens on a unix socket.
func New(socket string) *Watcher { return &Watcher{socket: socket} }

// message is an event that waits.
type message struct {
	at   int64
	what proto.Message
}

// Run passes on records until ctx or the connection ends, which is an error. It can be called again, and says then what is missing.
func (w *Watcher) Run(ctx context.Context, put func(trace.Record)) error {
	conn, err := grpc.NewClient("unix://"+w.socket, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing is under way
	ctx = metadata.AppendToOutgoingContext(ctx, "containerd-namespace", namespace)
	g, ctx := errgroup.WithContext(ctx)
	pid, err := server(ctx, conn)
	if err != nil {
		return err
	}
	req := &events.SubscribeRequest{}
	for _, t := range topics {
		req.Filters = append(req.Filters, fmt.Sprintf("namespace==%q,topic==%q", namespace, t))
	}
	stream, err := events.NewEventsClient(conn).Subscribe(ctx, req)
	if err != nil {
		return fmt.Errorf("subscribe to events: %w", err)
	}
	q := &queue{in: make(chan message, maxQueue)}
	g.Go(func() error { return q.fill(ctx, stream) })
	defer func() { w.until = time.Now() }()
	f := newFold(containers.NewContainersClient(conn), put)
	known, err := crilist.Containers(ctx, conn)
	if err != nil {
		return errors.Join(err, conn.Close(), g.Wait())
	}
	for _, k := range known {
		f.know(k)
	}
	w.again(pid, put)
	w.pid = pid
	g.Go(func() error { return q.drain(ctx, f) })
	return g.Wait()
}

// server asks containerd for its process, which tells one from the next.
func server(ctx context.Context, conn grpc.ClientConnInterface) (pid uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	s, err := introspection.NewIntrospectionClient(conn).Server(ctx, &emptypb.Empty{})
	if err != nil {
		return 0, fmt.Errorf("ask containerd who it is: %w", err)
	}
	return s.GetPid(), nil
}

// again says what was missed since the last connection.
func (w *Watcher) again(pid uint64, put func(trace.Record)) {
	if w.pid == 0 {
		return
	}
	text := fmt.Sprintf("attach: containerd's events from %s to now are missing", w.until.Format(time.TimeOnly))
	if pid != w.pid {
		text = fmt.Sprintf("attach: containerd was restarted: process %d, earlier %d; its events from %s to now are missing", pid, w.pid, w.until.Format(time.TimeOnly))
	}
	say(put, text)
}

func say(put func(trace.Record), text string) {
	put(trace.Record{Time: time.Now().UnixNano(), Observer: trace.ObserverRuntimeEvents, Span: trace.NewSpanID(), Event: &trace.Log{Level: trace.LevelWarn, Message: text}})
}

// queue is what was received and waits. What does not fit is dropped, and counted.
type queue struct {
	in   chan message
	lost atomic.Uint64
}

// fill receives always, whatever becomes of what is received.
func (q *queue) fill(ctx context.Context, s events.Events_SubscribeClient) error {
	for {
		env, err := s.Recv()
		if err != nil {
			return fmt.Errorf("receive events: %w", err)
		}
		m := decode(env)
		if m == nil {
			continue
		}
		select {
		case q.in <- message{nanos(env.GetTimestamp()), m}:
		case <-ctx.Done():
			return ctx.Err()
		default:
			q.lost.Add(1)
		}
	}
}

// drain takes in what waits.
func (q *queue) drain(ctx context.Context, f *fold) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-q.in:
			if n := q.lost.Swap(0); n > 0 {
				say(f.put, fmt.Sprintf("attach: %d of containerd's events are missing: they came faster than they were read", n))
			}
			f.apply(ctx, m.at, m.what)
		}
	}
}
