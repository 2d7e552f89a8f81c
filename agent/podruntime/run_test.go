package podruntime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/agent/semaphore"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func always(names ...string) *v1.Pod { return podWith(v1.RestartPolicyAlways, names...) }

// inBubble runs a test in simulated time and checks afterwards that every action and
// wait has ended and every slot is free.
func inBubble(t *testing.T, gate Gate, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, gate)
		f(t, w)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.slots.Acquire(ctx, semaphore.Turn{}); err != nil {
			t.Errorf("a slot was not given back: %v", err)
		}
		open := 0
		for _, r := range w.rec.Records() {
			switch r.Edge {
			case trace.EdgeBegin:
				open++
			case trace.EdgeEnd:
				open--
			case trace.EdgePoint:
			}
		}
		if open != 0 {
			t.Errorf("%d records have begun and not ended", open)
		}
	})
}

func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestSandboxVolumesAndImagesOverlap(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		ops := []string{"image log:1", "image web:1", "mount", "run sandbox"}
		var release []func()
		for _, op := range ops {
			release = append(release, w.block(op))
		}
		done := make(chan error, 1)
		go func() {
			out, err := w.rt.Sync(t.Context(), always("web", "log"), 1, nil)
			if !out.Running || !out.Acted {
				t.Errorf("outcome %+v, want it to act and to run", out)
			}
			done <- err
		}()
		synctest.Wait()
		equal(t, "at once", ops, w.busyNow())
		for i, r := range release {
			r()
			synctest.Wait()
			if created := slices.Contains(w.did(), "create web"); created != (i == len(release)-1) {
				t.Errorf("web created: %v after %q", created, ops[i])
			}
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A pod whose volumes can never be mounted costs nothing: no sandbox, no image, one event in five minutes.
func TestVolumesThatCanNeverBe(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.never = errors.New("volume \"share\" is of type nfs")
		for range 4 { // twice in five minutes
			out, err := w.rt.Sync(t.Context(), always("web", "log"), 1, nil)
			if !errors.Is(err, w.never) || out.Acted || !out.RetryAt.Equal(time.Now().Add(hopeless)) {
				t.Errorf("outcome %+v, error %v", out, err)
			}
			time.Sleep(hopeless/2 + time.Millisecond)
		}
		equal(t, "what was done", []string(nil), w.did())
		why := Reason{Reason: "FailedMount", Message: w.never.Error()}
		equal(t, "reasons", map[string]Reason{"web": why, "log": why}, w.rt.Reasons("uid"))
		equal(t, "events", []string{w.never.Error(), w.never.Error()}, warned(w, "FailedMount"))

		w.never = nil // the pod has changed
		if out, err := w.rt.Sync(t.Context(), always("web", "log"), 1, nil); err != nil || !out.Running {
			t.Errorf("outcome %+v, error %v", out, err)
		}
		equal(t, "reasons of what runs", map[string]Reason(nil), w.rt.Reasons("uid"))
	})
}

func TestFailedImageReachesOnlyItsContainer(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		retry := time.Now().Add(20 * time.Second)
		w.on("image web:1", func(context.Context) error {
			return &image.Error{Reason: image.ErrImagePull, Message: "no such image", RetryAt: retry}
		})
		out, err := w.rt.Sync(t.Context(), always("web", "log"), 1, nil)
		if err == nil || !strings.Contains(err.Error(), "image web:1: ErrImagePull: no such image") {
			t.Errorf("error %v, want that of the image", err)
		}
		if check := time.Now().Add(pullCheck); !out.RetryAt.Equal(check) || out.Running {
			t.Errorf("outcome %+v, want a check at %s and not running", out, check)
		}
		equal(t, "reasons", map[string]Reason{"web": {Reason: "ErrImagePull", Message: "no such image"}}, w.rt.Reasons("uid"))
		did := w.did()
		if slices.Contains(did, "create web") || !slices.Contains(did, "start log") {
			t.Errorf("did %v, want no web, and log started", did)
		}
		// The next attempt succeeds; what exists is kept.
		w.on("image web:1", nil)
		w.show(seen("sandbox:0", "log=running"))
		if _, err := w.rt.Sync(t.Context(), always("web", "log"), 1, nil); err != nil {
			t.Error(err)
		}
		equal(t, "second pass", []string{"image web:1", "mount", "create web", "start web"}, w.did())
		equal(t, "reasons", map[string]Reason(nil), w.rt.Reasons("uid"))
	})
}

