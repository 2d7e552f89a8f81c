//go:build !linux

package plugins

import "context"

func (*Watcher) run(context.Context) error { return ErrUnsupported }
