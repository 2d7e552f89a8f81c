package dra

import (
	"fmt"
	"os"
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

	"github.com/kubeloupe/kubeloupe/agent/dra/checkpoint"
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

// What a driver said counts for the next agent, as long as the driver said; a file that cannot be read is ignored and replaced.
func TestSavedHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, t.TempDir())
		path := filepath.Join(n.dir, checkpoint.HealthName)
		of := func(when, device, want string) {
			t.Helper()
			health, message := n.health.of(deviceID{gpus, "pool", device})
			if got := strings.TrimSpace(string(health) + " " + message); got != want {
				t.Errorf("%s: device %s is %q, want %q", when, device, got, want)
			}
		}
		n.run()
		long := report("0", healthapi.HealthStatus_UNHEALTHY, "hot")
		long.HealthCheckTimeoutSeconds = 60
		n.Report(gpus, "s", []*healthapi.DeviceHealth{long, report("1", healthapi.HealthStatus_HEALTHY, "")})
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		if all, err := checkpoint.ReadHealth(path); err != nil || len(all[gpus]) != 2 {
			t.Fatalf("%+v, %v", all, err)
		}
		time.Sleep(20 * time.Second)
		n.Report(gpus, "s", []*healthapi.DeviceHealth{long}) // no news: it is saved at the end
		n.restart()
		of("at once", "0", "Unhealthy hot")
		of("at once", "1", "Healthy")
		time.Sleep(11 * time.Second)
		synctest.Wait()
		of("31 s after the report", "1", "Unknown")
		of("11 s after the last report", "0", "Unhealthy hot")
		time.Sleep(50 * time.Second)
		synctest.Wait()
		of("61 s after the last report", "0", "Unknown")
		if all, err := checkpoint.ReadHealth(path); err != nil || len(all) != 0 {
			t.Errorf("what is too old stays in the file: %+v, %v", all, err)
		}
		n.stop()
		for name, content := range map[string]string{"empty": "", "half": `{"gpu.example.com":{"Devices":{"pool/0":{"Pool`, "foreign": `["a"]`, "none": "null"} {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			warned := len(n.rec.OfKind("log"))
			n.build(nil)
			if got := len(n.rec.OfKind("log")) - warned; got != 1 && name != "none" || got != 0 && name == "none" {
				t.Errorf("%s: %d warnings", name, got)
			}
			n.run()
			n.Report(gpus, "s", []*healthapi.DeviceHealth{report("0", healthapi.HealthStatus_HEALTHY, name)})
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
			if all, err := checkpoint.ReadHealth(path); err != nil || len(all[gpus]) != 1 || all[gpus][0].Message != name {
				t.Errorf("%s: %+v, %v", name, all, err)
			}
			n.stop()
		}
	})
}

// Entries of the file that upstream or a damaged disk may have.
func TestRestoredHealth(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		d      checkpoint.DeviceHealth
		health v1.ResourceHealthStatus
		left   time.Duration
	}{
		"default timeout":   {checkpoint.DeviceHealth{Health: "Healthy", LastUpdated: now.Add(-10 * time.Second)}, "Healthy", 20 * time.Second},
		"too old":           {checkpoint.DeviceHealth{Health: "Healthy", LastUpdated: now.Add(-time.Minute)}, "Healthy", -30 * time.Second},
		"from the future":   {checkpoint.DeviceHealth{Health: "Unhealthy", LastUpdated: now.Add(time.Hour), HealthCheckTimeout: time.Minute}, "Unhealthy", time.Minute},
		"for longer":        {checkpoint.DeviceHealth{Health: "Healthy", LastUpdated: now, HealthCheckTimeout: 1 << 62}, "Healthy", maxTimeout},
		"negative":          {checkpoint.DeviceHealth{Health: "Healthy", LastUpdated: now, HealthCheckTimeout: -1}, "Healthy", -1},
		"an unknown health": {checkpoint.DeviceHealth{Health: "Broken", LastUpdated: now}, "Unknown", healthTimeout},
	} {
		if got := restored(now, &c.d); got.health != c.health || got.until.Sub(now) != c.left {
			t.Errorf("%s: %s for %s, want %s for %s", name, got.health, got.until.Sub(now), c.health, c.left)
		}
	}
}