// secretsFake has no pull secret. It says so for a failed pull.
type secretsFake struct{ told []string }

func (*secretsFake) Of(context.Context, *v1.Pod) ([]v1.Secret, []string, error) {
	return nil, []string{"gone"}, nil
}

func (f *secretsFake) Tell(_ context.Context, _ *v1.Pod, missing []string, err error) bool {
	if e, ok := errors.AsType[*image.Error](err); !ok || e.Reason != image.ErrImagePull {
		return false
	}
	f.told = append(f.told, missing...)
	return true
}

// Missing pull secrets do not prevent a pull. If pulls of a sync fail, this is told once.
func TestMissingPullSecrets(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		f := &secretsFake{}
		w.rt.cfg.PullSecrets = f
		pod := always("web", "log", "app")
		pod.Spec.ImagePullSecrets = []v1.LocalObjectReference{{Name: "gone"}}
		for _, c := range []struct {
			fails image.Reason
			want  []string
		}{{image.ErrImagePull, []string{"gone"}}, {image.ImagePullBackOff, nil}, {"", nil}} {
			for _, op := range []string{"image web:1", "image log:1"} {
				w.on(op, func(context.Context) error {
					if c.fails == "" {
						return nil
					}
					return &image.Error{Reason: c.fails, Message: "no"}
				})
			}
			f.told = nil
			if _, err := w.rt.Sync(t.Context(), pod, 1, nil); (err != nil) != (c.fails != "") {
				t.Errorf("%s: error %v", c.fails, err)
			}
			equal(t, "told of "+string(c.fails), c.want, f.told)
			w.show(seen("sandbox:0", "app=running"))
		}
	})
}

// The image of a volume concerns only the containers that mount the volume.
func TestMissingImageOfVolumeReachesOnlyItsContainer(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		pod := always("web", "log")
		pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "tools", MountPath: "/tools"}}
		for _, why := range []*image.Error{
			{Reason: image.ErrImagePull, Message: "no such image", RetryAt: time.Now().Add(10 * time.Second)},
			{Reason: image.ImagePullBackOff, Message: "Back-off pulling image", RetryAt: time.Now().Add(10 * time.Second)},
			{Reason: image.ErrImageNeverPull, Message: "it is not present"},
		} {
			w.missing = fmt.Errorf("setup of volume: %w", why)
			before := len(w.rec.Records())
			out, err := w.rt.Sync(t.Context(), pod, 1, nil)
			if !errors.Is(err, why) || out.Running {
				t.Errorf("outcome %+v, error %v, want that of the image", out, err)
			}
			at := why.RetryAt
			if why.Reason == image.ErrImagePull {
				at = time.Now().Add(pullCheck)
			}
			if !out.RetryAt.Equal(at) {
				t.Errorf("%s: retry at %s, want %s", why.Reason, out.RetryAt, at)
			}
			equal(t, "reasons", map[string]Reason{"web": {Reason: string(why.Reason), Message: why.Message}}, w.rt.Reasons("uid"))
			var warned []string
			for _, r := range w.rec.Records()[before:] {
				if e, ok := r.Event.(*trace.NodeEvent); ok && e.Type == "Warning" {
					warned = append(warned, e.Field+" "+e.Reason+" "+e.Message)
				}
			}
			equal(t, "warnings", []string{"spec.containers{web} Failed Error: " + string(why.Reason)}, warned)
			if did := w.did(); slices.Contains(did, "create web") || why.Reason == image.ErrImagePull != slices.Contains(did, "start log") {
				t.Errorf("%s: did %v, want no web, and log started first", why.Reason, did)
			}
			w.show(seen("sandbox:0", "log=running"))
		}
		w.missing = nil
		if out, err := w.rt.Sync(t.Context(), pod, 1, nil); err != nil || !out.Running {
			t.Errorf("outcome %+v, error %v", out, err)
		}
		if did := w.did(); !slices.Contains(did, "mount") || !slices.Contains(did, "start web") {
			t.Errorf("did %v, want the volumes again, and web started", did)
		}
	})
}

func TestSharedImageReachesAllItsContainers(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		pod := always("a", "b", "c")
		pod.Spec.Containers[0].Image, pod.Spec.Containers[1].Image = "same:1", "same:1"
		w.on("image same:1", func(context.Context) error { return &image.Error{Reason: image.ErrImagePull, Message: "no"} })
		if _, err := w.rt.Sync(t.Context(), pod, 1, nil); err == nil {
			t.Error("no error")
		}
		want := Reason{Reason: "ErrImagePull", Message: "no"}
		equal(t, "reasons", map[string]Reason{"a": want, "b": want}, w.rt.Reasons("uid"))
	})
}

