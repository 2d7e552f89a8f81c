package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/kubeloupe/kubeloupe/agent/config"
	"github.com/kubeloupe/kubeloupe/trace"
)

// RefusedError says that the host does not meet the configuration's requirements.
type RefusedError struct{ Field, Detail string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Field + ": " + e.Detail }

// Check returns an error for a host that the configuration excludes.
//
// Upstream: pkg/kubelet/cm/container_manager_linux.go, NewContainerManager.
func Check(k *config.Config) error {
	var errs []error
	if *k.Kubelet.FailSwapOn {
		swaps, err := os.ReadFile("/proc/swaps")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if devices := strings.Split(strings.TrimSpace(string(swaps)), "\n")[1:]; err == nil && len(devices) > 0 {
			errs = append(errs, &RefusedError{"failSwapOn", fmt.Sprintf("swap is on (%s); turn it off, or set failSwapOn: false", strings.Fields(devices[0])[0])})
		}
	}
	if *k.Kubelet.FailCgroupV1 {
		if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, &RefusedError{"failCgroupV1", "this host has cgroup v1; set failCgroupV1: false to run here"})
		}
	}
	return errors.Join(errs...)
}

// Protect sets oom_score_adj, so that the kernel does not kill the agent when memory runs out. If this is not permitted, it reports
// that.
//
// Upstream: cmd/kubelet/app/server.go, run.
func Protect(bus *trace.Bus, score *int32) {
	if score == nil {
		return
	}
	const path = "/proc/self/oom_score_adj"
	if err := os.WriteFile(path, []byte(strconv.Itoa(int(*score))), 0o644); err != nil {
		trace.Point(bus, trace.Span{}, trace.Log{
			Level: "warn", Message: fmt.Sprintf("oomScoreAdj %d is not permitted here; without it the kernel may kill the agent when memory runs out", *score), Attrs: errAttr(err),
		})
	}
}

// TellSystemd notifies systemd of a state, if systemd started the agent.
func TellSystemd(bus *trace.Bus, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		trace.Point(bus, trace.Span{}, trace.Log{Level: "warn", Message: "cannot notify systemd of " + state, Attrs: errAttr(err)})
	}
}

func errAttr(err error) []trace.KV {
	if err == nil {
		return nil
	}
	return []trace.KV{{K: "error", V: err.Error()}}
}
