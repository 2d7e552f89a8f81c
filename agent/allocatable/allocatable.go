package allocatable

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Config is the part of the KubeletConfiguration that determines allocatable.
type Config struct {
	MaxPods     int32
	PodsPerCore int32 // 0 means no such limit
	// KubeReserved and SystemReserved are quantities by resource: cpu, memory, ephemeral-storage, pid, hugepages-*.
	KubeReserved, SystemReserved map[string]string
	// ReservedCPUs are the CPUs of the system, such as 0-1; "" for none. Their number replaces the CPU of both reservations.
	ReservedCPUs string
	// EvictionHard has quantities or percentages by signal; memory.available and nodefs.available are reserved.
	EvictionHard map[string]string
	// NoStorage is localStorageCapacityIsolation: false: ephemeral-storage is not a resource of the node.
	NoStorage bool
}

// Resources are the resources of a node.
type Resources struct {
	// Capacity is the machine's; Allocatable is what pods may request.
	Capacity, Allocatable v1.ResourceList
	// Enforced is what pods may use: Capacity without the reservations, but with the eviction threshold, at which the
	// kubelet evicts pods before the kernel kills them. It is for the cgroup of all pods, and also has their processes (pid).
	Enforced v1.ResourceList
	// KubeReserved and SystemReserved are the reservations; EvictionReserved is what hard eviction keeps free.
	KubeReserved, SystemReserved, EvictionReserved v1.ResourceList
}

// Kept returns what pods cannot request of the capacity, by resource: the reservations and what hard eviction keeps free.
//
// Upstream: pkg/kubelet/cm/node_container_manager_linux.go, GetNodeAllocatableReservation.
func (r Resources) Kept() v1.ResourceList {
	out := v1.ResourceList{}
	for name := range r.Capacity {
		var sum resource.Quantity
		for _, list := range []v1.ResourceList{r.KubeReserved, r.SystemReserved, r.EvictionReserved} {
			sum.Add(list[name])
		}
		if !sum.IsZero() {
			out[name] = sum
		}
	}
	return out
}

// PIDs is the name of the number of processes, which is not a resource of the API.
//
// Upstream: pkg/kubelet/stats/pidlimit.
const PIDs v1.ResourceName = "pid"

// Compute returns a machine's resources for pods. Errors name the field; a reservation above the capacity is an error.
//
// Upstream: pkg/kubelet/cm/node_container_manager_linux.go, pkg/kubelet/nodestatus/setters.go (MachineInfo).
func Compute(m Machine, cfg Config) (Resources, error) {
	r := Resources{Capacity: capacity(m, cfg), Allocatable: v1.ResourceList{}, Enforced: v1.ResourceList{}}
	kube, err := quantities("kubeReserved", cfg.KubeReserved)
	system, err2 := quantities("systemReserved", cfg.SystemReserved)
	evict, err3 := evictionReservation(cfg.EvictionHard, r.Capacity)
	n, err4 := 0, error(nil)
	if cfg.ReservedCPUs != "" {
		n, err4 = reservedCPUs(cfg.ReservedCPUs, m.CPUList)
		delete(kube, v1.ResourceCPU)
		system[v1.ResourceCPU] = *resource.NewQuantity(int64(n), resource.DecimalSI)
	}
	if err := errors.Join(err, err2, err3, err4); err != nil {
		return Resources{}, err
	}
	r.KubeReserved, r.SystemReserved, r.EvictionReserved = kube, system, evict
	var over []error
	for _, name := range sortedNames(r.Capacity) {
		has := r.Capacity[name]
		enforced := less(has, kube[name], system[name])
		r.Enforced[name] = notNegative(enforced)
		left := less(enforced, evict[name])
		if left.Sign() < 0 {
			over = append(over, fmt.Errorf("%s: kubeReserved, systemReserved and evictionHard together are more than the capacity of %s", name, has.String()))
		}
		r.Allocatable[name] = notNegative(left)
	}
	if m.MaxPIDs > 0 {
		pids := less(*resource.NewQuantity(m.MaxPIDs, resource.DecimalSI), kube[PIDs], system[PIDs])
		if pids.Sign() <= 0 {
			over = append(over, fmt.Errorf("pid: kubeReserved and systemReserved together leave no process for pods; the kernel has %d", m.MaxPIDs))
		}
		r.Enforced[PIDs] = pids
	}
	if len(over) > 0 {
		return Resources{}, errors.Join(over...)
	}
	memory := r.Allocatable[v1.ResourceMemory]
	for name, q := range r.Capacity {
		if strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) {
			memory.Sub(q) // reserved huge pages are not available as memory
		}
	}
	r.Allocatable[v1.ResourceMemory] = notNegative(memory)
	return r, nil
}

