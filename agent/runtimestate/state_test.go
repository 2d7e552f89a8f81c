package runtimestate

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// fake returns its conditions or its error, and counts calls.
type fake struct {
	mu         sync.Mutex
	conditions []*runtimeapi.RuntimeCondition
	err        error
	handlers   []*runtimeapi.RuntimeHandler
	features   *runtimeapi.RuntimeFeatures
	hang       bool
	asked      int
	version    string
	versions   int  // requests
	mute       bool // Version does not answer
}

func (f *fake) Version(ctx context.Context, _ *runtimeapi.VersionRequest, _ ...grpc.CallOption) (*runtimeapi.VersionResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.versions++
	if f.mute {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &runtimeapi.VersionResponse{RuntimeVersion: f.version}, f.err
}

func (f *fake) Status(ctx context.Context, _ *runtimeapi.StatusRequest, _ ...grpc.CallOption) (*runtimeapi.StatusResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if f.hang {
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if f.err != nil {
		return nil, f.err
	}
	return &runtimeapi.StatusResponse{
		Status: &runtimeapi.RuntimeStatus{Conditions: f.conditions}, RuntimeHandlers: f.handlers, Features: f.features,
	}, nil
}

func (f *fake) set(err error, cs ...*runtimeapi.RuntimeCondition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.conditions = err, cs
}

func (f *fake) times() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.asked
	f.asked = 0
	return n
}

func is(name string, ok bool) *runtimeapi.RuntimeCondition {
	c := &runtimeapi.RuntimeCondition{Type: name, Status: ok}
	if !ok {
		c.Reason, c.Message = "Because", "of this"
	}
	return c
}

func TestCheck(t *testing.T) {
	const runtime, network = runtimeapi.RuntimeReady, runtimeapi.NetworkReady
	type answer struct {
		Up      bool
		Why     string
		Net     bool
		NetWhy  string
		Publish []string
		Words   []string // those of RuntimeError and NetworkError
	}
	for _, tc := range []struct {
		name string
		err  error
		cs   []*runtimeapi.RuntimeCondition
		want answer
	}{
		{name: "all is well", cs: []*runtimeapi.RuntimeCondition{is(runtime, true), is(network, true)}, want: answer{Up: true, Net: true}},
		{
			name: "no network", cs: []*runtimeapi.RuntimeCondition{is(runtime, true), is(network, false)},
			want: answer{
				Up: true, NetWhy: "Because: of this", Publish: []string{"degraded: pod network: Because: of this"},
				Words: []string{"container runtime network not ready: NetworkReady=false reason:Because message:of this"},
			},
		},
		{
			name: "not ready", cs: []*runtimeapi.RuntimeCondition{is(runtime, false), is(network, true)},
			want: answer{
				Why: "Because: of this", Net: true, Publish: []string{"degraded: container runtime: Because: of this"},
				Words: []string{"container runtime not ready: RuntimeReady=false reason:Because message:of this"},
			},
		},
		{
			name: "does not say", want: answer{
				Why: "the runtime does not report RuntimeReady", NetWhy: "the runtime does not report NetworkReady",
				Publish: []string{"degraded: container runtime: the runtime does not report RuntimeReady"},
				Words: []string{
					"container runtime not ready: the runtime does not report RuntimeReady",
					"container runtime network not ready: the runtime does not report NetworkReady",
				},
			},
		},
		{
			name: "does not answer", err: status.Error(codes.Unavailable, "connection refused"), want: answer{
				Why: "connection refused", NetWhy: "the runtime does not answer", Publish: []string{"degraded: container runtime: connection refused"},
				Words: []string{"container runtime is down: connection refused", "network state unknown"},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rec := tracetest.New(t)
			f := &fake{err: tc.err, conditions: tc.cs}
			s, err := New(f, rec.Bus())
			if err != nil {
				t.Fatal(err)
			}
			if ok, _ := s.Ready(); ok {
				t.Error("ready before it was asked")
			}
			if got := fmt.Sprint(words(s)); got != "[container runtime status check may not have completed yet network state unknown]" {
				t.Errorf("before it was asked: %s", got)
			}
			changed := s.Changed()
			s.Check(t.Context())
			s.Check(t.Context()) // the same state is no change
			var got answer
			got.Up, got.Why = s.Ready()
			got.Net, got.NetWhy = s.NetworkReady()
			got.Publish = said(rec)
			got.Words = words(s)
			if err := s.NetworkError(); (err != nil) == got.Net || err != nil && err.Error() != got.Words[len(got.Words)-1] {
				t.Errorf("network error %v", err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("state (-want +got):\n%s", d)
			}
			select {
			case <-changed:
			default:
				t.Error("the change was not told")
			}
		})
	}
}

func said(rec *tracetest.Recorder) []string {
	var out []string
	for _, a := range tracetest.Events[trace.Agent](rec) {
		s := string(a.State)
		if a.Reason != "" {
			s += ": " + a.Reason
		}
		out = append(out, string(s))
	}
	return out
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := tracetest.New(t)
		good := []*runtimeapi.RuntimeCondition{is(runtimeapi.RuntimeReady, true), is(runtimeapi.NetworkReady, true)}
		f := &fake{conditions: good}
		s, err := New(f, rec.Bus())
		if err != nil {
			t.Fatal(err)
		}
		s.Check(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		pass := func(d time.Duration) int { time.Sleep(d); synctest.Wait(); return f.times() }
		pass(0)
		if n := pass(95 * time.Second); n != 3 {
			t.Errorf("asked %d times in 95 s while all is well, want 3", n)
		}
		f.set(status.Error(codes.Unavailable, "gone"))
		s.Prompt()
		if n := pass(0); n != 1 {
			t.Errorf("asked %d times when prompted, want 1", n)
		}
		if n := pass(10*time.Second + time.Millisecond); n != 10 {
			t.Errorf("asked %d times in 10 s while it is down, want 10", n)
		}
		changed := s.Changed()
		f.set(nil, good...)
		<-changed
		if ok, why := s.Ready(); !ok {
			t.Errorf("not ready after it came back: %s", why)
		}
		if d := cmp.Diff([]string{"degraded: container runtime: gone", "ready"}, said(rec)); d != "" {
			t.Errorf("published (-want +got):\n%s", d)
		}
		f.mu.Lock()
		f.hang = true
		f.mu.Unlock()
		s.Prompt()
		time.Sleep(time.Second)
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if ok, _ := s.Ready(); !ok {
			t.Error("that the agent ends makes the runtime look down")
		}
	})
}

// TestPromptsOfMany: many pods with failed sandboxes do not each cause a call to the runtime.
func TestPromptsOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{conditions: []*runtimeapi.RuntimeCondition{is(runtimeapi.RuntimeReady, true), is(runtimeapi.NetworkReady, true)}}
		s, err := New(f, nil)
		if err != nil {
			t.Fatal(err)
		}
		go s.Run(t.Context())
		for range 500 {
			s.Prompt()
			time.Sleep(10 * time.Millisecond)
		}
		if n := f.times(); n < 4 || n > 6 {
			t.Errorf("asked %d times in 5 s with a prompt each 10 ms, want once a second", n)
		}
	})
}

func TestHangingRuntimeIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(&fake{hang: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		s.Check(t.Context())
		if ok, why := s.Ready(); ok || why != "context deadline exceeded" {
			t.Errorf("ready %v, %q", ok, why)
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("took %s, want 10 s", took)
		}
	})
}

func TestNewRefusesNoRuntime(t *testing.T) {
	if _, err := New(nil, nil); err == nil {
		t.Error("no error for a missing runtime")
	}
}

func TestSupports(t *testing.T) {
	f := &fake{}
	s, err := New(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Check(t.Context())
	if got, err := s.Supports(""); err != nil || got.GetUserNamespaces() {
		t.Errorf("a runtime that lists no handlers: %v, %v", got, err)
	}
	f.handlers = []*runtimeapi.RuntimeHandler{{Name: ""}, {Name: "a", Features: &runtimeapi.RuntimeHandlerFeatures{UserNamespaces: true}}}
	s.Check(t.Context())
	for name, want := range map[string]bool{"": false, "a": true} {
		if got, err := s.Supports(name); err != nil || got.GetUserNamespaces() != want {
			t.Errorf("%q: %v, %v, want %v", name, got, err, want)
		}
	}
	if _, err := s.Supports("b"); err == nil {
		t.Error("a handler that is not listed: no error")
	}
}

// words are those of the state's errors.
func words(s *State) (out []string) {
	for _, err := range []error{s.RuntimeError(), s.NetworkError()} {
		if err != nil {
			out = append(out, err.Error())
		}
	}
	return out
}
