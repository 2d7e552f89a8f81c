package pluginwatch

import "github.com/kubeloupe/kubeloupe/agent/inotify"

// watchOps are the events after which a scan may find something.
const watchOps = inotify.Names | inotify.DeleteSelf

// newWatcher signals changes in directories; a scan finds the changes.
func newWatcher() (*inotify.Signal, error) {
	w, err := inotify.New()
	if err != nil {
		return nil, err
	}
	return inotify.NewSignal(w, 16<<10, nil), nil
}
