package control_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/backlog"
	"github.com/kubeloupe/kubeloupe/inspect/control"
	"github.com/kubeloupe/kubeloupe/inspect/step"
	"github.com/kubeloupe/kubeloupe/trace"
)

// agent is a server with its backends.
type agent struct {
	t      *testing.T
	path   string
	bus    *trace.Bus
	steps  *steppers
	cancel context.CancelFunc
	done   chan error
}

// start runs a server until the test ends. The directory of its socket does not exist yet.
func start(t *testing.T, change func(*control.Config)) *agent {
	t.Helper()
	a := &agent{t: t, path: filepath.Join(t.TempDir(), "run", "c.sock"), bus: trace.NewBus(1024), steps: &steppers{}, done: make(chan error, 1)}
	k := backlog.New(backlog.Options{})
	cfg := control.Config{
		Path: a.path, Bus: a.bus, Backlog: k, Node: node{}, Steppers: a.steps, Version: "0.2.0", NodeName: "lab-1", Simulated: true,
	}
	if change != nil {
		change(&cfg)
	}
	s := control.New(cfg)
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a.cancel = cancel
	cursor := a.bus.Subscribe(trace.FromOldest)
	var wg sync.WaitGroup
	wg.Go(func() { k.Run(ctx, cursor) })
	wg.Go(func() { a.done <- s.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		cursor.Close()
	})
	return a
}

// soon is the time limit for what should happen immediately: a minute.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// await receives from a channel, or waits until it is closed.
func await[T any](t *testing.T, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(time.Minute):
		t.Fatalf("%s did not come within a minute", what)
	}
	return v
}

func (a *agent) dial() *control.Client {
	a.t.Helper()
	c, err := control.Dial(a.t.Context(), a.path)
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

func (a *agent) say(format string, args ...any) {
	trace.Point(a.bus, trace.Span{}, trace.Log{Message: fmt.Sprintf(format, args...)})
}

// raw connects and reads the hello.
func (a *agent) raw() (*net.UnixConn, *bufio.Reader) {
	a.t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: a.path, Net: "unix"})
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	br := bufio.NewReader(conn)
	if text, err := br.ReadString('\n'); err != nil || !strings.Contains(text, `"control":`) {
		a.t.Fatalf("no hello: %s %v", text, err)
	}
	return conn, br
}

// node answers one query.
type node struct{}

func (node) Query(ctx context.Context, what string, args map[string]string) (any, error) {
	switch what {
	case "images":
		return []map[string]string{{"id": "sha256:1", "pod": args["pod"]}}, nil
	case "slow":
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("unknown question %q", what)
}

// steppers creates sessions and records them.
type steppers struct {
	mu   sync.Mutex
	last *session
}

func (s *steppers) Attach(_ context.Context, req control.StepRequest) (control.Session, error) {
	if req.Pod == "shop/none" {
		return nil, errors.New("no pod shop/none")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = &session{req: req, stops: make(chan step.Stop, 1), closed: make(chan struct{})}
	return s.last, nil
}

func (s *steppers) session() *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

type session struct {
	req    control.StepRequest
	stops  chan step.Stop
	closed chan struct{}
}

func (s *session) Stops() <-chan step.Stop { return s.stops }
func (s *session) Close()                  { close(s.closed) }

func (s *session) Do(ctx context.Context, line string) (string, error) {
	switch line {
	case "n":
		s.stops <- step.Stop{Next: "sandbox", Index: 2, Total: 5, Actions: []step.Action{{ID: "cgroup", State: step.Done, Dur: time.Millisecond}}}
		return "", nil
	case "shell":
		return "", fmt.Errorf("shell: %w", step.ErrElsewhere)
	case "early":
		return "", step.ErrNothingWaits
	case "hang":
		<-ctx.Done()
		return "", ctx.Err()
	case "end":
		close(s.stops)
		return "bye", nil
	}
	return "did " + line, nil
}

// all reads a stream to its end.
func all(t *testing.T, s *control.Stream) (recs []trace.Record, lost uint64) {
	t.Helper()
	ctx := soon(t)
	for {
		some, l, err := s.Next(ctx, make([]trace.Record, 0, 16))
		recs, lost = append(recs, some...), lost+l
		if errors.Is(err, io.EOF) {
			return recs, lost
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func message(r trace.Record) string {
	e, ok := r.Event.(*trace.Log)
	if !ok || strings.Contains(e.Message, "control socket") {
		return ""
	}
	return e.Message
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestMain(m *testing.M) {
	if path := os.Getenv("CONTROL_TEST_STEP"); path != "" {
		stepAndWait(path)
		return
	}
	if path := os.Getenv("CONTROL_TEST_DIAL"); path != "" {
		_, err := control.Dial(context.Background(), path)
		fmt.Println(err)
		return
	}
	os.Exit(m.Run())
}
