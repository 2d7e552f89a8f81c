package image

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

const app = "r.io/app:v1"

func newPuller(t *testing.T, c Config) *Puller {
	t.Helper()
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// said lists the node events, as "reason: message".
func said(rec *tracetest.Recorder) []string {
	var out []string
	for _, e := range tracetest.Events[trace.NodeEvent](rec) {
		out = append(out, string(e.Type)+" "+e.Reason+": "+e.Message)
	}
	return out
}

func TestPresentCostsOneStatus(t *testing.T) {
	n := newNode(app)
	n.has(app)
	rec := tracetest.New(t)
	p := newPuller(t, Config{Service: n, Bus: rec.Bus(), QPS: 5, Burst: 10})

	got, err := p.Ensure(t.Context(), Request{PodUID: "u", Container: "web", Image: app, Policy: v1.PullIfNotPresent})
	if err != nil {
		t.Fatal(err)
	}
	if got.Ref != "sha256:1" || got.Pulled || got.Bytes != 1000 || got.User.Name != "web" || got.Spec.UserSpecifiedImage != app || got.Spec.Image != "sha256:1" {
		t.Errorf("result %+v", got)
	}
	if n.statuses != 1 || n.pulls != 0 {
		t.Errorf("%d status calls and %d pulls, want 1 and 0", n.statuses, n.pulls)
	}
	want := []string{`Normal Pulled: Container image "r.io/app:v1" already present on machine`}
	if d := cmp.Diff(want, said(rec)); d != "" {
		t.Error(d)
	}
	if rs := rec.Records(); len(rs) != 1 {
		t.Errorf("%d records, want only the node event", len(rs))
	}
}

func TestPolicies(t *testing.T) {
	gone := status.Error(codes.Unavailable, "connection refused")
	tests := map[string]struct {
		image  string
		policy v1.PullPolicy
		has    bool
		down   error
		blind  error

		reason  Reason // "" for success
		message string
		pulls   int
		events  []string
	}{
		"always pulls what is there":    {image: app, policy: v1.PullAlways, has: true, pulls: 1, events: []string{"Pulling", "Pulled"}},
		"latest means always":           {image: "r.io/top", has: true, pulls: 1, events: []string{"Pulling", "Pulled"}},
		"a tag means if not present":    {image: app, has: true, events: []string{"Pulled"}},
		"if not present pulls":          {image: app, policy: v1.PullIfNotPresent, pulls: 1, events: []string{"Pulling", "Pulled"}},
		"never with the image there":    {image: app, policy: v1.PullNever, has: true, events: []string{"Pulled"}},
		"never without it":              {image: app, policy: v1.PullNever, reason: ErrImageNeverPull, message: `Container image "r.io/app:v1" is not present with pull policy of Never`, events: []string{"ErrImageNeverPull"}},
		"a bad name":                    {image: "R.io/App", reason: InvalidImageName, message: `Failed to apply default image tag "R.io/App": couldn't parse image name "R.io/App": invalid reference format: repository name (App) must be lowercase`, events: []string{"InspectFailed"}},
		"the runtime cannot tell":       {image: app, blind: gone, reason: ImageInspectError, message: `Failed to inspect image "r.io/app:v1": rpc error: code = Unavailable desc = connection refused`, events: []string{"InspectFailed"}},
		"the registry has no such":      {image: "r.io/none:v1", reason: ErrImagePull, message: `rpc error: code = NotFound desc = failed to pull and unpack image "r.io/none:v1": not found`, pulls: 1, events: []string{"Pulling", "Failed"}},
		"the registry is unavailable":   {image: app, down: status.Error(codes.Unknown, "RegistryUnavailable: no route to host"), reason: RegistryUnavailable, message: "image pull failed for r.io/app:v1 because the registry is unavailable: no route to host", pulls: 1, events: []string{"Pulling", "Failed"}},
		"the signature does not verify": {image: app, down: errors.New("SignatureValidationFailed: no signature"), reason: SignatureValidationFailed, message: "image pull failed for r.io/app:v1 because the signature validation failed: no signature", pulls: 1, events: []string{"Pulling", "Failed"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(app, "r.io/top:latest")
				if tt.has {
					n.has(app)
				}
				n.down, n.blind = tt.down, tt.blind
				rec := tracetest.New(t)
				p := newPuller(t, Config{Service: n, Bus: rec.Bus()})

				got, err := p.Ensure(t.Context(), Request{PodUID: "u", Container: "web", Image: tt.image, Policy: tt.policy})
				var e *Error
				switch {
				case tt.reason == "" && err != nil:
					t.Fatal(err)
				case tt.reason == "":
					if got.Ref == "" || got.Pulled != (tt.pulls > 0) {
						t.Errorf("result %+v", got)
					}
				case !errors.As(err, &e):
					t.Fatalf("error %v, want *Error", err)
				case e.Reason != tt.reason || e.Message != tt.message:
					t.Errorf("got %s: %s\nwant %s: %s", e.Reason, e.Message, tt.reason, tt.message)
				}
				if n.pulls != tt.pulls {
					t.Errorf("%d pulls, want %d", n.pulls, tt.pulls)
				}
				var reasons []string
				for _, ev := range tracetest.Events[trace.NodeEvent](rec) {
					reasons = append(reasons, ev.Reason)
					if ev.Field != "spec.containers{web}" {
						t.Errorf("field %q", ev.Field)
					}
				}
				if d := cmp.Diff(tt.events, reasons); d != "" {
					t.Error(d)
				}
				if wantRetry := tt.pulls > 0 && tt.reason != ""; wantRetry && !e.RetryAt.Equal(time.Now().Add(10*time.Second)) {
					t.Errorf("retry at %v", e.RetryAt)
				}
			})
		})
	}

	p := newPuller(t, Config{Service: newNode()})
	if _, err := p.Ensure(t.Context(), Request{Image: app, Container: "web", Policy: "Sometimes"}); err == nil {
		t.Error("no error for an unknown policy")
	}
}

