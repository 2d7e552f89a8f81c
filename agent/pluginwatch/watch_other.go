//go:build !linux

package pluginwatch

import "errors"

type watcher struct{ changes chan struct{} }

func newWatcher() (*watcher, error) {
	return nil, errors.New("the plugin registry is only watched on Linux")
}

func (*watcher) add(string) error { return nil }
func (*watcher) close()           {}
