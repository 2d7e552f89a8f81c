//go:build !linux

package kernel

import (
	"errors"

	"github.com/moby/sys/mountinfo"
)

// parseMounts is not possible: there is no /proc/PID/mountinfo.
func parseMounts([]byte, mountinfo.FilterFunc) ([]*mountinfo.Info, error) {
	return nil, errors.ErrUnsupported
}

type table struct{}

// openTable is not possible: there is no /proc/PID/mountinfo.
func openTable(string) (*table, error) { return nil, errors.ErrUnsupported }

func (*table) changed() bool { return false }

func (*table) close() {}
