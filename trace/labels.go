package trace

import (
	"maps"
	"slices"
	"unsafe"
)

// Labels are a pod's labels at the time of the record, in the order of their keys.
type Labels struct {
	// Items are the keys with their values.
	Items []KV `json:"items,omitempty" scrub:"text"`
	// Clipped is how many labels were omitted because of the limit.
	Clipped int `json:"clipped,omitempty"`
}

// maxLabels limits the labels of a pod, in bytes of memory. Kubernetes limits each, not how many there are.
const maxLabels = 4 << 10

// LabelsOf returns an object's labels, at most 4 KiB. A label is whole or omitted. It is never nil: an object can have none.
func LabelsOf(all map[string]string) *Labels {
	out, size := &Labels{}, 0
	for _, k := range slices.Sorted(maps.Keys(all)) {
		item := KV{K: k, V: all[k]}
		n := int(unsafe.Sizeof(item)) + len(item.K) + len(item.V)
		if size+n > maxLabels || len(item.K) > maxWord || len(item.V) > maxText {
			out.Clipped++
			continue
		}
		size += n
		out.Items = append(out.Items, item)
	}
	out.Items = slices.Clip(out.Items)
	return out
}

// Get returns the value of a label, and whether the pod has it.
func (e *Labels) Get(key string) (value string, ok bool) {
	for i := range e.Items {
		if e.Items[i].K == key {
			return e.Items[i].V, true
		}
	}
	return "", false
}
