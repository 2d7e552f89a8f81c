//go:build !linux

package eviction

import (
	"context"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Crossings are notifications that memory crosses a mark; there are none on this system.
type Crossings struct{}

// NewCrossings returns some that are never notified.
func NewCrossings(*trace.Bus, map[trace.Signal]string) *Crossings { return &Crossings{} }

// C implements Watcher.
func (*Crossings) C() <-chan struct{} { return nil }

// Set implements Watcher.
func (*Crossings) Set([]Mark) {}

// Run waits until ctx is done.
func (*Crossings) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
