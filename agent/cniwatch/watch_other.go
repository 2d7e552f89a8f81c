//go:build !linux

package cniwatch

import "errors"

type watch struct{ changes chan struct{} }

func newWatch(string) (*watch, error) {
	return nil, errors.New("the network's configuration is only watched on Linux")
}

func (*watch) close() {}
