package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/config"
	"github.com/kubeloupe/kubeloupe/trace"
)

// RefusedError says that the host does not meet the configuration's requirements.
type RefusedError struct{ Field, Detail string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Field + ": " + e.Detail }

// Check returns an error for a host that the configuration excludes.
//
// Upstream: pkg/kubelet/cm/container_manager_linux.go, NewContainerManager; cmd/kubelet/app/server.go, run;
// pkg/kubelet/apis/config/validation/validation_linux.go.
func Check(k *config.Config) error {
	swaps, err := os.ReadFile(procSwaps)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return refuse(k, string(swaps), !cgroup.Unified("/sys/fs/cgroup"))
}

// procSwaps has a line for each device that the machine swaps to, after a title.
const procSwaps = "/proc/swaps"

// SwapIsOn reports whether the machine swaps, as far as that is known.
func SwapIsOn() bool {
	swaps, err := os.ReadFile(procSwaps)
	return err == nil && len(swapDevices(string(swaps))) > 0
}

func swapDevices(swaps string) []string { return strings.Split(strings.TrimSpace(swaps), "\n")[1:] }

// refuse is Check without reading files. swaps is /proc/swaps, "" if the kernel has no swap.
func refuse(k *config.Config, swaps string, v1 bool) error {
	var errs []error
	add := func(field, detail string) { errs = append(errs, &RefusedError{field, detail}) }
	if devices := swapDevices(swaps); len(devices) > 0 && *k.Kubelet.FailSwapOn {
		add("failSwapOn", fmt.Sprintf("swap is on (%s); turn it off, or set failSwapOn: false", strings.Fields(devices[0])[0]))
	}
	if !v1 {
		return errors.Join(errs...)
	}
	if *k.Kubelet.FailCgroupV1 {
		add("failCgroupV1", "this host has cgroup v1; set failCgroupV1: false to run here")
	}
	if k.Cgroups.LimitedSwap {
		add("memorySwap.swapBehavior", "LimitedSwap needs cgroup v2, and this host has v1; set NoSwap")
	}
	if single := k.Kubelet.SingleProcessOOMKill; single != nil && !*single {
		add("singleProcessOOMKill", "false needs cgroup v2, and this host has v1; leave it out")
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
