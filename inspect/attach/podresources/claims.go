package podresources

import (
	"cmp"
	"reflect"
	"slices"

	api "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Limits on what an event says of a claim.
const (
	maxClaimDevices = 32
	maxClaimPods    = 32
	maxCDI          = 16
)

type claimKey struct{ namespace, name string }

func (k *claimKey) compare(o *claimKey) int {
	return cmp.Or(cmp.Compare(k.namespace, o.namespace), cmp.Compare(k.name, o.name))
}

// claiming is a claim as it is read: each container that uses it lists its devices.
type claiming struct {
	pods    map[trace.Pod][]string
	devices map[deviceKey][]string // with their names for the runtime
}

type deviceKey struct{ driver, pool, device, share string }

func (k *deviceKey) compare(o *deviceKey) int {
	return cmp.Or(cmp.Compare(k.driver, o.driver), cmp.Compare(k.pool, o.pool), cmp.Compare(k.device, o.device), cmp.Compare(k.share, o.share))
}

// takeClaims takes in the claims of a container.
func (r *reading) takeClaims(pod trace.Pod, container string, all []*api.DynamicResource) {
	for _, d := range all {
		k := claimKey{trace.Clip(d.GetClaimNamespace(), maxName), trace.Clip(d.GetClaimName(), maxName)}
		c := r.claims[k]
		if c == nil {
			if k.name == "" || len(r.claims) >= maxClaims {
				continue
			}
			c = &claiming{map[trace.Pod][]string{}, map[deviceKey][]string{}}
			r.claims[k] = c
		}
		if !slices.Contains(c.pods[pod], container) && len(c.pods[pod]) < maxClaimPods {
			c.pods[pod] = append(c.pods[pod], container)
		}
		for _, one := range d.GetClaimResources() {
			c.take(one)
		}
	}
}

func (c *claiming) take(r *api.ClaimResource) {
	k := deviceKey{trace.Clip(r.GetDriverName(), maxName), trace.Clip(r.GetPoolName(), maxName), trace.Clip(r.GetDeviceName(), maxName), trace.Clip(r.GetShareId(), maxName)}
	if _, known := c.devices[k]; known {
		return
	}
	var cdi []string
	for _, d := range r.GetCdiDevices()[:min(len(r.GetCdiDevices()), maxCDI)] {
		cdi = append(cdi, trace.Clip(d.GetName(), maxName))
	}
	c.devices[k] = cdi
}

// described is what was read, in order.
func (c *claiming) described(k claimKey) *trace.ClaimDescribed {
	out := &trace.ClaimDescribed{Namespace: k.namespace, Name: k.name, State: trace.ClaimListed, Count: len(c.devices), Users: len(c.pods)}
	devices := sorting.Keys(c.devices, (*deviceKey).compare)
	for _, d := range devices {
		if len(out.Drivers) < maxClaimDevices && !slices.Contains(out.Drivers, d.driver) {
			out.Drivers = append(out.Drivers, d.driver)
		}
	}
	for _, d := range devices[:min(len(devices), maxClaimDevices)] {
		out.Devices = append(out.Devices, trace.ClaimDevice{Driver: d.driver, Pool: d.pool, Device: d.device, Share: d.share, CDI: c.devices[d]})
	}
	pods := sorting.Keys(c.pods, func(a, b *trace.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, p := range pods[:min(len(pods), maxClaimPods)] {
		out.Pods = append(out.Pods, trace.ClaimPod{Pod: p, Containers: c.pods[p]})
	}
	return out
}

// claimed are the events of the claims that have changed.
func (f *Fold) claimed(now map[claimKey]*trace.ClaimDescribed, a Answer) (out []trace.Event) {
	for _, k := range sorting.Keys(f.claims, (*claimKey).compare) {
		if now[k] == nil {
			out = append(out, &trace.ClaimDescribed{Namespace: k.namespace, Name: k.name, State: trace.ClaimGone, Since: a.At})
		}
	}
	for _, k := range sorting.Keys(now, (*claimKey).compare) {
		c, was := now[k], f.claims[k]
		switch {
		case was != nil:
			c.Since = was.Since
		case !a.Last.IsZero(): // it was not listed before
			c.Since = a.At
		}
		if was == nil || !reflect.DeepEqual(c, was) {
			out = append(out, new(*c))
		}
	}
	return out
}
