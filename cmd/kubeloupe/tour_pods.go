package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// tourManifest is a pod that ends at once when it is told to.
const tourManifest = `apiVersion: v1
kind: Pod
metadata:
  name: %s
spec:
  dnsPolicy: Default
  terminationGracePeriodSeconds: 2
  containers:
  - name: main
    image: %s
    command: [sh, -c, "trap 'exit 0' TERM; sleep infinity & wait"]
`

func podOf(name string) trace.Pod {
	return trace.Pod{Namespace: "default", Name: name + "-" + tourNode}
}

func ref(name string) string { return podOf(name).String() }

func (t *tour) manifest(pod string) string {
	image := t.opt.image
	if pod == "db" {
		image = t.opt.other
	}
	return fmt.Sprintf(tourManifest, pod, image)
}

// put writes a pod's manifest, in one move: the agent never sees half of it.
func (t *tour) put(pod string) error {
	draft := filepath.Join(t.dir, pod)
	if err := os.WriteFile(draft, []byte(t.manifest(pod)), 0o600); err != nil {
		return err
	}
	t.began[pod] = true
	return os.Rename(draft, t.file(pod))
}

func (t *tour) remove(pod string) error { return os.Remove(t.file(pod)) }

// have returns when the pod runs; it is put there if it was not.
func (t *tour) have(ctx context.Context, pod string) error {
	if !t.began[pod] {
		if err := t.put(pod); err != nil {
			return err
		}
	}
	return t.until(ctx, ref(pod)+" runs", func(context.Context) (bool, error) {
		return slices.ContainsFunc(t.node.agent.Pods(), func(p v1.Pod) bool { return p.Name == podOf(pod).Name && settled(&p) }), nil
	})
}

// breakNetwork returns when the runtime knows that it has no network.
func (t *tour) breakNetwork(ctx context.Context) error {
	if err := t.net.breakIt(); err != nil {
		return err
	}
	rt, err := t.cri(ctx)
	if err != nil {
		return err
	}
	return t.until(ctx, "the runtime says that it has no network", func(ctx context.Context) (bool, error) {
		r, err := rt.Runtime.Status(ctx, &runtimeapi.StatusRequest{})
		return slices.ContainsFunc(r.GetStatus().GetConditions(), func(c *runtimeapi.RuntimeCondition) bool {
			return c.GetType() == runtimeapi.NetworkReady && !c.GetStatus()
		}), err
	})
}
