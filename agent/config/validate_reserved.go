package config

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// allocatable checks reservations and where they are enforced.
func (c *checker) allocatable() {
	kc := c.kc
	c.reservation("systemReserved", kc.SystemReserved)
	c.reservation("kubeReserved", kc.KubeReserved)
	if kc.SystemCgroups != "" && kc.CgroupRoot == "" {
		c.add("systemCgroups", "needs cgroupRoot")
	}
	for _, place := range []struct{ field, name string }{{"kubeletCgroups", kc.KubeletCgroups}, {"systemCgroups", kc.SystemCgroups}} {
		if place.name != "" && path.Clean("/"+place.name) == "/" {
			c.add(place.field, "%q is the root cgroup: must be another one", place.name)
		}
	}
	if kc.ReservedSystemCPUs != "" {
		if kc.SystemReservedCgroup != "" || kc.KubeReservedCgroup != "" {
			c.add("reservedSystemCPUs", "cannot be combined with systemReservedCgroup or kubeReservedCgroup")
		}
		if !isCPUSet(kc.ReservedSystemCPUs) {
			c.add("reservedSystemCPUs", "%q must be a list of CPUs such as \"0-1,4\"", kc.ReservedSystemCPUs)
		}
	}

	seen := map[string]bool{}
	for i, word := range kc.EnforceNodeAllocatable {
		field := index("enforceNodeAllocatable", i)
		if seen[word] {
			c.add(field, "%q is listed twice", word)
			continue
		}
		seen[word] = true
		c.enforcement(field, word)
	}
	for _, word := range []string{"system-reserved", "kube-reserved"} {
		if seen[word] && seen[word+"-compressible"] {
			c.add("enforceNodeAllocatable", "%[1]q and \"%[1]s-compressible\" exclude each other", word)
		}
	}
}

func (c *checker) enforcement(field, word string) {
	kc := c.kc
	base := strings.TrimSuffix(word, "-compressible")
	switch {
	case word == "none":
		if len(kc.EnforceNodeAllocatable) > 1 {
			c.add(field, `"none" must stand alone`)
		}
		return
	case word == "pods":
	case base == "system-reserved":
		if kc.SystemReservedCgroup == "" {
			c.add(field, "%q needs systemReservedCgroup", word)
		}
	case base == "kube-reserved":
		if kc.KubeReservedCgroup == "" {
			c.add(field, "%q needs kubeReservedCgroup", word)
		}
	default:
		c.oneOf(field, word, "none", "pods", "system-reserved", "system-reserved-compressible", "kube-reserved", "kube-reserved-compressible")
		return
	}
	if !*kc.CgroupsPerQOS {
		c.add(field, "%q needs cgroupsPerQOS to be true", word)
	}
}

// reservation checks amounts of cpu, memory, ephemeral-storage and pid.
func (c *checker) reservation(field string, amounts map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		at := fmt.Sprintf("%s[%q]", field, name)
		if !slices.Contains([]string{"cpu", "memory", "ephemeral-storage", "pid"}, name) {
			c.add(at, "cannot be reserved; only cpu, memory, ephemeral-storage and pid can")
			continue
		}
		c.quantity(at, amounts[name])
	}
}

// quantity checks a quantity, which must not be negative.
func (c *checker) quantity(field, v string) (resource.Quantity, bool) {
	q, ok := c.amount(field, v)
	if ok && q.Sign() < 0 {
		c.add(field, "%q must not be negative", v)
		return q, false
	}
	return q, ok
}

// amount checks a quantity that may be negative.
func (c *checker) amount(field, v string) (resource.Quantity, bool) {
	q, err := resource.ParseQuantity(v)
	if err != nil {
		c.add(field, "%q is not a quantity such as \"500Mi\"", v)
	}
	return q, err == nil
}

func (c *checker) reservedMemory() {
	type key struct {
		node int32
		name corev1.ResourceName
	}
	seen := map[key]bool{}
	for i, r := range c.kc.ReservedMemory {
		for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
			at := fmt.Sprintf("%s.limits[%q]", index("reservedMemory", i), name)
			if name != corev1.ResourceMemory && !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
				c.add(at, "cannot be reserved on a NUMA node; only memory and hugepages-SIZE can")
			}
			if q := r.Limits[name]; q.IsZero() {
				c.add(at, "must not be zero")
			}
			if seen[key{r.NumaNode, name}] {
				c.add(at, "is reserved twice on NUMA node %d", r.NumaNode)
			}
			seen[key{r.NumaNode, name}] = true
		}
	}
}

// isCPUSet reports whether s is a list of CPUs in the kernel's format: numbers and ranges, comma-separated.
func isCPUSet(s string) bool {
	for part := range strings.SplitSeq(s, ",") {
		first, last, ranged := strings.Cut(part, "-")
		lo, err := strconv.ParseUint(first, 10, 16)
		if err != nil {
			return false
		}
		if hi, err := strconv.ParseUint(last, 10, 16); ranged && (err != nil || hi < lo) {
			return false
		}
	}
	return true
}
