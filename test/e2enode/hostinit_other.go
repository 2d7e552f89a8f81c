//go:build !linux

package main

import (
	"context"
	"errors"
	"io"
)

var errNotLinux = errors.New("-host: the tests start containers: they need Linux")

func spawnInit(context.Context, plan, io.Writer) error { return errNotLinux }

func initHost() error { return errNotLinux }
