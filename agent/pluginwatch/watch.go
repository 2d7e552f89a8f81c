package pluginwatch

import "github.com/kubeloupe/kubeloupe/agent/inotify"

// watchOps are what a scan may find something by.
const watchOps = inotify.Names | inotify.DeleteSelf

// newWatcher tells that something changed in directories. What, a scan finds out.
func newWatcher() (*inotify.Signal, error) {
	w, err := inotify.New()
	if err != nil {
		return nil, err
	}
	return inotify.NewSignal(w, 16<<10, nil), nil
}