// TestUnknownCode: gRPC's code Unknown is not in texts, and does not hide the reason if several logins fail alike.
func TestUnknownCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(app)
		n.down = status.Error(codes.Unknown, "RegistryUnavailable: 503")
		rec := tracetest.New(t)
		p := newPuller(t, Config{Service: n, Bus: rec.Bus(), Keyring: ring{"r.io/app": {{Username: "a"}, {Username: "b"}}}})

		_, err := p.Ensure(t.Context(), Request{PodUID: "u", Container: "web", Image: app})
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Reason != RegistryUnavailable || e.Message != "image pull failed for r.io/app:v1 because the registry is unavailable: 503" || n.pulls != 2 {
			t.Errorf("%v after %d pulls", err, n.pulls)
		}
		evs := tracetest.Events[trace.NodeEvent](rec)
		if want := `Failed to pull image "r.io/app:v1": RegistryUnavailable: 503`; evs[len(evs)-1].Message != want {
			t.Errorf("message %q, want %q", evs[len(evs)-1].Message, want)
		}
	})
}

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(app)
		n.latency, n.down = 0, status.Error(codes.Unknown, "503")
		rec := tracetest.New(t)
		p := newPuller(t, Config{Service: n, Bus: rec.Bus()})
		req := Request{PodUID: "u", Container: "web", Image: app}
		var delays []time.Duration
		for range 7 {
			var e *Error
			if _, err := p.Ensure(t.Context(), req); !errors.As(err, &e) || e.Reason != ErrImagePull {
				t.Fatalf("error %v", err)
			}
			delay := time.Until(e.RetryAt)
			delays = append(delays, delay)
			time.Sleep(delay - time.Nanosecond)
			pulls := n.pulls
			if _, err := p.Ensure(t.Context(), req); !errors.As(err, &e) || e.Reason != ImagePullBackOff {
				t.Fatalf("error %v", err)
			}
			if want := `Back-off pulling image "r.io/app:v1": ErrImagePull: 503`; e.Message != want {
				t.Errorf("message %q, want %q", e.Message, want)
			}
			if n.pulls != pulls {
				t.Error("pulled during back-off")
			}
			time.Sleep(time.Until(e.RetryAt))
		}
		s := time.Second
		if d := cmp.Diff([]time.Duration{10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 300 * s, 300 * s}, delays); d != "" {
			t.Error(d)
		}
		decisions := tracetest.Events[trace.Decision](rec)
		if len(decisions) != 14 || decisions[0].By != trace.ByBackoff || decisions[0].Subject != app || decisions[0].Verdict != trace.VerdictWait {
			t.Errorf("%d decisions, the first %+v", len(decisions), decisions[0])
		}

		// Another pod has its own back-off.
		var e *Error
		other := req
		other.PodUID = "v"
		if _, err := p.Ensure(t.Context(), other); !errors.As(err, &e) || time.Until(e.RetryAt) != 10*s {
			t.Errorf("error %v", err)
		}
		// A success does not clear it, only age.
		n.down = nil
		if _, err := p.Ensure(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		n.down = status.Error(codes.Unknown, "503")
		again := req
		again.Policy = v1.PullAlways
		if _, err := p.Ensure(t.Context(), again); !errors.As(err, &e) || time.Until(e.RetryAt) != 300*s {
			t.Errorf("error %v", err)
		}
		time.Sleep(10*time.Minute + 1)
		if _, err := p.Ensure(t.Context(), again); !errors.As(err, &e) || time.Until(e.RetryAt) != 10*s {
			t.Errorf("error %v", err)
		}
		p.Forget("u")
		p.Forget("v")
		if len(p.backoff.all) != 0 {
			t.Errorf("%d back-offs remembered of forgotten pods", len(p.backoff.all))
		}
	})
}

