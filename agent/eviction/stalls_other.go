//go:build !linux

package eviction

import (
	"context"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Stalls is notified when tasks stall for memory; there is none on this system.
type Stalls struct{}

// NewStalls returns one that is never notified.
func NewStalls(*trace.Bus, ...string) *Stalls { return &Stalls{} }

// C delivers nothing.
func (*Stalls) C() <-chan struct{} { return nil }

// Run waits until ctx is done.
func (*Stalls) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
