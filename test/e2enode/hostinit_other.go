//go:build !linux

package main

import (
	"context"
	"errors"
	"io"
	"syscall"
)

var errNotLinux = errors.New("-host: the tests start containers: they need Linux")

func spawnInit(context.Context, plan, io.Writer) error { return errNotLinux }

func initHost() error { return errNotLinux }

func inOwnNetwork() *syscall.SysProcAttr { return nil }