// A container that fails without a back-off does not wait for the back-off of another one.
func TestFailureBesideABackOff(t *testing.T) {
	full := errors.New("no disk")
	later := time.Now().Add(time.Hour)
	for name, tc := range map[string]struct {
		fails string
		err   error
		soon  bool
	}{
		"create":            {"create log", full, true},
		"volumes":           {"mount", full, true},
		"image":             {"image log:1", &image.Error{Reason: image.ErrImageNeverPull}, true},
		"image in back-off": {"image log:1", &image.Error{Reason: image.ImagePullBackOff, RetryAt: later}, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				pod := always("web", "log")
				w.show(seen("sandbox:0", "web=exited/1"))
				w.rt.cfg.Backoff.next(keyOf(pod, &pod.Spec.Containers[0]), time.Now(), time.Now())
				w.on(tc.fails, func(context.Context) error { return tc.err })
				out, err := w.rt.Sync(t.Context(), pod, 1, nil)
				if err == nil || out.RetryAt.IsZero() || out.Soon != tc.soon {
					t.Errorf("outcome %+v, error %v", out, err)
				}
			})
		})
	}
}

func TestFailedSandboxSkipsWhatNeedsIt(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.on("run sandbox", func(context.Context) error { return status.Error(codes.Unknown, "no network") })
		_, err := w.rt.Sync(t.Context(), always("web"), 1, nil)
		if err == nil || !strings.Contains(err.Error(), "sandbox: create sandbox for default/p: ") {
			t.Errorf("error %v", err)
		}
		did := w.did()
		slices.Sort(did)
		equal(t, "did", []string{"cgroup", "image web:1", "mount", "run sandbox"}, did)
	})
}

// A sandbox keeps its resolver configuration, so that there is none until the configuration is known.
func TestUnknownDNS(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		broken := errors.New("no resolv.conf")
		w.rt.cfg.DNS = func(*v1.Pod) (*runtimeapi.DNSConfig, []criconfig.Warning, error) { return nil, nil, broken }
		if _, err := w.rt.Sync(t.Context(), always("web"), 1, nil); !errors.Is(err, broken) {
			t.Errorf("error %v, want that of the resolver configuration", err)
		}
		if did := w.did(); slices.Contains(did, "run sandbox") {
			t.Errorf("did %v, want no sandbox", did)
		}
		var said []string
		for _, r := range w.rec.Records() {
			if e, ok := r.Event.(*trace.NodeEvent); ok {
				said = append(said, e.Reason+": "+e.Message)
			}
		}
		equal(t, "events", []string{"FailedCreatePodSandBox: Failed to create pod sandbox: DNS of default/p: no resolv.conf"}, said)
		broken = nil
		if out, err := w.rt.Sync(t.Context(), always("web"), 1, nil); err != nil || !out.Running {
			t.Errorf("afterwards: outcome %+v, error %v", out, err)
		}
	})
}

// Each action of an ephemeral container says so, and no other.
func TestActionsOfEphemeralContainers(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.show(seen("sandbox:0", "web=running"))
		if _, err := w.rt.Sync(t.Context(), withDebugger(always("web", "log")), 1, nil); err != nil {
			t.Error(err)
		}
		ends := map[string]bool{}
		for _, r := range w.rec.Records() {
			e, ok := r.Event.(*trace.Action)
			if !ok {
				continue
			}
			if e.Ephemeral != (e.Container == "dbg") {
				t.Errorf("%s %s: ephemeral: %t", r.Edge, e.ID, e.Ephemeral)
			}
			ends[e.ID] = r.Edge == trace.EdgeEnd
		}
		for _, id := range []string{"image dbg:1", "create dbg", "start dbg", "start log"} {
			if !ends[id] {
				t.Errorf("%s is not done", id)
			}
		}
	})
}

