//go:build !linux

package oom

import (
	"errors"
	"io"
)

func open() (io.ReadCloser, error) { return nil, errors.ErrUnsupported }
