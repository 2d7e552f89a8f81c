package verbosity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/kubeletapi"
)

// deadline is how long one try takes at most.
const deadline = 10 * time.Second

// Job says of which kubelet the verbosity is raised, and what it was.
type Job struct {
	kubeletapi.Client
	// Old is the verbosity to put back, Until when at the latest.
	Old   int
	Until time.Time
}

// absolute makes the names of files independent of the directory of the process.
func (j *Job) absolute() (err error) {
	j.Pins = slices.Clone(j.Pins)
	names := []*string{&j.Cert, &j.Key, &j.Kubeconfig, &j.Token}
	for i := range j.Pins {
		names = append(names, &j.Pins[i])
	}
	for _, name := range names {
		if *name == "" {
			continue
		}
		if *name, err = filepath.Abs(*name); err != nil {
			return err
		}
	}
	return nil
}

// Verbosity is that of the kubelet's configuration in use: what was set in the meantime cannot be read.
func (j *Job) Verbosity(ctx context.Context) (int, error) {
	body, err := j.Get(ctx, "/configz")
	if err != nil {
		return 0, needed(err)
	}
	var c struct {
		Kubelet struct {
			Logging struct {
				Verbosity int `json:"verbosity"`
			} `json:"logging"`
		} `json:"kubeletconfig"`
	}
	if err := json.Unmarshal(body, &c); err != nil {
		return 0, fmt.Errorf("read the kubelet's configuration: %w", err)
	}
	return c.Kubelet.Logging.Verbosity, nil
}

// Set sets the verbosity.
func (j *Job) Set(ctx context.Context, level int) error {
	_, err := j.Do(ctx, http.MethodPut, "/debug/flags/v", strconv.Itoa(level))
	return needed(err)
}

// refused reports whether the kubelet has refused a request: then it has not changed anything, and will not do so later.
func refused(err error) bool {
	answer, ok := errors.AsType[*kubeletapi.StatusError](err)
	return errors.Is(err, kubeletapi.ErrDenied) || ok && answer.Code >= 400 && answer.Code < 500
}

// needed adds what right is missing.
func needed(err error) error {
	if errors.Is(err, kubeletapi.ErrDenied) {
		return fmt.Errorf("%w: it needs update of nodes/proxy", err)
	}
	return err
}