// What fails before the call of the runtime, such as the directory of the container's logs, is an error of its configuration, as in upstream.
func TestFailedBeforeCreate(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		pod := always("web")
		w.show(seen("sandbox:0"))
		logs := criconfig.PodLogDir(w.rt.cfg.Node.LogRoot, pod.Namespace, pod.Name, pod.UID)
		if err := errors.Join(os.MkdirAll(logs, 0o750), os.WriteFile(filepath.Join(logs, "web"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.rt.Sync(t.Context(), pod, 1, nil); err == nil {
			t.Error("no error")
		}
		got := w.rt.Reasons("uid")["web"]
		if got.Reason != "CreateContainerConfigError" || !strings.HasPrefix(got.Message, "make log directory of container web: ") {
			t.Errorf("reason %+v", got)
		}
	})
}

func TestFailedCreateAndStart(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.show(seen("sandbox:0"))
		w.on("create web", func(context.Context) error { return errors.New("no disk") })
		w.on("start log", func(context.Context) error { return errors.New("no such command") })
		if _, err := w.rt.Sync(t.Context(), always("web", "log", "ok"), 1, nil); err == nil {
			t.Error("no error")
		}
		equal(t, "reasons", map[string]Reason{
			"web": {Reason: "CreateContainerError", Message: "create container web: no disk"},
			"log": {Reason: "RunContainerError", Message: "start container log: no such command"},
		}, w.rt.Reasons("uid"))
		did := w.did()
		if slices.Contains(did, "start web") || !slices.Contains(did, "start ok") {
			t.Errorf("did %v: web cannot start, ok can", did)
		}
	})
}

// The pod holds a slot from the sandbox to the last start, except while it waits for its image.
func TestLeaseIsFreeDuringAPull(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		pulled, made := w.block("image web:1"), w.block("run sandbox")
		done := make(chan error, 1)
		go func() { _, err := w.rt.Sync(t.Context(), always("web"), 1, nil); done <- err }()
		synctest.Wait()
		got := make(chan *semaphore.Place, 1)
		go func() {
			place, err := w.slots.Acquire(t.Context(), semaphore.Turn{Order: 2})
			if err != nil {
				t.Error(err)
			}
			got <- place
		}()
		synctest.Wait()
		if len(got) != 0 {
			t.Error("two pods work at the runtime at once, of one slot")
		}
		made()
		synctest.Wait()
		if len(got) != 1 {
			t.Fatal("the slot is held while the image is pulled")
		}
		pulled()
		synctest.Wait()
		if slices.Contains(w.did(), "create web") {
			t.Error("the container is created without a slot")
		}
		(<-got).Release()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestGatedPodGoesOneByOne(t *testing.T) {
	var order []string
	gate := &fakeGate{}
	inBubble(t, gate, func(t *testing.T, w *world) {
		gate.before = func(ctx context.Context, step, title string, request json.Marshaler) error {
			order = append(order, step)
			if busy := w.busyNow(); len(busy) > 0 {
				t.Errorf("before %q, %v is under way", step, busy)
			}
			if len(gate.ended) != len(order)-1 {
				t.Errorf("before %q, %d of %d steps have ended", step, len(gate.ended), len(order)-1)
			}
			if text, err := request.MarshalJSON(); err != nil || title == "" || len(text) < 3 {
				t.Errorf("before %q: preview %q %s, %v", step, title, text, err)
			}
			// A person thinks: other pods continue.
			place, err := w.slots.Acquire(ctx, semaphore.Turn{Order: 9})
			if err != nil {
				t.Errorf("before %q: no slot for others: %v", step, err)
				return nil
			}
			place.Release()
			return nil
		}
		if _, err := w.rt.Sync(t.Context(), always("web", "log"), 1, nil); err != nil {
			t.Error(err)
		}
		want := []string{"cgroup", "dirs", "volumes", "sandbox", "image web:1", "create web", "start web", "image log:1", "create log", "start log"}
		equal(t, "order", want, order)
		equal(t, "ends", want, gate.ended)
		var waits []trace.Wait
		for _, r := range w.rec.OfKind("pod.wait") {
			if ev, ok := r.Event.(*trace.Wait); ok && ev.For == trace.WaitGate && r.Edge == trace.EdgeEnd {
				waits = append(waits, *ev)
			}
		}
		if len(waits) != len(want) {
			t.Errorf("%d gate waits for %d steps", len(waits), len(want))
		}
	})
}

func TestGateRefuses(t *testing.T) {
	quit := errors.New("quit")
	asked := 0
	gate := &fakeGate{before: func(context.Context, string, string, json.Marshaler) error {
		if asked++; asked == 3 {
			return quit
		}
		return nil
	}}
	inBubble(t, gate, func(t *testing.T, w *world) {
		_, err := w.rt.Sync(t.Context(), always("web"), 1, nil)
		if !errors.Is(err, quit) {
			t.Errorf("error %v, want the gate's", err)
		}
		if asked != 3 {
			t.Errorf("the gate is asked %d times, want no more after it refused", asked)
		}
		equal(t, "did", []string{"cgroup"}, w.did())
		equal(t, "reasons", map[string]Reason(nil), w.rt.Reasons("uid"))
	})
}

// The request that the user is shown is the one that is sent.
func TestPreviewIsTheRequest(t *testing.T) {
	shown := map[string]string{}
	gate := &fakeGate{before: func(_ context.Context, step, _ string, request json.Marshaler) error {
		text, err := request.MarshalJSON()
		shown[step] = string(text)
		return err
	}}
	inBubble(t, gate, func(t *testing.T, w *world) {
		pod := always("web")
		pod.Spec.Containers[0].TerminationMessagePath = "/dev/termination-log"
		if _, err := w.rt.Sync(t.Context(), pod, 1, nil); err != nil {
			t.Error(err)
		}
		for step, want := range map[string]string{
			"create web": `"pod_sandbox_id":"sb0"`, "start web": `"container_id":"web-0"`, "sandbox": `"cgroup_parent":"/kubepods/pod"`,
		} {
			text := strings.NewReplacer(" ", "", "podSandboxId", "pod_sandbox_id", "containerId", "container_id", "cgroupParent", "cgroup_parent").Replace(shown[step])
			if !strings.Contains(text, want) {
				t.Errorf("before %q, %s is shown, want it to have %s", step, text, want)
			}
		}
	})
}

func TestCancelEndsARun(t *testing.T) {
	for _, op := range []string{"cgroup", "mount", "image web:1", "run sandbox", "create web", "start web"} {
		t.Run(op, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				w.block(op)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { _, err := w.rt.Sync(ctx, always("web"), 1, nil); done <- err }()
				synctest.Wait()
				cancel()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Errorf("error %v, want that it was cancelled", err)
				}
				equal(t, "reasons", map[string]Reason(nil), w.rt.Reasons("uid"))
			})
		})
	}
}

