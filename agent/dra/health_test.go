package dra

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	healthapi "k8s.io/kubelet/pkg/apis/dra-health/v1"
	healthalpha "k8s.io/kubelet/pkg/apis/dra-health/v1alpha1"
	drapb "k8s.io/kubelet/pkg/apis/dra/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

func report(device string, h healthapi.HealthStatus, message string) *healthapi.DeviceHealth {
	return &healthapi.DeviceHealth{Device: &healthapi.DeviceIdentifier{PoolName: "pool", DeviceName: device}, Health: h, Message: message}
}

// health returns what the status of the container shows, as "claim: device health message, ...".
func (n *node) healthOf(p *v1.Pod) (out []string) {
	for _, s := range n.Status(p, "app") {
		text := string(s.Name) + ":"
		for _, r := range s.Resources {
			text += fmt.Sprintf(" %s %s", r.ResourceID, r.Health)
			if r.Message != nil {
				text += " " + *r.Message
			}
		}
		out = append(out, text)
	}
	return out
}

// The health that a driver reports is in the status of its pods, in both versions of the service.
func TestHealth(t *testing.T) {
	for _, service := range []string{healthapi.DRAResourceHealthService, healthalpha.DRAResourceHealthService} {
		t.Run(service, func(t *testing.T) {
			n := newNode(t, t.TempDir())
			n.run()
			d := &fakeDriver{name: gpus, health: make(chan []*healthapi.DeviceHealth, 10)}
			n.driver(d, drapb.DRAPluginService, service)
			if got := n.plugins(trace.DRARegistered, gpus); len(got) != 1 || got[0].Health != service || got[0].Service != drapb.DRAPluginService {
				t.Errorf("%+v", got)
			}
			n.claim("a", []string{gpus}, "p")
			p := n.pod("p", "a")
			p.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "my-a", Request: "one/sub"}, {Name: "my-a"}, {Name: "other"}}
			if got := n.healthOf(p); len(got) > 0 {
				t.Errorf("before it is prepared: %q", got)
			}
			if err := n.Prepare(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			unknown := []string{"claim:my-a/one/sub: " + gpus + "/c=a-0 Unknown", "claim:my-a: " + gpus + "/c=a-0 Unknown " + gpus + "/c=a-1 Unknown"}
			wantStrings(t, "before the driver reported", n.healthOf(p), unknown...)
			d.health <- []*healthapi.DeviceHealth{report("a-0", healthapi.HealthStatus_UNHEALTHY, "hot"), report("a-1", healthapi.HealthStatus_HEALTHY, ""), report("other", healthapi.HealthStatus_HEALTHY, "")}
			n.until("a change", func() bool {
				n.mu.Lock()
				defer n.mu.Unlock()
				return slices.Equal(n.hurt, []types.UID{"p"})
			})
			wantStrings(t, "health", n.healthOf(p), "claim:my-a/one/sub: "+gpus+"/c=a-0 Unhealthy hot", "claim:my-a: "+gpus+"/c=a-0 Unhealthy hot "+gpus+"/c=a-1 Healthy")
			n.Deregister(t.Context(), gpus, filepath.Join(n.sockets, gpus))
			if got := n.Status(p, "sidecar"); got != nil {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A driver that says that it has the service, and does not implement it, is not asked again. Without the feature gate, none is asked.
func TestNoHealth(t *testing.T) {
	n := newNode(t, t.TempDir())
	n.run()
	n.driver(&fakeDriver{name: gpus}, drapb.DRAPluginService, healthapi.DRAResourceHealthService)
	n.build(func(c *Config) { c.HealthChanged = nil })
	n.run()
	n.driver(&fakeDriver{name: nics}, drapb.DRAPluginService, healthapi.DRAResourceHealthService)
	if got := n.plugins(trace.DRARegistered, nics); len(got) != 1 || got[0].Health != "" {
		t.Errorf("%+v", got)
	}
}

// A report counts for 30 s, or as long as it says; what a driver said counts for 10 s after its stream has ended.
func TestOldHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, t.TempDir())
		n.claims["a"] = n.claim("a", []string{gpus}, "p")
		p := n.pod("p", "a")
		todo, err := n.attach(t.Context(), "p", []*wanted{{namespace: "ns", name: "a", uid: "uid-a", drivers: allocated(n.claims["a"])}})
		if err != nil {
			t.Fatal(err)
		}
		devices, err := devicesOf(prepared(gpus, []*drapb.Claim{{Name: "a", Uid: "uid-a"}}).Claims["uid-a"])
		if err != nil {
			t.Fatal(err)
		}
		d := todo[0].DriverState[gpus]
		d.Devices = devices
		todo[0].DriverState[gpus] = d
		n.release(todo)
		n.run()
		defer n.stop()
		is := func(when, want string) {
			t.Helper()
			synctest.Wait()
			wantStrings(t, when, n.healthOf(p), "claim:my-a: "+strings.ReplaceAll(want, "@", gpus+"/c=a-"))
		}
		hurt := func(want int) {
			t.Helper()
			synctest.Wait()
			n.mu.Lock()
			defer n.mu.Unlock()
			if len(n.hurt) != want {
				t.Errorf("%d changes, want %d", len(n.hurt), want)
			}
		}
		long := report("a-1", healthapi.HealthStatus_HEALTHY, "fine")
		long.HealthCheckTimeoutSeconds = 60
		n.Report(gpus, "s1", []*healthapi.DeviceHealth{report("a-0", healthapi.HealthStatus_HEALTHY, strings.Repeat("x", 2000)), long})
		hurt(1)
		is("now", "@0 Healthy "+strings.Repeat("x", 1021)+"... @1 Healthy fine")
		n.Report(gpus, "s1", []*healthapi.DeviceHealth{report("a-0", healthapi.HealthStatus_HEALTHY, "")})
		hurt(2)
		time.Sleep(29 * time.Second)
		is("after 29 s", "@0 Healthy @1 Healthy fine")
		hurt(2)
		time.Sleep(2 * time.Second)
		is("after 31 s", "@0 Unknown @1 Healthy fine")
		hurt(3)
		n.Report(gpus, "s2", []*healthapi.DeviceHealth{report("a-0", healthapi.HealthStatus_UNHEALTHY, "")}) // the driver's next version
		hurt(4)
		n.End(gpus, "s1")
		time.Sleep(9 * time.Second)
		is("9 s after the old one ended", "@0 Unhealthy @1 Healthy fine")
		time.Sleep(2 * time.Second)
		is("11 s after", "@0 Unhealthy @1 Unknown")
		hurt(5)
		n.Report(gpus, "s2", []*healthapi.DeviceHealth{report("a-1", healthapi.HealthStatus_UNKNOWN, "")})
		time.Sleep(time.Hour)
		is("at the end", "@0 Unknown @1 Unknown")
		if len(n.health.all) != 0 || len(n.health.counts) != 0 {
			t.Errorf("%d devices are kept", len(n.health.all))
		}
	})
}

// A driver that invents devices.
func TestManyDevices(t *testing.T) {
	n := newNode(t, t.TempDir())
	var many []*healthapi.DeviceHealth
	for i := range maxDevices + 10 {
		many = append(many, report(fmt.Sprint(i), healthapi.HealthStatus_HEALTHY, ""))
	}
	n.Report(gpus, "s", append(many, report(strings.Repeat("x", maxName+1), healthapi.HealthStatus_HEALTHY, ""), nil))
	if len(n.health.all) != maxDevices {
		t.Errorf("%d devices are kept", len(n.health.all))
	}
	n.Report(nics, "s", many[:1])
	if got, _ := n.health.of(deviceID{nics, "pool", "0"}); got != v1.ResourceHealthStatusHealthy {
		t.Error("another driver has no room")
	}
}