// ensureAll calls Ensure for a pod of each name at once and returns the results by pod.
func ensureAll(ctx context.Context, p *Puller, names ...string) ([]Result, []error) {
	res, errs := make([]Result, len(names)), make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			pod := trace.Pod{Namespace: "default", Name: fmt.Sprint("p", i), UID: fmt.Sprint(i)}
			ctx := trace.ContextWith(ctx, trace.ForPod(trace.FromContext(ctx), pod))
			res[i], errs[i] = p.Ensure(ctx, Request{PodUID: pod.UID, Container: "web", Image: name})
		})
	}
	wg.Wait()
	return res, errs
}

func TestPullsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(app)
		rec := tracetest.New(t)
		p := newPuller(t, Config{Service: n, Bus: rec.Bus(), Serialize: true})
		res, errs := ensureAll(t.Context(), p, app, app, app)
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		shared := 0
		for _, r := range res {
			if !r.Pulled || r.Ref != "sha256:1" || r.User.Name != "web" {
				t.Errorf("result %+v", r)
			}
			if r.Shared {
				shared++
			}
		}
		if n.pulls != 1 || shared != 2 {
			t.Errorf("%d pulls, %d shared; want 1 and 2", n.pulls, shared)
		}
		var waits, own, others int
		for _, r := range rec.Records() {
			if r.Edge != trace.EdgeEnd {
				continue
			}
			switch e := r.Event.(type) {
			case *trace.Wait:
				waits++
				if e.For != trace.WaitOtherPull || r.Dur != time.Second {
					t.Errorf("wait %+v of %v", e, r.Dur)
				}
			case *trace.ImagePull:
				if e.Ref != "sha256:1" || e.Bytes != 1000 || r.Dur != time.Second || r.Pod.Name == "" {
					t.Errorf("pull %+v of %v for %v", e, r.Dur, r.Pod)
				}
				if e.Shared {
					others++
				} else {
					own++
				}
			}
		}
		if waits != 2 || own != 1 || others != 2 {
			t.Errorf("%d waits, %d pulls, %d shared pulls; want 2, 1, 2", waits, own, others)
		}
		if len(p.flights.all) != 0 {
			t.Error("a flight is left")
		}
	})
}

// The runtime learns which pod a pull is for. Pods of one namespace share a pull; another namespace, or the annotation
// that chooses a runtime handler, may lead to another result.
func TestPullsHaveTheirPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(app)
		p := newPuller(t, Config{Service: n, Sandbox: func(pod *v1.Pod) *runtimeapi.PodSandboxConfig {
			return &runtimeapi.PodSandboxConfig{
				Metadata:    &runtimeapi.PodSandboxMetadata{Namespace: pod.Namespace, Name: pod.Name},
				Annotations: pod.Annotations, Linux: &runtimeapi.LinuxPodSandboxConfig{CgroupParent: pod.Name},
			}
		}})
		var wg sync.WaitGroup
		for i, at := range [][2]string{{"a", ""}, {"a", ""}, {"a", ""}, {"b", ""}, {"b", "kata"}, {"b", "kata"}} {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: at[0], Name: fmt.Sprint("p", i), Annotations: map[string]string{"io.containerd.cri.runtime-handler": at[1], "other": fmt.Sprint(i)},
			}}
			wg.Go(func() {
				if _, err := p.Ensure(t.Context(), Request{PodUID: pod.Name, Pod: pod, Image: app}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		var got []string
		for _, s := range n.sent {
			got = append(got, s.GetMetadata().GetNamespace()+" "+s.GetAnnotations()["io.containerd.cri.runtime-handler"])
		}
		slices.Sort(got)
		if d := cmp.Diff([]string{"a ", "b ", "b kata"}, got); d != "" {
			t.Errorf("pulls (-want +got):\n%s", d)
		}
	})
}

func TestSharedFailureBacksEveryPodOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode()
		p := newPuller(t, Config{Service: n})
		_, errs := ensureAll(t.Context(), p, app, app)
		for _, err := range errs {
			var e *Error
			if !errors.As(err, &e) || e.Reason != ErrImagePull || time.Until(e.RetryAt) != 10*time.Second {
				t.Errorf("error %v", err)
			}
		}
		if n.pulls != 1 {
			t.Errorf("%d pulls", n.pulls)
		}
	})
}