// A kill that is canceled before its first step has not killed: otherwise the pod would run forever.
func TestKillCutShortIsNotDone(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.show(seen("sandbox:0", "web=running"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.rt.Kill(ctx, always("web"), nil, "deleted", 1); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that it was cancelled", err)
		}
	})
}

func TestKillThenClean(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		pod := withInit(always("web"), sidecarNamed("mesh"))
		w.show(seen("sandbox:0", "web=running", "mesh=running"))
		w.on("stop web-0", func(context.Context) error { return status.Error(codes.NotFound, "gone") })
		if err := w.rt.Kill(t.Context(), pod, nil, "deleted", 1); err != nil {
			t.Error(err)
		}
		equal(t, "kill", []string{"stop web-0", "stop mesh-0", "stop sandbox sb0"}, w.did())
		w.show(seen("-sandbox:0", "web=exited/0", "mesh=exited/0"))
		if err := w.rt.Clean(t.Context(), pod, true, 1); err != nil {
			t.Error(err)
		}
		did := w.did()
		slices.Sort(did)
		equal(t, "clean", []string{"remove sandbox sb0", "uncgroup", "unmount"}, did)
	})
}

// A pod's cgroup is removed once, although a deleted pod is cleaned up three times: when it has ended, when its object is deleted and when that
// is gone. It is removed again after a failure, if something of the pod is found running, and if the pod got another one.
func TestCleanAgain(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		pod, fails := always("web"), true
		w.on("uncgroup", func(context.Context) error {
			if fails {
				return errors.New("device or resource busy")
			}
			return nil
		})
		clean := func(want int) {
			t.Helper()
			w.did()
			if err := w.rt.Clean(t.Context(), pod, false, 1); (err != nil) != fails {
				t.Error(err)
			}
			got := 0
			for _, op := range w.did() {
				if op == "uncgroup" {
					got++
				}
			}
			equal(t, "removals of the cgroup", want, got)
		}
		w.show(seen("-sandbox:0", "web=exited/0"))
		clean(1)
		fails = false
		clean(1)
		clean(0)
		clean(0)
		w.show(seen("sandbox:0", "web=running"))
		if err := w.rt.Kill(t.Context(), pod, nil, "deleted", 1); err != nil {
			t.Error(err)
		}
		w.show(seen("-sandbox:0", "web=exited/0"))
		clean(1)
		clean(0)
		if _, err := w.rt.Sync(t.Context(), pod, 1, nil); err != nil {
			t.Error(err)
		}
		w.show(seen("-sandbox:0", "web=exited/0"))
		clean(1)
	})
}

