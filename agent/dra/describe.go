package dra

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/clock"
	"github.com/kubeloupe/kubeloupe/agent/dra/checkpoint"
	"github.com/kubeloupe/kubeloupe/agent/dra/driver"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Limits of what an event about a claim has, see trace.ClaimDescribed.
const (
	maxDescribed = 32 // devices, pods, drivers, containers of a pod
	maxOfDevice  = 16 // requests and CDI devices of a device
)

const (
	// laterAtOnce is how many claims are described at once after the start and after changes of health, and laterPause how long to wait
	// before the next ones.
	laterAtOnce = 256
	laterPause  = time.Second
	// maxRefusals limits the claims that are known only because pods cannot use them.
	maxRefusals = 1024
)

// refusal is a claim that no pod uses, because it does not exist or cannot be used.
type refusal struct {
	pod   types.UID
	err   *Error
	since time.Time
}

// become changes the state of a claim. Called with mu.
func (m *Manager) become(c *claim, state trace.ClaimState, failure *Error) {
	if c.state != state {
		c.state, c.since = state, time.Now()
	}
	c.failure = failure
	m.touched[c.key()] = true
}

// refuse records that a pod cannot use a claim for which no driver was called.
func (m *Manager) refuse(pod types.UID, err *Error) {
	key := types.NamespacedName{Namespace: err.Namespace, Name: err.Name}
	m.mu.Lock()
	defer m.mu.Unlock()
	old, known := m.refusals[key]
	if !known && len(m.refusals) >= maxRefusals {
		return
	}
	if known && old.pod == pod && old.err.Fault == err.Fault && old.err.Error() == err.Error() {
		return
	}
	since := time.Now()
	if known && old.pod == pod {
		since = old.since
	}
	m.refusals[key] = refusal{pod: pod, err: err, since: since}
	m.touched[key] = true
}

// admit forgets refusals: those of claims that can be used now. Called with mu.
func (m *Manager) admit(key types.NamespacedName) {
	if _, refused := m.refusals[key]; refused {
		delete(m.refusals, key)
		m.touched[key] = true
	}
}

// dropRefusals forgets the refusals of pods for which gone returns true, and which claims and drivers they wait for.
func (m *Manager) dropRefusals(gone func(pod types.UID) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, r := range m.refusals {
		if gone(r.pod) {
			m.admit(key)
		}
	}
	maps.DeleteFunc(m.blocked, func(pod types.UID, _ types.NamespacedName) bool { return gone(pod) })
	maps.DeleteFunc(m.waiting, func(pod types.UID, _ string) bool { return gone(pod) })
}

// describe publishes the claims that have changed. The last event about a claim has its last state.
func (m *Manager) describe() {
	m.describing.Lock()
	defer m.describing.Unlock()
	m.mu.Lock()
	keys := sorting.Keys(m.touched, byKey)
	clear(m.touched)
	m.mu.Unlock()
	for _, key := range keys {
		m.describeOne(key)
	}
}

func byKey(a, b *types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// describeLater publishes claims that need not be described at once: those of the state file, and those with devices whose health has
// changed. It paces them.
func (m *Manager) describeLater(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.laterKick:
		}
		for m.describeSome() {
			if !clock.Sleep(ctx, laterPause) {
				return
			}
		}
	}
}

// describeSome reports whether it has described any.
func (m *Manager) describeSome() bool {
	m.describing.Lock()
	defer m.describing.Unlock()
	m.mu.Lock()
	keys := sorting.Keys(m.later, byKey)
	keys = keys[:min(len(keys), laterAtOnce)]
	for _, key := range keys {
		delete(m.later, key)
	}
	m.mu.Unlock()
	for _, key := range keys {
		m.describeOne(key)
	}
	return len(keys) > 0
}

// postpone has a claim described later. Called with mu.
func (m *Manager) postpone(key types.NamespacedName) {
	m.later[key] = true
	select {
	case m.laterKick <- struct{}{}:
	default:
	}
}