// capacity returns the machine's resources.
//
// Upstream: pkg/kubelet/cm/container_manager_linux.go, GetCapacity; pkg/kubelet/cadvisor/util.go, CapacityFromMachineInfo.
func capacity(m Machine, cfg Config) v1.ResourceList {
	pods := int64(cfg.MaxPods)
	if cfg.PodsPerCore > 0 {
		pods = min(pods, m.CPUs*int64(cfg.PodsPerCore))
	}
	list := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(m.CPUs*1000, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(m.Memory, resource.BinarySI),
		v1.ResourcePods:   *resource.NewQuantity(pods, resource.DecimalSI),
	}
	if !cfg.NoStorage {
		list[v1.ResourceEphemeralStorage] = *resource.NewQuantity(m.Disk, resource.BinarySI)
	}
	for size, bytes := range m.HugePages {
		name := v1.ResourceHugePagesPrefix + resource.NewQuantity(size, resource.BinarySI).String()
		list[v1.ResourceName(name)] = *resource.NewQuantity(bytes, resource.BinarySI)
	}
	return list
}

// evictionReservation returns the resources that hard eviction keeps free.
//
// Upstream: pkg/kubelet/cm/helpers.go, hardEvictionReservation.
func evictionReservation(hard map[string]string, has v1.ResourceList) (v1.ResourceList, error) {
	out := v1.ResourceList{}
	var errs []error
	for signal, name := range map[string]v1.ResourceName{"memory.available": v1.ResourceMemory, "nodefs.available": v1.ResourceEphemeralStorage} {
		text, ok := hard[signal]
		if !ok || NoThreshold(text) {
			continue
		}
		q, err := threshold(text, has[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("evictionHard[%q]: %w", signal, err))
			continue
		}
		out[name] = q
	}
	return out, errors.Join(errs...)
}

// NoThreshold reports whether the value of an eviction threshold turns it off.
//
// Upstream: pkg/kubelet/eviction/helpers.go, parseThresholdStatement.
func NoThreshold(text string) bool { return text == "0%" || text == "100%" }

// threshold parses a quantity, or a percentage of the capacity.
func threshold(text string, of resource.Quantity) (resource.Quantity, error) {
	number, isPercent := strings.CutSuffix(text, "%")
	if !isPercent {
		q, err := resource.ParseQuantity(text)
		if err != nil {
			return q, fmt.Errorf("%q is neither a quantity such as 100Mi nor a percentage such as 10%%", text)
		}
		return q, nil
	}
	p, err := strconv.ParseFloat(number, 32)
	if err != nil {
		return resource.Quantity{}, fmt.Errorf("%q is not a percentage such as 10%%", text)
	}
	return *resource.NewQuantity(int64(float64(of.Value())*float64(float32(p)/100)), resource.BinarySI), nil
}

// quantities parses a reservation. CPU is rounded to thousandths, which is what nodes have.
//
// Upstream: cmd/kubelet/app/server.go, parseResourceList.
func quantities(field string, in map[string]string) (v1.ResourceList, error) {
	out := v1.ResourceList{}
	var errs []error
	for name, text := range in {
		q, err := resource.ParseQuantity(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s[%q]: %q is not a quantity such as 500m or 1Gi", field, name, text))
			continue
		}
		if name == string(v1.ResourceCPU) {
			q.SetMilli((q.ScaledValue(resource.Micro) + 500) / 1000)
		}
		out[v1.ResourceName(name)] = q
	}
	return out, errors.Join(errs...)
}

func less(q resource.Quantity, by ...resource.Quantity) resource.Quantity {
	q = q.DeepCopy()
	for _, b := range by {
		q.Sub(b)
	}
	return q
}

func notNegative(q resource.Quantity) resource.Quantity {
	if q.Sign() < 0 {
		q.Set(0)
	}
	return q
}

func sortedNames(list v1.ResourceList) []v1.ResourceName {
	names := make([]v1.ResourceName, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