// If one container does not stop, its sandbox and the other containers are still stopped, and the kill has failed.
func TestKillGoesOnAfterAFailure(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.show(seen("sandbox:0", "web=running", "log=running"))
		w.on("stop web-0", func(context.Context) error { return status.Error(codes.DeadlineExceeded, "too slow") })
		if err := w.rt.Kill(t.Context(), always("web", "log"), nil, "deleted", 1); err == nil {
			t.Error("no error")
		}
		did := w.did()
		slices.Sort(did)
		equal(t, "kill", []string{"stop log-0", "stop sandbox sb0", "stop web-0"}, did)
	})
}

func TestObservationMustShowOwnActions(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		pod := always("web")
		if _, err := w.rt.Sync(t.Context(), pod, 1, nil); err != nil {
			t.Error(err)
		}
		w.did()
		equal(t, "refreshes of a new pod", 0, w.refreshes)
		// The cache lags: the agent waits a moment for the runtime's events, and nothing is created twice.
		out, err := w.rt.Sync(t.Context(), pod, 1, nil)
		if err != nil || !out.Early {
			t.Errorf("outcome %+v, %v: want an early one", out, err)
		}
		equal(t, "refreshes at first", 0, w.refreshes)
		time.Sleep(time.Until(out.RetryAt))
		// No event arrives: the agent asks.
		w.truth = seen("sandbox:0", "web=running")
		if _, err := w.rt.Sync(t.Context(), pod, 1, nil); err != nil {
			t.Error(err)
		}
		equal(t, "refreshes while the cache lags", 1, w.refreshes)
		equal(t, "did", []string(nil), w.did())
		// The cache shows it: the agent asks nothing.
		if _, err := w.rt.Sync(t.Context(), pod, 1, nil); err != nil {
			t.Error(err)
		}
		equal(t, "refreshes", 1, w.refreshes)
		// The runtime's answer is final: another program removed the container.
		w.show(seen("sandbox:0"))
		if _, err := w.rt.Sync(t.Context(), pod, 1, nil); err != nil {
			t.Error(err)
		}
		equal(t, "did", []string{"image web:1", "mount", "create web", "start web"}, w.did())
	})
}

// A canceled call may have had its effect: an unknown sandbox must not outlive its pod.
func TestLostAnswerIsAskedFor(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.on("run sandbox", func(context.Context) error { return status.Error(codes.Canceled, "context canceled") })
		if _, err := w.rt.Sync(t.Context(), always("web"), 1, nil); err == nil {
			t.Error("no error")
		}
		w.did()
		w.truth = seen("sandbox:0")
		if err := w.rt.Kill(t.Context(), always("web"), nil, "deleted", 1); err != nil {
			t.Error(err)
		}
		equal(t, "kill", []string{"stop sandbox sb0"}, w.did())
	})
}

// A lost sandbox takes its containers with it, and their exits are seen first. A container that does not start again in
// that sandbox has not crashed.
func TestStartInADyingSandboxIsNoCrash(t *testing.T) {
	for _, dead := range []bool{true, false} {
		inBubble(t, nil, func(t *testing.T, w *world) {
			pod := always("web")
			w.dead = dead
			w.show(seen("sandbox:0", "web=exited/137"))
			w.on("start web", func(context.Context) error { return status.Error(codes.Unknown, "no such process") })
			if _, err := w.rt.Sync(t.Context(), pod, 1, nil); status.Code(err) != codes.Unknown {
				t.Errorf("error %v", err)
			}
			w.rt.cfg.Backoff.mu.Lock()
			defer w.rt.cfg.Backoff.mu.Unlock()
			_, counted := w.rt.cfg.Backoff.m[keyOf(pod, &pod.Spec.Containers[0])]
			equal(t, "counted as a crash", !dead, counted)
		})
	}
}

