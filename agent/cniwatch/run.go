package cniwatch

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	// again is when, after a change, the runtime is checked once more: it reads the configuration only after it has
	// noticed the change itself.
	again = time.Second
	// retry is how long after a failure the directory is requested from the runtime again.
	retry = 30 * time.Second
)

// Runtime returns the runtime's configuration.
type Runtime interface {
	Status(context.Context, *runtimeapi.StatusRequest, ...grpc.CallOption) (*runtimeapi.StatusResponse, error)
}

// Config is what a Watcher needs.
type Config struct {
	Runtime Runtime
	// Prompt requests a check of the runtime's state. It does not wait.
	Prompt func()
}

// Watcher watches the directory of CNI configurations.
type Watcher struct{ cfg Config }

// New returns a Watcher that does not run.
func New(cfg Config) (*Watcher, error) {
	if cfg.Runtime == nil || cfg.Prompt == nil {
		return nil, errors.New("cniwatch: Config needs Runtime and Prompt")
	}
	return &Watcher{cfg: cfg}, nil
}

// Run watches until ctx ends, and then returns nil. It returns nil immediately if the runtime reports no directory.
func (w *Watcher) Run(ctx context.Context) error {
	dir, ok := w.directory(ctx)
	if !ok {
		return nil
	}
	watch, err := newWatch(dir)
	if err != nil {
		return nil //nolint:nilerr // the runtime is asked from time to time without it
	}
	defer func() { _ = watch.Close() }()
	var later <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-watch.C:
			if !ok {
				return nil // no more watches are available: as above
			}
			w.cfg.Prompt()
			later = time.After(again)
		case <-later:
			w.cfg.Prompt()
			later = nil
		}
	}
}

// directory requests the directory from the runtime until it responds.
func (w *Watcher) directory(ctx context.Context) (dir string, ok bool) {
	for {
		r, err := w.cfg.Runtime.Status(ctx, &runtimeapi.StatusRequest{Verbose: true})
		if err == nil {
			dir = confDir(r.GetInfo())
			return dir, dir != ""
		}
		select {
		case <-ctx.Done():
			return "", false
		case <-time.After(retry):
		}
	}
}

// confDir returns the directory in containerd's verbose status; "" if there is none that can be watched.
//
// Upstream: containerd, internal/cri/server/status.go and internal/cri/config/config.go.
func confDir(info map[string]string) string {
	var c struct {
		CNI struct {
			ConfDir string `json:"confDir"`
		} `json:"cni"`
	}
	if json.Unmarshal([]byte(info["config"]), &c) != nil || !filepath.IsAbs(c.CNI.ConfDir) {
		return ""
	}
	return filepath.Clean(c.CNI.ConfDir)
}
