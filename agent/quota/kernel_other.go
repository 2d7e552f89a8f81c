//go:build !linux

package quota

import (
	"errors"
	"fmt"
)

// host has no project quotas.
type host struct{}

func (host) open(dir string) (directory, error) {
	return nil, fmt.Errorf("open %s: project quotas: %w", dir, errors.ErrUnsupported)
}
