package device

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/device/checkpoint"
)

// hold are the devices of one resource that a container has.
type hold struct {
	// ids are sorted.
	ids []string
	// reused are those of ids that an earlier init container of the pod had. They are the container's whatever the plugin prefers.
	reused []string
	// byNode are the IDs as the checkpoint has them, and answer is what the plugin said about them. Both are nil while the devices are
	// only reserved; answer alone is nil if the checkpoint's cannot be decoded.
	byNode checkpoint.DevicesPerNUMA
	answer *pluginapi.ContainerAllocateResponse
}

// reserved reports whether the plugin has not allocated the devices yet.
func (h *hold) reserved() bool { return h.answer == nil && h.byNode == nil }

// holds are all devices of containers: by pod, container and resource.
type holds map[types.UID]map[string]map[string]*hold

func (h holds) get(uid types.UID, container, resource string) *hold {
	return h[uid][container][resource]
}

func (h holds) put(uid types.UID, container, resource string, one *hold) {
	if h[uid] == nil {
		h[uid] = map[string]map[string]*hold{}
	}
	if h[uid][container] == nil {
		h[uid][container] = map[string]*hold{}
	}
	h[uid][container][resource] = one
}

// drop removes what a container has of a resource, if it is still that.
func (h holds) drop(uid types.UID, container, resource string, one *hold) {
	if h.get(uid, container, resource) != one {
		return
	}
	delete(h[uid][container], resource)
	if len(h[uid][container]) == 0 {
		delete(h[uid], container)
	}
	if len(h[uid]) == 0 {
		delete(h, uid)
	}
}

// taken returns the IDs of a resource that any container has.
func (h holds) taken(resource string) map[string]bool {
	out := map[string]bool{}
	for _, containers := range h {
		for _, resources := range containers {
			if one := resources[resource]; one != nil {
				for _, id := range one.ids {
					out[id] = true
				}
			}
		}
	}
	return out
}

// resources returns the resources of which any container has devices.
func (h holds) resources() map[string]bool {
	out := map[string]bool{}
	for _, containers := range h {
		for _, resources := range containers {
			for name := range resources {
				out[name] = true
			}
		}
	}
	return out
}

// any reports whether a container has devices of the resource.
func (h holds) any(resource string) bool {
	for _, containers := range h {
		for _, resources := range containers {
			if resources[resource] != nil {
				return true
			}
		}
	}
	return false
}

// size returns how many bytes the devices of a resource need in the checkpoint at most.
func (h holds) size(resource string) (n int) {
	for _, containers := range h {
		for _, resources := range containers {
			if one := resources[resource]; one != nil && one.answer != nil {
				n += checkpoint.Size(one.byNode, proto.Size(one.answer))
			}
		}
	}
	return n
}

// owners returns the pods that have a device of that resource for which changed is true, sorted.
func (h holds) owners(resource string, changed func(id string) bool) (out []types.UID) {
	for uid, containers := range h {
		for _, resources := range containers {
			if one := resources[resource]; one != nil && slices.ContainsFunc(one.ids, changed) && !slices.Contains(out, uid) {
				out = append(out, uid)
			}
		}
	}
	slices.Sort(out)
	return out
}

// each calls f for all holds, in order.
func (h holds) each(f func(uid types.UID, container, resource string, one *hold)) {
	for _, uid := range slices.Sorted(maps.Keys(h)) {
		for _, container := range slices.Sorted(maps.Keys(h[uid])) {
			for _, resource := range slices.Sorted(maps.Keys(h[uid][container])) {
				f(uid, container, resource, h[uid][container][resource])
			}
		}
	}
}
