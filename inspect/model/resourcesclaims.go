package model

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Claim is a ResourceClaim that pods of this node use, or cannot use.
type Claim struct {
	trace.ClaimDescribed
	// Seq is the number of the last record about it.
	Seq uint64
}

// String returns namespace/name.
func (c *Claim) String() string { return c.Namespace + "/" + c.Name }

// Failed reports whether the last calls for it failed.
func (c *Claim) Failed() bool { return c.State == trace.ClaimFailed || c.State == trace.ClaimStuck }

// Unhealthy returns how many of the described devices are not healthy, and how many of them have an unknown health.
func (c *Claim) Unhealthy() (unhealthy, unknown int) {
	for i := range c.Devices {
		switch c.Devices[i].Health {
		case trace.DeviceUnhealthy:
			unhealthy++
		case trace.DeviceHealthUnknown:
			unknown++
		case trace.DeviceHealthy:
		}
	}
	return unhealthy, unknown
}

// claims are the claims being folded. Those that were handed out do not change.
type claims struct {
	all     map[claimKey]*Claim
	order   []*Claim // sorted; nil: something has changed
	omitted int
}

type claimKey struct{ namespace, name string }

func newClaims() claims { return claims{all: map[claimKey]*Claim{}} }

func (s *claims) apply(r *trace.Record, e *trace.ClaimDescribed) {
	key := claimKey{e.Namespace, e.Name}
	s.order = nil
	if e.State == trace.ClaimGone {
		delete(s.all, key)
		return
	}
	if s.all[key] == nil && len(s.all) >= maxClaims {
		s.dropOldest()
	}
	s.all[key] = &Claim{ClaimDescribed: *e, Seq: r.Seq}
}

// dropOldest removes a quarter of the claims: those that no record was about for the longest time.
func (s *claims) dropOldest() {
	all := slices.SortedFunc(maps.Values(s.all), func(a, b *Claim) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, c := range all[:len(all)/4] {
		delete(s.all, claimKey{c.Namespace, c.Name})
		s.omitted++
	}
}

// inOrder returns the claims by namespace and name.
func (s *claims) inOrder() []*Claim {
	if s.order == nil {
		s.order = slices.SortedFunc(maps.Values(s.all), func(a, b *Claim) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
	}
	return s.order
}

// shorten cuts what takes much room.
func (s *claims) shorten() {
	for key, c := range s.all {
		c = new(*c)
		cutEvent(&c.ClaimDescribed)
		s.all[key] = c
	}
	s.order = nil
}
