package proxy

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/inspect/step"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/gate"
)

// stepped is a proxy whose calls of a pod a person steps.
func stepped(t *testing.T, f *fake) (*lab, *step.Session) {
	t.Helper()
	sw := &later{}
	l := begin(t, f, sw)
	sw.Switch = step.NewSwitch(step.Config{Bus: l.bus})
	s, err := sw.Attach(step.Config{Pod: trace.Pod{Namespace: "shop", Name: "web"}, Attached: true, Bus: l.bus})
	fail(t, err)
	t.Cleanup(s.Close)
	return l, s
}

// later is a switch that needs the proxy's bus.
type later struct{ *step.Switch }

// at waits for the next stop at which a call waits.
func at(t *testing.T, s *step.Session) step.Stop {
	t.Helper()
	for {
		if stop := <-s.Stops(); stop.Waits() {
			return stop
		}
	}
}

func say(t *testing.T, s *step.Session, line string) {
	t.Helper()
	if _, err := s.Do(t.Context(), line); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
}

// A person goes from call to call, sees the request, fails one, has it made again, and leaves.
func TestStep(t *testing.T) {
	var runs atomic.Int32
	f := &fake{run: func(context.Context, *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
		if runs.Add(1) == 1 {
			return nil, status.Error(codes.Unknown, "no network")
		}
		return &runtimeapi.RunPodSandboxResponse{PodSandboxId: "s1"}, nil
	}}
	l, s := stepped(t, f)
	c := l.runtime()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	got := make(chan error, 1)
	sandbox := func() {
		_, err := c.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: web})
		got <- err
	}
	go sandbox()
	stop := at(t, s)
	if stop.Next != "sandbox" || stop.When != gate.Before || !strings.Contains(stop.Request, "shop") || stop.RequestTitle != "runtime.v1.RunPodSandboxRequest" {
		t.Errorf("%+v", stop)
	}
	if left := stop.Left(time.Now()); left < 3*time.Minute || left > 4*time.Minute-workReserve || !strings.Contains(stop.Text(), "continues by itself in 3m") {
		t.Errorf("it continues in %v: %s", left, stop.Text())
	}
	if runs.Load() != 0 {
		t.Error("the call that waits was made")
	}
	say(t, s, "n")
	if stop = at(t, s); stop.When != gate.After || stop.Err != "no network" {
		t.Errorf("%+v", stop)
	}
	say(t, s, "retry")
	if stop = at(t, s); stop.When != gate.After || stop.Attempt != 2 || stop.Err != "" {
		t.Errorf("%+v", stop)
	}
	say(t, s, "n")
	fail(t, <-got) // the kubelet knows nothing of the first try
	if runs.Load() != 2 {
		t.Errorf("%d calls were made", runs.Load())
	}

	// The next one fails without being made, with the code that was asked for.
	create := &runtimeapi.CreateContainerRequest{PodSandboxId: "s1", SandboxConfig: web, Config: &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: "main"}}}
	made := func() {
		_, err := c.CreateContainer(ctx, create)
		got <- err
	}
	go made()
	if stop = at(t, s); stop.Next != "create main" || len(stop.Actions) != 2 || stop.Actions[0].State != step.Done {
		t.Errorf("%+v", stop)
	}
	say(t, s, `fail NotFound "no such image"`)
	if stop = at(t, s); stop.When != gate.After || stop.Err != "no such image" {
		t.Errorf("%+v", stop)
	}
	say(t, s, "n")
	if err := <-got; status.Code(err) != codes.NotFound || status.Convert(err).Message() != "no such image" {
		t.Errorf("%v", err)
	}

	// A breakpoint by the method's name, after it; other pods and other calls are not held.
	go made()
	at(t, s)
	say(t, s, "b after StartContainer")
	say(t, s, "c")
	fail(t, <-got)
	if _, err := c.Version(t.Context(), &runtimeapi.VersionRequest{}); err != nil {
		t.Error(err)
	}
	other := &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Namespace: "shop", Name: "other", Uid: "u2"}}
	if _, err := c.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: other}); err != nil {
		t.Error(err)
	}
	go func() {
		_, err := c.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: "c-main"})
		got <- err
	}()
	if stop = at(t, s); stop.Next != "start main" || stop.When != gate.After || stop.Hit == "" {
		t.Errorf("%+v", stop)
	}
	s.Close() // the person goes away
	fail(t, <-got)

	var verdicts []string
	for _, r := range l.records(t) {
		if e, ok := r.Event.(*trace.Gate); ok {
			verdicts = append(verdicts, string(e.Verdict))
		}
	}
	if got := strings.Join(verdicts, " "); got != "go retry go fail go go open" {
		t.Errorf("verdicts: %s", got)
	}
}

// A call that nobody answers for continues in time; one that nobody wants any more is not forwarded.
func TestHeldTooLong(t *testing.T) {
	var runs atomic.Int32
	f := &fake{run: func(ctx context.Context, _ *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
		runs.Add(1)
		return &runtimeapi.RunPodSandboxResponse{PodSandboxId: "s1"}, ctx.Err()
	}}
	l, s := stepped(t, f)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := l.runtime().RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: web}); err != nil {
		t.Errorf("a call that was held until its deadline was near: %v", err)
	}
	var told bool
	for _, r := range l.records(t) {
		if e, ok := r.Event.(*trace.Gate); ok && e.Verdict == trace.GateDeadline {
			told = true
		}
	}
	if !told {
		t.Errorf("it is not told that the call continued by itself")
	}

	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		for stop := range s.Stops() {
			if stop.Waits() {
				cancel()
				return
			}
		}
	}()
	if _, err := l.runtime().RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: web}); status.Code(err) != codes.Canceled {
		t.Errorf("a call that was given up: %v", err)
	}
	l.stop()
	if runs.Load() != 1 {
		t.Errorf("%d calls were forwarded, want the first one", runs.Load())
	}
}

// How long a call may be held: the runtime has what it needs of the deadline.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			deadline, reserve, want time.Duration
		}{
			{4 * time.Minute, workReserve, 3*time.Minute + 30*time.Second},
			{20 * time.Second, workReserve, 10 * time.Second},
			{2 * time.Minute, answerReserve, 115 * time.Second},
			{0, workReserve, mostHeld},
			{-time.Second, workReserve, 0},
		} {
			ctx := context.Background()
			if c.deadline != 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.deadline)
				defer cancel()
			}
			if got := time.Until(until(ctx, time.Now(), c.reserve)); got != c.want {
				t.Errorf("of %v, with a reserve of %v: %v, want %v", c.deadline, c.reserve, got, c.want)
			}
		}
		stop := &call{request: &runtimeapi.StopContainerRequest{Timeout: 30}}
		if got := stop.reserve(); got != time.Minute {
			t.Errorf("of a StopContainer with 30 s of grace %v are left to the runtime", got)
		}
	})
}
