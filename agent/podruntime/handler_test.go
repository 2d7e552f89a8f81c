package podruntime

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ranges gives each pod a user namespace.
type ranges struct{}

func (ranges) Of(*v1.Pod) (*runtimeapi.UserNamespace, error) {
	return &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_POD}, nil
}
func (ranges) Release(types.UID) {}

// A pod with a user namespace of its own runs only where the handler of its RuntimeClass has them.
func TestUserNamespaceOfHandler(t *testing.T) {
	handlers := map[string]*runtimeapi.RuntimeHandlerFeatures{"": {UserNamespaces: true}, "kata": {}, "runsc": {UserNamespaces: true}}
	features := func(name string) (*runtimeapi.RuntimeHandlerFeatures, error) {
		f, ok := handlers[name]
		if !ok {
			return nil, errors.New("the handler is not known")
		}
		return f, nil
	}
	none := func(string) (*runtimeapi.RuntimeHandlerFeatures, error) { return nil, nil } //nolint:nilnil // as an old runtime
	for _, c := range []struct {
		name, handler string
		features      func(string) (*runtimeapi.RuntimeHandlerFeatures, error)
		node          bool // the pod has the node's users
		err           string
	}{
		{name: "the default handler has them", features: features},
		{name: "another handler has them", handler: "runsc", features: features},
		{name: "the handler has none", handler: "kata", features: features, err: "can't set `spec.hostUsers: false`, RuntimeClass handler \"kata\" does not support user namespaces"},
		{name: "the handler is not known", handler: "x", features: features, err: "RuntimeClass handler \"x\" does not support user namespaces: the handler is not known"},
		{name: "an old runtime", features: none, err: "can't set `spec.hostUsers: false`, runtime does not support user namespaces"},
		{name: "an old runtime, the node's users", features: none, node: true},
	} {
		inBubble(t, nil, func(t *testing.T, w *world) {
			w.rt.cfg.UserNS, w.rt.cfg.HandlerFeatures = ranges{}, c.features
			w.rt.cfg.RuntimeHandler = func(context.Context, *v1.Pod) (string, error) { return c.handler, nil }
			pod := always("web")
			pod.Spec.HostUsers = &c.node
			_, err := w.rt.Sync(t.Context(), pod, 1, nil)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want %q", c.name, err, c.err)
			}
			if ran := slices.Contains(w.did(), "run sandbox"); ran != (c.err == "") {
				t.Errorf("%s: sandbox %v", c.name, ran)
			}
		})
	}
}

// released counts the releases.
type released struct {
	ranges
	n int
}

func (r *released) Release(types.UID) { r.n++ }

// The IDs of a pod that has finished are free when nothing of it is left but its containers and logs: finished pods may stay for days.
func TestUserNamespaceOfAFinishedPod(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		r := &released{}
		w.rt.cfg.UserNS = r
		w.show(seen("-sandbox:0", "web=exited/0"))
		w.on("unmount", func(context.Context) error { return errors.New("device or resource busy") })
		if err := w.rt.Clean(t.Context(), always("web"), false, 1); err == nil || r.n != 0 {
			t.Errorf("error %v, and %d releases while a volume is mounted", err, r.n)
		}
		w.on("unmount", nil)
		if err := w.rt.Clean(t.Context(), always("web"), false, 1); err != nil || r.n != 1 {
			t.Errorf("error %v, %d releases", err, r.n)
		}
	})
}

// What the pod's handler can do decides about recursive read-only mounts.
func TestRecursiveReadOnlyOfHandler(t *testing.T) {
	ifPossible := v1.RecursiveReadOnlyIfPossible
	mounting := &v1.Container{VolumeMounts: []v1.VolumeMount{{ReadOnly: true}, {ReadOnly: true, RecursiveReadOnly: &ifPossible}}}
	for _, c := range []struct {
		name      string
		container *v1.Container
		handler   string
		lookup    error
		want      bool
		looks     int
	}{
		{"the default handler", mounting, "", nil, true, 1},
		{"one that cannot", mounting, "kata", nil, false, 1},
		{"one that is not known", mounting, "x", nil, false, 1},
		{"no class", mounting, "", errors.New("not found"), false, 1},
		{"no such mount", &v1.Container{VolumeMounts: mounting.VolumeMounts[:1]}, "", nil, false, 0},
	} {
		looks := 0
		r := &run{Runtime: &Runtime{}, pod: always("web")}
		r.cfg.RuntimeHandler = func(context.Context, *v1.Pod) (string, error) { looks++; return c.handler, c.lookup }
		r.cfg.HandlerFeatures = func(name string) (*runtimeapi.RuntimeHandlerFeatures, error) {
			if name == "x" {
				return nil, errors.New("not known")
			}
			return &runtimeapi.RuntimeHandlerFeatures{RecursiveReadOnlyMounts: name == ""}, nil
		}
		if got := r.node(t.Context(), c.container).RecursiveReadOnly; got != c.want || looks != c.looks {
			t.Errorf("%s: %v after %d looks, want %v after %d", c.name, got, looks, c.want, c.looks)
		}
	}
}
