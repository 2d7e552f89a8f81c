package verbosity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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

// needed adds what right is missing.
func needed(err error) error {
	if errors.Is(err, kubeletapi.ErrDenied) {
		return fmt.Errorf("%w: it needs update of nodes/proxy", err)
	}
	return err
}