// A restart counts for the back-off, too, if it fails before the container is started. The first start does not, nor one in a lost sandbox,
// nor one that is canceled.
func TestFailedRestartCounts(t *testing.T) {
	for _, tc := range []struct {
		name   string
		fails  string
		exited bool
		dead   bool
		cancel bool
		want   bool
	}{
		{name: "image", fails: "image web:1", exited: true, want: true},
		{name: "image in a lost sandbox", fails: "image web:1", exited: true, dead: true, want: true},
		{name: "create", fails: "create web", exited: true, want: true},
		{name: "create in a lost sandbox", fails: "create web", exited: true, dead: true},
		{name: "create, canceled", fails: "create web", exited: true, cancel: true},
		{name: "image, canceled", fails: "image web:1", exited: true, cancel: true},
		{name: "volumes", fails: "mount", exited: true},
		{name: "image at the first start", fails: "image web:1"},
		{name: "create at the first start", fails: "create web"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				pod := always("web", "log")
				w.dead = tc.dead
				words := []string{"sandbox:0", "log=running"}
				if tc.exited {
					words = append(words, "web=exited/1")
				}
				w.show(seen(words...))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				w.on(tc.fails, func(context.Context) error {
					if tc.cancel {
						cancel()
					}
					return errors.New("no disk")
				})
				if _, err := w.rt.Sync(ctx, pod, 1, nil); err == nil {
					t.Error("no error")
				}
				delays := map[string]time.Duration{}
				for i := range pod.Spec.Containers {
					if d := w.rt.cfg.Backoff.delay(keyOf(pod, &pod.Spec.Containers[i])); d > 0 {
						delays[pod.Spec.Containers[i].Name] = d
					}
				}
				want := map[string]time.Duration{}
				if tc.want {
					want["web"] = 10 * time.Second
				}
				equal(t, "delays", want, delays)
			})
		})
	}
}

// While its image fails, a container that exited restarts after longer and longer delays.
func TestCrashLoopWithoutImage(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		pod := always("web")
		w.on("image web:1", func(context.Context) error { return &image.Error{Reason: image.ErrImagePull, Message: "no route"} })
		p := seen("sandbox:0", "web=exited/1")
		p.Containers[0].FinishedAt = time.Now()
		w.show(p)
		for _, delay := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
			if _, err := w.rt.Sync(t.Context(), pod, 1, nil); err == nil {
				t.Error("no error")
			}
			began := time.Now()
			equal(t, "reason", "ErrImagePull", w.rt.Reasons("uid")["web"].Reason)
			out, err := w.rt.Sync(t.Context(), pod, 1, nil)
			if err != nil || out.RetryAt.Sub(began) != delay {
				t.Errorf("then: %+v, %v; want a restart in %s", out, err, delay)
			}
			want := Reason{Reason: "CrashLoopBackOff", Message: fmt.Sprintf("back-off %s restarting failed container=web pod=p_default(uid)", delay)}
			equal(t, "reason", want, w.rt.Reasons("uid")["web"])
			time.Sleep(time.Until(out.RetryAt))
		}
		equal(t, "did", []string{"image web:1", "image web:1", "image web:1"}, slices.DeleteFunc(w.did(), func(op string) bool { return !strings.HasPrefix(op, "image ") }))
	})
}

func TestCrashLoop(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		pod := always("web")
		ended := func(attempt string) {
			p := seen("sandbox:0", "web#"+attempt+"=exited/1")
			p.Containers[0].FinishedAt = time.Now()
			w.show(p)
		}
		ended("0")
		out, err := w.rt.Sync(t.Context(), pod, 1, nil)
		if err != nil || !out.Acted || !out.RetryAt.IsZero() {
			t.Errorf("first restart: %+v, %v; want it at once", out, err)
		}
		ended("1")
		out, err = w.rt.Sync(t.Context(), pod, 1, nil)
		if want := time.Now().Add(10 * time.Second); err != nil || out.Acted || !out.RetryAt.Equal(want) {
			t.Errorf("second restart: %+v, %v; want it in 10 s", out, err)
		}
		got := w.rt.Reasons("uid")["web"]
		want := Reason{Reason: "CrashLoopBackOff", Message: "back-off 10s restarting failed container=web pod=p_default(uid)"}
		equal(t, "reason", want, got)
		time.Sleep(10 * time.Second)
		if out, err = w.rt.Sync(t.Context(), pod, 1, nil); err != nil || !out.Acted || !out.RetryAt.IsZero() {
			t.Errorf("after the back-off: %+v, %v; want it started", out, err)
		}
		var verdicts []string
		for _, d := range tracetest.Events[trace.Decision](w.rec) {
			verdicts = append(verdicts, string(d.Verdict))
		}
		equal(t, "verdicts", []string{"restart", "wait", "restart"}, verdicts)
	})
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	_, err := New(Config{})
	for _, name := range []string{"Sandboxes", "Containers", "Images", "Volumes", "Cgroups", "Observer", "Slots", "Backoff", "DNS", "RootDir"} {
		if err == nil || !strings.Contains(err.Error(), "Config."+name+" is missing") {
			t.Errorf("error %v, want it to name %s", err, name)
		}
	}
}

