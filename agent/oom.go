package agent

import (
	"runtime"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/oom"
	"github.com/kubeloupe/kubeloupe/agent/pleg"
	"github.com/kubeloupe/kubeloupe/agent/pods"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/trace"
)

// addOOM adds the watcher of the kernel log. A simulated runtime has no processes that the kernel could kill.
func (p *parts) addOOM() error {
	if p.cfg.Simulated || runtime.GOOS != "linux" {
		return nil
	}
	w, err := oom.New(oom.Config{Pods: podsByUID{p.pleg.Cache(), p.pods.store}, Events: p.cluster.events, Bus: p.cfg.Bus})
	if err != nil {
		return err
	}
	p.add("OOM watcher", w.Run)
	return nil
}

// podsByUID implements oom.Pods.
type podsByUID struct {
	cache *pleg.Cache
	store *pods.Store
}

// Find implements oom.Pods: by what the runtime has, else by the pods that should run, of which it may not have told yet.
func (b podsByUID) Find(uid, container string) (pod trace.Pod, name string, known bool) {
	if p := b.cache.Get(types.UID(uid)); p != nil && p.Name != "" {
		for i := range p.Containers {
			if p.Containers[i].ID == container {
				name = p.Containers[i].Name
			}
		}
		return trace.Pod{Namespace: p.Namespace, Name: p.Name, UID: uid}, name, true
	}
	if !b.store.Known(types.UID(uid)) {
		return trace.Pod{}, "", false
	}
	for _, p := range b.store.Pods() {
		if string(p.UID) == uid {
			return podspec.Ref(&p), "", true
		}
	}
	return trace.Pod{}, "", false
}
