//go:build unix && !linux

package nodelock

import (
	"context"
	"fmt"
	"runtime"
)

// Contended is supported only on Linux, which reports when a file is opened.
func (l *Lock) Contended(context.Context) error {
	return fmt.Errorf("watch %s: --exit-on-lock-contention does not work on %s", l.file.Name(), runtime.GOOS)
}