// A cgroup or directory that cannot be created is reported with upstream's words.
func TestGroundThatCannotBeMade(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.on("cgroup", func(context.Context) error { return errors.New("no such tier") })
		if err := os.WriteFile(filepath.Join(w.rt.cfg.RootDir, "pods"), nil, 0o600); err != nil { // in the place of the directory
			t.Fatal(err)
		}
		if _, err := w.rt.Sync(t.Context(), always("web"), 1, nil); err == nil {
			t.Fatal("no error")
		}
		said := map[string]string{}
		for _, r := range w.rec.Records() {
			if e, ok := r.Event.(*trace.NodeEvent); ok {
				said[string(e.Type)+" "+e.Reason], _, _ = strings.Cut(e.Message, ":")
			}
		}
		equal(t, "events", map[string]string{
			"Warning FailedCreatePodContainer": "unable to ensure pod container exists",
			"Warning Failed":                   "error making pod data directories",
		}, said)
	})
}

// If the cgroup could not be created, the retry creates it before everything in it, even if the volumes exist by then.
// If it disappears later, it is created again before the next container.
func TestNothingWithoutCgroup(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		pod := always("web")
		w.on("cgroup", func(context.Context) error { return errors.New("no such tier") })
		for range 2 {
			if _, err := w.rt.Sync(t.Context(), pod, 1, nil); err == nil {
				t.Fatal("no error")
			}
			if did := w.did(); !slices.Contains(did, "cgroup") || slices.Contains(did, "run sandbox") {
				t.Errorf("did %v", did)
			}
		}
		w.on("cgroup", nil)
		if _, err := w.rt.Sync(t.Context(), pod, 1, nil); err != nil {
			t.Fatal(err)
		}
		did := w.did()
		if i := slices.Index(did, "cgroup"); i < 0 || i > slices.Index(did, "run sandbox") || !slices.Contains(did, "start web") {
			t.Errorf("did %v", did)
		}
		w.setCgroup(false)
		w.show(seen("sandbox:0", "web=exited/1"))
		time.Sleep(time.Hour)
		if _, err := w.rt.Sync(t.Context(), pod, 1, nil); err != nil {
			t.Fatal(err)
		}
		did = w.did()
		if i := slices.Index(did, "cgroup"); i < 0 || i > slices.Index(did, "create web") || slices.Contains(did, "run sandbox") {
			t.Errorf("after it vanished: did %v", did)
		}
	})
}

// TestLostVolumes: volumes that others unmounted are mounted again before a container is created, and nothing else is
// done for them.
func TestLostVolumes(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		pod := always("web")
		sync := func() []string {
			t.Helper()
			if _, err := w.rt.Sync(t.Context(), pod, 1, nil); err != nil {
				t.Fatal(err)
			}
			return w.did()
		}
		sync()
		w.show(seen("sandbox:0", "web=exited/1"))
		time.Sleep(time.Hour)
		w.lost = true
		if did := sync(); slices.Index(did, "mount") < 0 || slices.Index(did, "mount") > slices.Index(did, "create web") || slices.Contains(did, "run sandbox") {
			t.Errorf("for a restart: did %v", did)
		}
		w.show(seen("sandbox:0", "web=running"))
		time.Sleep(time.Hour)
		if did := sync(); !slices.Equal(did, []string{"mount"}) {
			t.Errorf("while it runs: did %v", did)
		}
	})
}

// A pod is looked at again while its back-off lasts, once: the second look says when that ends.
func TestCheckPull(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		err         error
		retry, want time.Duration // from now
	}{
		{&image.Error{Reason: image.ErrImagePull}, time.Second, time.Second},
		{&image.Error{Reason: image.ErrImagePull}, pullCheck, pullCheck},
		{&image.Error{Reason: image.ErrImagePull}, time.Minute, pullCheck},
		{fmt.Errorf("image app:1: %w", &image.Error{Reason: image.ErrImagePull}), time.Minute, pullCheck},
		{&image.Error{Reason: image.ImagePullBackOff}, time.Minute, time.Minute},
		{errors.New("ErrImagePull"), time.Minute, time.Minute},
	} {
		if got := checkPull(c.err, now.Add(c.retry), now); !got.Equal(now.Add(c.want)) {
			t.Errorf("%v, retry after %s: %s, want %s", c.err, c.retry, got.Sub(now), c.want)
		}
	}
	if got := checkPull(&image.Error{Reason: image.ErrImagePull}, time.Time{}, now); !got.IsZero() {
		t.Errorf("without a back-off: %s, want none", got)
	}
}
