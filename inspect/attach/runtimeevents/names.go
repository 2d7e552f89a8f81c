package runtimeevents

import (
	"context"
	"slices"
	"time"

	"github.com/containerd/containerd/api/services/containers/v1"

	"github.com/kubeloupe/kubeloupe/inspect/attach/crilist"
	"github.com/kubeloupe/kubeloupe/trace"
)

// The labels of containerd's containers that the kubelet and containerd's CRI plugin set. The latter's cannot be set by images.
const (
	labelKind      = "io.cri-containerd.kind"
	labelPod       = "io.kubernetes.pod.name"
	labelNamespace = "io.kubernetes.pod.namespace"
	labelUID       = "io.kubernetes.pod.uid"
	labelContainer = "io.kubernetes.container.name"
	kindSandbox    = "sandbox"
	// maxLabel bounds what is kept of a label: names of Kubernetes are shorter.
	maxLabel = 253
)

// getTime is how long containerd has to tell of a container; it is asked while its events wait.
const getTime = 2 * time.Second

// learn asks containerd for the pod of a container that was made.
func (f *fold) learn(ctx context.Context, id string) *container {
	if c := f.all[id]; c != nil {
		return c
	}
	ctx, cancel := context.WithTimeout(ctx, getTime)
	defer cancel()
	got, err := f.containers.Get(ctx, &containers.GetContainerRequest{ID: id})
	if err != nil {
		return nil
	}
	l := got.GetContainer().GetLabels()
	k := crilist.Container{
		ID: id, Sandbox: l[labelKind] == kindSandbox, Name: trace.Clip(l[labelContainer], maxLabel),
		Pod: trace.Pod{Namespace: trace.Clip(l[labelNamespace], maxLabel), Name: trace.Clip(l[labelPod], maxLabel), UID: trace.Clip(l[labelUID], maxLabel)},
	}
	return f.know(k)
}

// forget is for a container that was removed.
func (f *fold) forget(id string) {
	if f.all[id] != nil {
		delete(f.all, id)
		f.order = slices.DeleteFunc(f.order, func(o string) bool { return o == id })
	}
}

// know takes in whose a container is; nil where that is nobody's.
func (f *fold) know(k crilist.Container) *container {
	if k.Pod.Name == "" || k.Pod.UID == "" || !k.Sandbox && k.Name == "" {
		return nil
	}
	f.forget(k.ID)
	if len(f.order) >= maxContainers {
		delete(f.all, f.order[0])
		f.order = f.order[1:]
	}
	c := &container{Container: k}
	f.all[k.ID] = c
	f.order = append(f.order, k.ID)
	return c
}
