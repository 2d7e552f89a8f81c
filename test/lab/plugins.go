package lab

import (
	"context"
	"embed"
	"io"
	"path/filepath"
)

// The journal and the CDI part of the device plugin are the driver's, too.
//
//go:embed deviceplugin/*.go
var devicePluginSource embed.FS

//go:embed dradriver/*.txt deviceplugin/journal.go deviceplugin/cdi.go
var draDriverSource embed.FS

// draVersion is the version of k8s.io/dynamic-resource-allocation, with which the driver is built.
const draVersion = "v0.37.1"

// BuildDevicePlugin builds the lab's device plugin (test/lab/deviceplugin) where it is missing, and returns the program. One line then goes to
// log, which may be nil.
func BuildDevicePlugin(ctx context.Context, log io.Writer) (string, error) {
	b, err := newBuilder(log)
	if err != nil {
		return "", err
	}
	version, err := hashFS(devicePluginSource)
	if err != nil {
		return "", err
	}
	dir, err := b.ensure("deviceplugin", version, "bin", func(tmp string) error {
		dir, err := moduleDir(ctx)
		if err != nil {
			return err
		}
		return b.run(ctx, dir, []string{"CGO_ENABLED=0", "GOOS=", "GOARCH="}, "go", "build", "-trimpath", "-o", tmp+"/", "./test/lab/deviceplugin")
	})
	return filepath.Join(dir, "deviceplugin"), err
}

// BuildDRADriver builds the lab's DRA driver (test/lab/dradriver) where it is missing, and returns the program. It is a module of its own: the
// library for drivers is nothing that the product needs. The first time it takes a minute.
func BuildDRADriver(ctx context.Context, log io.Writer) (string, error) {
	b, err := newBuilder(log)
	if err != nil {
		return "", err
	}
	hash, err := hashFS(draDriverSource)
	if err != nil {
		return "", err
	}
	dir, err := b.ensure("dradriver", draVersion+"-"+hash, "bin", func(tmp string) error {
		return b.inModule(draDriverSource, func(dir string, env []string) error {
			return b.run(ctx, dir, env, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", filepath.Join(tmp, "dradriver"), ".")
		})
	})
	return filepath.Join(dir, "dradriver"), err
}
