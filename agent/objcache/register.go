package objcache

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Register starts to fetch the objects that the pod refers to and keeps them until Unregister. It does not wait. For a registered pod, only
// new references of its spec are fetched.
func (c *Objects) Register(pod *v1.Pod) {
	now, trust := refsOf(pod), trustVolumes(pod)
	ref := trace.Pod{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.pods[pod.UID]
	for k := range before {
		if _, still := now[k]; !still {
			c.release(k, pod.UID)
		}
	}
	for k, volumes := range now {
		_, known := before[k]
		c.refer(k, pod.UID, volumes, !known, ref)
	}
	if len(now) > 0 {
		c.pods[pod.UID] = now
	} else {
		delete(c.pods, pod.UID)
	}
	delete(c.trusting, pod.UID)
	if len(trust) > 0 {
		c.trusting[pod.UID] = trust
		c.startBundles()
	}
}

// Unregister removes the objects that no other pod refers to.
func (c *Objects) Unregister(pod *v1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.pods[pod.UID] {
		c.release(k, pod.UID)
	}
	delete(c.pods, pod.UID)
	delete(c.trusting, pod.UID)
}

// refer records that a pod refers to an object. For a new reference, the object must be at least as new as the
// reference: a watch or a fetch ensures that. Called with mu.
func (c *Objects) refer(k key, uid types.UID, volumes []string, fresh bool, ref trace.Pod) {
	it := c.items[k]
	if it == nil {
		it = &item{key: k, users: map[types.UID][]string{}}
		c.items[k] = it
	}
	it.users[uid] = volumes
	c.disclose(it, uid)
	if fresh && (!it.synced || it.obj == nil) {
		it.want++
		c.fetch(it, trace.ForPod(trace.Span{}, ref))
	}
	c.watch(it)
}

// release undoes refer. Called with mu.
func (c *Objects) release(k key, uid types.UID) {
	it := c.items[k]
	if it == nil {
		return
	}
	delete(it.users, uid)
	if len(it.users) == 0 {
		delete(c.items, k)
	}
	if !it.shown() {
		it.unwatch()
	}
}