// describeOne publishes a claim. Called with describing, so that the events about a claim are in the order of its states.
func (m *Manager) describeOne(key types.NamespacedName) {
	e := trace.ClaimDescribed{Namespace: key.Namespace, Name: key.Name, State: trace.ClaimGone}
	var pods []types.UID
	m.mu.Lock()
	delete(m.later, key)
	if c := m.claims[key]; c != nil {
		e.UID, e.State, e.Since = string(c.ClaimUID), c.state, c.since
		fail(&e, c.failure)
		for uid := range c.PodUIDs {
			pods = append(pods, types.UID(uid))
		}
		m.describeDevices(&e, c)
	} else if r, refused := m.refusals[key]; refused {
		e.UID, e.State, e.Since = r.err.UID, trace.ClaimFailed, r.since
		fail(&e, r.err)
		pods = []types.UID{r.pod}
	}
	m.mu.Unlock()
	slices.Sort(pods)
	e.Users = len(pods)
	for _, uid := range pods[:min(len(pods), maxDescribed)] {
		e.Pods = append(e.Pods, m.describePod(uid, key))
	}
	trace.Point(m.cfg.Bus, trace.Span{}, e)
}

func fail(e *trace.ClaimDescribed, err *Error) {
	if err != nil {
		e.Fault, e.FaultDriver, e.Err = err.Fault, err.Driver, err.Error()
	}
}

// describeDevices adds the drivers and devices of a claim. Called with mu.
func (m *Manager) describeDevices(e *trace.ClaimDescribed, c *claim) {
	drivers := slices.Sorted(maps.Keys(c.DriverState))
	e.Drivers = drivers[:min(len(drivers), maxDescribed)]
	for _, name := range drivers {
		devices := c.DriverState[name].Devices
		e.Count += len(devices)
		for i := range devices[:min(len(devices), maxDescribed-len(e.Devices))] {
			e.Devices = append(e.Devices, m.describeDevice(name, &devices[i]))
		}
	}
}

func (m *Manager) describeDevice(name string, d *checkpoint.Device) trace.ClaimDevice {
	out := trace.ClaimDevice{Driver: name, Pool: driver.Clip(d.PoolName), Device: driver.Clip(d.DeviceName), Requests: d.RequestNames[:min(len(d.RequestNames), maxOfDevice)]}
	if d.ShareID != nil {
		out.Share = driver.Clip(string(*d.ShareID))
	}
	for _, id := range d.CDIDeviceIDs[:min(len(d.CDIDeviceIDs), maxOfDevice)] {
		out.CDI = append(out.CDI, driver.Clip(id))
	}
	if m.cfg.HealthChanged == nil {
		return out
	}
	health, message := m.health.of(deviceID{name, d.PoolName, d.DeviceName})
	out.Message = message
	switch health {
	case v1.ResourceHealthStatusHealthy:
		out.Health = trace.DeviceHealthy
	case v1.ResourceHealthStatusUnhealthy:
		out.Health = trace.DeviceUnhealthy
	case v1.ResourceHealthStatusUnknown:
		out.Health = trace.DeviceHealthUnknown
	}
	return out
}

// describePod names a pod that uses a claim, and its containers that do.
func (m *Manager) describePod(uid types.UID, key types.NamespacedName) trace.ClaimPod {
	out := trace.ClaimPod{Pod: trace.Pod{Namespace: key.Namespace, UID: string(uid)}}
	pod := m.cfg.Pod(uid)
	if pod == nil {
		return out
	}
	out.Pod.Name = pod.Name
	for _, all := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range all {
			uses, err := usesOf(pod, &all[i])
			if err == nil && len(out.Containers) < maxDescribed && slices.ContainsFunc(uses, func(u use) bool { return u.claim == key.Name }) {
				out.Containers = append(out.Containers, all[i].Name)
			}
		}
	}
	return out
}
