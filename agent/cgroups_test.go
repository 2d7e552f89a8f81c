package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/kubeloupe/kubeloupe/agent/allocatable"
	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/config"
	"github.com/kubeloupe/kubeloupe/agent/events"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func TestChooseDriver(t *testing.T) {
	for _, c := range []struct {
		name             string
		told, configured cgroup.Driver
		from             string
		want             cgroup.Driver
		warning          string
	}{
		{"agree", cgroup.Systemd, cgroup.Systemd, "kubelet.yaml", cgroup.Systemd, ""},
		{"the default is another one", cgroup.Systemd, cgroup.Cgroupfs, "", cgroup.Systemd, ""},
		{"the file has another one", cgroup.Systemd, cgroup.Cgroupfs, "kubelet.yaml", cgroup.Systemd, "cgroupDriver cgroupfs in kubelet.yaml is ignored, because the container runtime uses systemd; " +
			"set cgroupDriver to systemd, or change the runtime's driver"},
		{"not told", "", cgroup.Cgroupfs, "--cgroup-driver", cgroup.Cgroupfs, "the container runtime does not tell its cgroup driver, so that cgroupDriver cgroupfs is used"},
	} {
		got, warnings := chooseDriver(c.told, c.configured, c.from)
		text := strings.Join(warnings, "\n")
		if got != c.want || !strings.HasPrefix(text, c.warning) || (c.warning == "") != (text == "") {
			t.Errorf("%s: %s, %q", c.name, got, text)
		}
	}
}

// partsOn returns the parts of an agent with flags, on a machine with 4 CPUs and 8 GiB.
func partsOn(t *testing.T, args ...string) *parts {
	t.Helper()
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags := config.AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	k, err := config.Load(flags)
	if err != nil {
		t.Fatal(err)
	}
	p := &parts{cfg: Config{Kubelet: k}}
	p.host.machine = allocatable.Machine{CPUs: 4, MaxPIDs: 10000, Memory: 8 << 30, Disk: 1 << 40}
	p.host.resources, err = allocatable.Compute(p.host.machine, allocatable.Config{
		MaxPods: 110, KubeReserved: k.Kubelet.KubeReserved, SystemReserved: k.Kubelet.SystemReserved, ReservedCPUs: k.Kubelet.ReservedSystemCPUs,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPodLimits(t *testing.T) {
	reserved := "--system-reserved=cpu=500m,memory=1Gi,pid=1000"
	for _, c := range []struct {
		args []string
		want cgroup.Limits
	}{
		{nil, cgroup.Limits{MilliCPU: 4000, Memory: 8 << 30, Pids: 10000}},
		{[]string{reserved}, cgroup.Limits{MilliCPU: 3500, Memory: 7 << 30, Pids: 9000}},
		{[]string{reserved, "--enforce-node-allocatable=none"}, cgroup.Limits{MilliCPU: 4000, Memory: 8 << 30, Pids: 10000}},
		{[]string{"--reserved-cpus=0-1"}, cgroup.Limits{MilliCPU: 2000, Memory: 8 << 30, Pids: 10000}},
		{[]string{"--reserved-cpus=0-3"}, cgroup.Limits{MilliCPU: 1, Memory: 8 << 30, Pids: 10000}},
	} {
		if diff := cmp.Diff(c.want, partsOn(t, c.args...).podLimits()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.args, diff)
		}
	}
}

// With the policy static, the CPUs of kubepods and of the system's cgroups are not the agent's.
func TestUnmanagedCPUs(t *testing.T) {
	for policy, want := range map[string]string{"none": "0-3", "static": ""} {
		p := partsOn(t, "--cpu-manager-policy="+policy, "--reserved-cpus=0")
		p.host.machine.CPUList = "0-3"
		if got := p.unmanagedCPUs(); got != want {
			t.Errorf("%s: %q, want %q", policy, got, want)
		}
	}
}

func TestReservedCgroups(t *testing.T) {
	args := []string{"--enforce-node-allocatable=pods,system-reserved,kube-reserved-compressible", "--system-reserved-cgroup=/system.slice", "--kube-reserved-cgroup=/kube.slice"}
	if _, err := partsOn(t, args...).reservedCgroups(); err == nil || !strings.Contains(err.Error(), `systemReserved: must have an amount, because enforceNodeAllocatable has "system-reserved"`) {
		t.Errorf("nothing is reserved: %v", err)
	}
	got, err := partsOn(t, append(args, "--system-reserved=memory=1Gi", "--kube-reserved=cpu=500m,memory=1Gi,pid=10")...).reservedCgroups()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]cgroup.Reserved{
		{Field: "systemReservedCgroup", Name: "/system.slice", Limits: cgroup.Limits{Memory: 1 << 30}},
		{Field: "kubeReservedCgroup", Name: "/kube.slice", Limits: cgroup.Limits{MilliCPU: 500, Memory: 1 << 30, Pids: 10}, Compressible: true},
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCgroupWarnings(t *testing.T) {
	p := partsOn(t, "--qos-reserved=memory=50%")
	p.cfg.Kubelet.Cgroups.MemoryQoS.Tiered = true
	if got := p.cgroupWarnings(true); len(got) != 1 || !strings.HasPrefix(got[0], "qosReserved needs the feature gate QOSReserved") {
		t.Errorf("v2: %q", got)
	}
	if got := p.cgroupWarnings(false); len(got) != 2 || !strings.Contains(got[1], "need cgroup v2") {
		t.Errorf("v1: %q", got)
	}
	if got := partsOn(t, "--qos-reserved=memory=50%", "--feature-gates=QOSReserved=true").cgroupWarnings(false); got != nil {
		t.Errorf("allowed: %q", got)
	}
}

// The Event about the limit of all pods is upstream's, with and without pods in enforceNodeAllocatable.
func TestTellLimit(t *testing.T) {
	for _, enforce := range []string{"pods", "none"} {
		rec := tracetest.New(t)
		p := partsOn(t, "--enforce-node-allocatable="+enforce)
		recorder, err := events.New(events.Config{Node: "n", Bus: rec.Bus()})
		if err != nil {
			t.Fatal(err)
		}
		p.cluster = &cluster{events: recorder}
		p.tellLimit(t.Context(), nil)
		want := []trace.NodeEvent{{Type: "Normal", Reason: "NodeAllocatableEnforced", Message: "Updated Node Allocatable limit across pods"}}
		if diff := cmp.Diff(want, tracetest.Events[trace.NodeEvent](rec)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", enforce, diff)
		}
	}
}

// The limit of all pods is set again every minute until the kernel accepts it, and each attempt is told.
func TestRetryLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries, told, start := 0, []error{}, time.Now()
		busy := errors.New("busy")
		set := func(context.Context) error {
			if tries++; tries < 3 {
				return busy
			}
			return nil
		}
		if err := retryLimit(t.Context(), set, func(_ context.Context, err error) { told = append(told, err) }); err != nil {
			t.Error(err)
		}
		if !slices.Equal(told, []error{busy, busy, nil}) || time.Since(start) != 3*time.Minute {
			t.Errorf("told %v in %v", told, time.Since(start))
		}
	})
}