// Two containers of one pod need the same image: a failure counts once.
func TestOnePodFailsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPuller(t, Config{Service: newNode()})
		var wg sync.WaitGroup
		for _, c := range []string{"a", "b"} {
			wg.Go(func() {
				_, err := p.Ensure(t.Context(), Request{PodUID: "u", Container: c, Image: app})
				var e *Error
				if !errors.As(err, &e) || time.Until(e.RetryAt) != 10*time.Second {
					t.Errorf("error %v", err)
				}
			})
		}
		wg.Wait()
	})
}

func TestPodThatBeganThePullGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(app)
		p := newPuller(t, Config{Service: n})
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() {
			_, err := p.Ensure(ctx, Request{PodUID: "1", Image: app})
			first <- err
		}()
		synctest.Wait()
		second := make(chan error, 1)
		go func() {
			_, err := p.Ensure(t.Context(), Request{PodUID: "2", Image: app})
			second <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("first: %v", err)
		}
		if err := <-second; err != nil {
			t.Errorf("second: %v", err)
		}
		if n.pulls != 1 || n.ended[0] != nil {
			t.Errorf("%d pulls, ended %v", n.pulls, n.ended)
		}
	})
}

func TestLastPodGoesAwayEndsThePull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(app)
		p := newPuller(t, Config{Service: n})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, errs := ensureAll(ctx, p, app, app)
		for _, err := range errs {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
		}
		synctest.Wait()
		if len(n.ended) != 1 || status.Code(n.ended[0]) != codes.Canceled {
			t.Errorf("the pull ended with %v", n.ended)
		}
		// That was no failure: the next attempt may pull.
		if _, err := p.Ensure(t.Context(), Request{PodUID: "0", Image: app}); err != nil {
			t.Error(err)
		}
	})
}

func TestQueue(t *testing.T) {
	images := []string{"r.io/a:1", "r.io/b:1", "r.io/c:1", "r.io/d:1"}
	tests := map[string]struct {
		config Config
		most   int
		took   time.Duration
	}{
		"serial":       {Config{Serialize: true}, 1, 4 * time.Second},
		"two at once":  {Config{MaxParallel: 2}, 2, 2 * time.Second},
		"no bound":     {Config{}, 4, time.Second},
		"rate limited": {Config{QPS: 0.5, Burst: 2}, 2, 5 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(images...)
				rec := tracetest.New(t)
				tt.config.Service, tt.config.Bus = n, rec.Bus()
				p := newPuller(t, tt.config)
				began := time.Now()
				_, errs := ensureAll(t.Context(), p, images...)
				if err := errors.Join(errs...); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took != tt.took || n.most != tt.most {
					t.Errorf("took %v with %d at once, want %v with %d", took, n.most, tt.took, tt.most)
				}
				// There is no gap: waits and pull add up to the total time of the last pod.
				var waited time.Duration
				for _, r := range rec.OfKind("pod.wait") {
					waited = max(waited, r.Dur)
				}
				if want := tt.took - time.Second; waited != want {
					t.Errorf("longest wait %v, want %v", waited, want)
				}
			})
		})
	}
}

func TestWaitingPodGoesAway(t *testing.T) {
	for name, c := range map[string]Config{"slot": {Serialize: true}, "token": {QPS: 0.1, Burst: 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode("r.io/a:1", "r.io/b:1", "r.io/c:1")
				n.latency = time.Minute
				c.Service = n
				p := newPuller(t, c)
				go func() { _, _ = p.Ensure(t.Context(), Request{Image: "r.io/a:1"}) }()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := p.Ensure(ctx, Request{Image: "r.io/b:1"}); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v", err)
				}
				// Its slot and token are free for the next pull.
				if _, err := p.Ensure(t.Context(), Request{Image: "r.io/c:1"}); err != nil {
					t.Error(err)
				}
				if n.pulls != 2 {
					t.Errorf("%d pulls", n.pulls)
				}
			})
		})
	}
}

type ring map[string][]*runtimeapi.AuthConfig

func (r ring) Lookup(repository string) []*runtimeapi.AuthConfig { return r[repository] }

func TestCredentialsAreTriedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(app)
		n.secrets[app] = "right"
		keys := ring{"r.io/app": {{Username: "u", Password: "wrong"}, {Username: "u", Password: "right"}}}
		if _, err := newPuller(t, Config{Service: n, Keyring: keys}).Ensure(t.Context(), Request{Image: app}); err != nil {
			t.Error(err)
		}
		if n.pulls != 2 {
			t.Errorf("%d attempts", n.pulls)
		}
		keys["r.io/app"] = keys["r.io/app"][:1]
		_, err := newPuller(t, Config{Service: n, Keyring: keys}).Ensure(t.Context(), Request{Image: app, Policy: v1.PullAlways})
		var e *Error
		if !errors.As(err, &e) || e.Reason != ErrImagePull {
			t.Errorf("error %v", err)
		}
	})
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(app)
		n.latency = 2 * time.Second
		rec := tracetest.New(t)
		running := 0
		p := newPuller(t, Config{Service: n, Bus: rec.Bus(), Progress: func(ctx context.Context, image string, report func(Progress)) {
			running++
			defer func() { running-- }()
			for i := int64(0); ctx.Err() == nil; i++ {
				report(Progress{Done: i / 20 * 100, Total: 1000, Source: "test"}) // progress every 200 ms
				time.Sleep(10 * time.Millisecond)
			}
			report(Progress{Done: 1, Total: 1, Source: "too late"})
		}})
		if _, err := p.Ensure(t.Context(), Request{Image: app}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if running != 0 {
			t.Error("the progress source still runs")
		}
		got := rec.OfKind("image.progress")
		if len(got) < 8 || len(got) > 9 { // the ninth coincides with the end
			t.Errorf("%d progress events in 2 s", len(got))
		}
		for i, r := range got {
			if e, ok := r.Event.(*trace.ImageProgress); !ok || e.Source != "test" || e.Image != app || e.Total != 1000 {
				t.Errorf("progress %+v", r.Event)
			}
			if i > 0 && r.Time-got[i-1].Time < int64(progressEvery) {
				t.Error("two progress events within 250 ms")
			}
		}
	})
}

func TestNewRejects(t *testing.T) {
	_, err := New(Config{MaxParallel: -1, QPS: 1, Serialize: true})
	want := "image: Service is required\nimage: maxParallelImagePulls is -1, must be 0 (no limit) or more\nimage: registryBurst is 0, must be positive when registryPullQPS is"
	if err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
	if _, err := New(Config{Service: newNode(), Serialize: true, MaxParallel: 2}); err == nil {
		t.Error("serialized with two at once is accepted")
	}
}

// hungRegistry never responds for images of one registry.
type hungRegistry struct{ *node }

func (n hungRegistry) PullImage(ctx context.Context, req *runtimeapi.PullImageRequest, o ...grpc.CallOption) (*runtimeapi.PullImageResponse, error) {
	if strings.HasPrefix(req.Image.Image, "hung.example.com/") {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return n.node.PullImage(ctx, req, o...)
}

// Serial pulls are not blocked by a registry that does not respond: one of its pulls delays another registry's for as
// long as a pull may make no progress; its further pulls do not.
func TestHungPulls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode("r.io/a:1", "r.io/b:1", "r.io/c:1")
		p := newPuller(t, Config{Service: hungRegistry{n}, Serialize: true})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		pull := func(image string) {
			all.Go(func() { _, _ = p.Ensure(ctx, Request{PodUID: image, Container: "web", Image: image}) })
			synctest.Wait()
		}
		for i := range 20 {
			pull(fmt.Sprintf("hung.example.com/app%d:1", i))
		}
		began := time.Now()
		var good sync.WaitGroup
		for _, image := range []string{"r.io/a:1", "r.io/b:1", "r.io/c:1"} {
			good.Go(func() {
				if _, err := p.Ensure(ctx, Request{PodUID: image, Container: "web", Image: image}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		good.Wait()
		if took, most := time.Since(began), 4*pace().Unknown; took > most {
			t.Errorf("three images of another registry took %s, want %s at most", took, most)
		}
		cancel()
		all.Wait()
	})
}

// A pull that makes progress keeps its turn for as long as it takes.
func TestSlowPullKeepsItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode("r.io/big:1", "r.io/b:1")
		n.latency = 10 * time.Minute
		follow := func(ctx context.Context, _ string, report func(Progress)) {
			for done := int64(1); ctx.Err() == nil; done++ {
				report(Progress{Done: done, Total: 1000})
				pauseFor(ctx, time.Second)
			}
		}
		p := newPuller(t, Config{Service: n, Serialize: true, Progress: follow, Bus: tracetest.New(t).Bus()})
		if _, errs := ensureAll(t.Context(), p, "r.io/big:1", "r.io/b:1"); errors.Join(errs...) != nil {
			t.Error(errs)
		}
		if n.most != 1 {
			t.Errorf("%d pulls at once", n.most)
		}
	})
}

func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
