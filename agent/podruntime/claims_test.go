package podruntime

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// The steps of plans with claims: before a sandbox always, before containers if they are not known to be prepared, and never if nothing
// needs them.
func TestClaimsInPlans(t *testing.T) {
	for _, c := range []struct {
		name  string
		seen  []string
		state ClaimState
		want  string // the needs of sandbox and create
	}{
		{"none", nil, ClaimsNone, "-"},
		{"new", nil, ClaimsUnready, "sandbox create"},
		{"new, again", nil, ClaimsFailed, "sandbox image create"},
		{"new sandbox", []string{"-sandbox:0", "web=exited/1"}, ClaimsReady, "sandbox create"},
		{"running", []string{"sandbox:0", "web=running"}, ClaimsReady, "-"},
		{"running, state lost", []string{"sandbox:0", "web=running"}, ClaimsUnready, "-"},
		{"restart", []string{"sandbox:0", "web=exited/1"}, ClaimsReady, "-"},
		{"restart, state lost", []string{"sandbox:0", "web=exited/1"}, ClaimsUnready, "create"},
	} {
		p := Make(Inputs{
			Pod: podWith(v1.RestartPolicyAlways, "web"), Seen: seen(c.seen...), Now: noon.Add(time.Hour), There: There{Cgroup: true, Dirs: true, Volumes: true, Claims: c.state},
			NotBefore: func(*v1.Container, *podstate.Container) time.Time { return time.Time{} },
			AfterKill: func(*v1.Container) time.Time { return time.Time{} },
		})
		var got []string
		for _, s := range p.Steps {
			if slices.Contains(s.Needs, stepClaims) {
				got = append(got, strings.Fields(s.ID)[0])
			}
		}
		if len(got) == 0 && !p.has(stepClaims) {
			got = []string{"-"}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %v, want %s", c.name, got, c.want)
		}
	}
}

// fakeClaims gives containers a device.
type fakeClaims struct {
	*world
	ready, held bool
}

func (f *fakeClaims) Has(*v1.Pod) bool    { return true }
func (f *fakeClaims) Ready(*v1.Pod) bool  { return f.ready }
func (f *fakeClaims) Held(types.UID) bool { return f.held }
func (f *fakeClaims) Prepare(ctx context.Context, _ *v1.Pod) error {
	return f.do(ctx, "prepare claims")
}

func (f *fakeClaims) Unprepare(ctx context.Context, uid types.UID) error {
	return f.do(ctx, "release claims of "+string(uid))
}

func (f *fakeClaims) Container(_ *v1.Pod, c *v1.Container) ([]*runtimeapi.CDIDevice, error) {
	return []*runtimeapi.CDIDevice{{Name: "claim/" + c.Name}}, f.do(context.Background(), "devices of the claims of "+c.Name)
}

// shows makes the runtime report a pod.
func (w *world) shows(p *podstate.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cached, w.truth = p, p
}

// Claims are prepared before the sandbox, and released after everything has stopped.
func TestClaims(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		f := &fakeClaims{world: w}
		w.rt.cfg.Claims = f
		if _, err := w.rt.Sync(t.Context(), always("web"), 1, nil); err != nil {
			t.Fatal(err)
		}
		did := w.did()
		prepare, sandbox, devices, create := slices.Index(did, "prepare claims"), slices.Index(did, "run sandbox"), slices.Index(did, "devices of the claims of web"), slices.Index(did, "create web")
		if prepare < 0 || sandbox < prepare || devices < sandbox || create < devices {
			t.Errorf("did %q", did)
		}
		f.held = true
		w.shows(seen("sandbox:0", "web=running"))
		if err := w.rt.Kill(t.Context(), always("web"), nil, "deleted", 1); err != nil {
			t.Fatal(err)
		}
		if did := w.did(); len(did) < 3 || did[len(did)-1] != "release claims of uid" {
			t.Errorf("did %q", did)
		}
		f.held = false
		if err := w.rt.Kill(t.Context(), always("web"), nil, "deleted", 1); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(w.did(), "release claims of uid") {
			t.Error("released twice")
		}
	})
}

// While a container cannot be stopped, its claims are not released.
func TestClaimsOfWhatRuns(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.rt.cfg.Claims = &fakeClaims{world: w, held: true}
		w.shows(seen("sandbox:0", "web=running"))
		w.on("stop sandbox sb0", func(context.Context) error { return errors.New("busy") })
		if err := w.rt.Kill(t.Context(), always("web"), nil, "deleted", 1); err == nil {
			t.Fatalf("no error; did %q", w.did())
		}
		if slices.Contains(w.did(), "release claims of uid") {
			t.Error("released")
		}
	})
}

// lateDriver is what a pod waits for.
type lateDriver struct{}

func (lateDriver) Error() string { return "prepare dynamic resources: DRA driver x is not registered" }

func (lateDriver) Wait() trace.Wait {
	return trace.Wait{For: trace.WaitClaims, Target: trace.Target{Kind: trace.TargetDRADriver, Name: "x"}}
}

// Without its claims, a pod gets no sandbox. Users see upstream's Event, and the next attempt is later each time.
func TestClaimsFail(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.rt.cfg.Claims = &fakeClaims{world: w}
		w.on("prepare claims", func(context.Context) error { return lateDriver{} })
		for i, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
			out, err := w.rt.Sync(t.Context(), always("web"), 1, nil)
			if _, ok := errors.AsType[lateDriver](err); !ok {
				t.Fatal(err)
			}
			if got := time.Until(out.RetryAt); got != want*time.Second {
				t.Errorf("again in %v, want %v", got, want*time.Second)
			}
			if did := w.did(); slices.Contains(did, "run sandbox") || slices.Contains(did, "create web") || slices.Contains(did, "image web:1") != (i == 0) {
				t.Errorf("did %q", did)
			}
		}
		if r := w.rt.Reasons("uid"); len(r) > 0 {
			t.Errorf("reasons %v", r)
		}
		failures := func() []trace.NodeEvent {
			return slices.DeleteFunc(tracetest.Events[trace.NodeEvent](w.rec), func(e trace.NodeEvent) bool { return e.Reason != "FailedPrepareDynamicResources" })
		}
		events := failures()
		if len(events) != 7 || events[0].Type != trace.EventWarning ||
			events[0].Message != "Failed to prepare dynamic resources: prepare dynamic resources: DRA driver x is not registered" {
			t.Errorf("%+v", events)
		}
		w.on("prepare claims", nil)
		if _, err := w.rt.Sync(t.Context(), always("web"), 1, nil); err != nil {
			t.Fatal(err)
		}
		w.on("prepare claims", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := (&run{Runtime: w.rt, pod: always("web")}).prepareClaims(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if n := len(failures()); n != 7 {
			t.Errorf("%d events: a pod that is deleted has no failure", n)
		}
		synctest.Wait()
	})
}

// A container whose claims are not known is not created.
func TestUnknownClaims(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.rt.cfg.Claims = &fakeClaims{world: w}
		w.on("devices of the claims of web", func(context.Context) error { return errors.New("internal error: unable to get claim info") })
		if _, err := w.rt.Sync(t.Context(), always("web"), 1, nil); err == nil {
			t.Error("no error")
		}
		if why := w.rt.Reasons("uid")["web"]; why.Reason != criconfig.ReasonContainerConfig || why.Message != "container web: resources.claims: internal error: unable to get claim info" {
			t.Errorf("%+v", why)
		}
	})
}
