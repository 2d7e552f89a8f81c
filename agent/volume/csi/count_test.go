package csi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// infoClient is a driver that says how many volumes it can attach.
type infoClient struct {
	csipb.NodeClient
	mu    sync.Mutex
	max   int64
	err   error
	hangs bool
	asked int
}

func (c *infoClient) set(edit func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	edit()
}

func (c *infoClient) NodeGetInfo(ctx context.Context, _ *csipb.NodeGetInfoRequest, _ ...grpc.CallOption) (*csipb.NodeGetInfoResponse, error) {
	c.mu.Lock()
	c.asked++
	limit, err, hangs := c.max, c.err, c.hangs
	c.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &csipb.NodeGetInfoResponse{NodeId: "id", MaxVolumesPerNode: limit}, err
}

func (c *infoClient) calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

// counting is a Plugin whose Run runs, with drivers.
type counting struct {
	*Plugin
	t   *testing.T
	api *fake.Clientset
	rec *tracetest.Recorder
}

// newCounting returns one with the drivers, by name, and their CSIDriver objects with these periods in seconds; 0 for no period.
func newCounting(t *testing.T, drivers map[string]*infoClient, seconds map[string]int64) *counting {
	t.Helper()
	c := &counting{t: t, rec: tracetest.New(t), api: fake.NewClientset(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}})}
	c.Plugin = newPlugin(t, c.api)
	c.cfg.Bus = c.rec.Bus()
	for name, client := range drivers {
		c.period(name, seconds[name])
		c.drivers[name] = &driver{name: name, node: client, count: refreshed{at: time.Now()}}
		if err := c.install(t.Context(), name, &csipb.NodeGetInfoResponse{NodeId: "id", MaxVolumesPerNode: client.max}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *counting) period(name string, seconds int64) {
	c.t.Helper()
	o := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if seconds > 0 {
		o.Spec.NodeAllocatableUpdatePeriodSeconds = &seconds
	}
	if err := c.api.Tracker().Add(o); err != nil {
		c.t.Fatal(err)
	}
}

// stored returns the drivers in the CSINode object with their numbers of volumes.
func (c *counting) stored() string {
	c.t.Helper()
	o, err := c.api.StorageV1().CSINodes().Get(c.t.Context(), "n", metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	var out []string
	for _, d := range o.Spec.Drivers {
		out = append(out, fmt.Sprintf("%s:%d", d.Name, count(d)))
	}
	return strings.Join(out, " ")
}

func (c *counting) want(when, want string) {
	c.t.Helper()
	synctest.Wait()
	if got := c.stored(); got != want {
		c.t.Errorf("%s: the CSINode object has %q, want %q", when, got, want)
	}
}

func (c *counting) updates() (n int) {
	for _, a := range c.api.Actions() {
		if a.Matches("update", "csinodes") {
			n++
		}
	}
	return n
}

func TestCountIsUpdated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &infoClient{max: 25}
		c := newCounting(t, map[string]*infoClient{"d": d}, map[string]int64{"d": 60})
		d.set(func() { d.max = 20 })
		time.Sleep(59 * time.Second)
		c.want("before the period has passed", "d:25")
		time.Sleep(time.Second)
		c.want("after the period", "d:20")
		was := c.updates()
		time.Sleep(10 * time.Minute)
		c.want("later", "d:20")
		if got := c.updates(); d.calls() != 11 || got != was {
			t.Errorf("the driver was asked %d times, want 11; %d updates without a change", d.calls(), got-was)
		}
		d.set(func() { d.max = 0 })
		time.Sleep(time.Minute)
		c.want("without a limit", "d:0")
		d.set(func() { d.max = math.MaxInt64 })
		time.Sleep(time.Minute)
		c.want("with a large limit", fmt.Sprint("d:", math.MaxInt32))
	})
}

// The CSIDriver object may get a period later, and lose it; one below the API server's minimum is not used.
func TestPeriodOfCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &infoClient{max: 25}
		c := newCounting(t, map[string]*infoClient{"d": d}, nil)
		time.Sleep(time.Hour)
		if d.calls() != 0 {
			t.Errorf("the driver was asked %d times without a period", d.calls())
		}
		edit := func(seconds int64) {
			t.Helper()
			o := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: storagev1.CSIDriverSpec{NodeAllocatableUpdatePeriodSeconds: &seconds}}
			if _, err := c.api.StorageV1().CSIDrivers().Update(t.Context(), o, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		edit(1)
		time.Sleep(periodLook + periodLook/10)
		synctest.Wait()
		was := d.calls()
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := d.calls() - was; was == 0 || n < 5 || n > 6 {
			t.Errorf("the driver was asked %d times in a minute, want each 10 s", n)
		}
		edit(0)
		time.Sleep(infoGood + shortestUpdate)
		synctest.Wait()
		was = d.calls()
		time.Sleep(time.Hour)
		if n := d.calls() - was; n > 0 {
			t.Errorf("the driver was asked %d times in an hour after the period was removed", n)
		}
	})
}

// A driver that hangs delays no other; one that fails is asked again, and each error is published once.
func TestCountOfBrokenDrivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs, fails, good := &infoClient{max: 1, hangs: true}, &infoClient{max: 1, err: errors.New("no answer")}, &infoClient{max: 1}
		c := newCounting(t, map[string]*infoClient{"hangs": hangs, "fails": fails, "good": good}, map[string]int64{"hangs": 10, "fails": 10, "good": 10})
		good.set(func() { good.max = 2 })
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := c.stored(); !strings.Contains(got, "good:2") || !strings.Contains(got, "hangs:1") || hangs.calls() != 1 || fails.calls() != 6 {
			t.Errorf("%q; the driver that hangs was asked %d times, the one that fails %d times", got, hangs.calls(), fails.calls())
		}
		if logs := tracetest.Events[trace.Log](c.rec); len(logs) != 1 ||
			logs[0].Message != "the number of volumes of CSI driver fails could not be updated in the CSINode object: no answer" {
			t.Errorf("logs %+v", logs)
		}
	})
}

// A driver whose number is wrong is asked at once, but not more often than every 10 s.
func TestRecount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &infoClient{max: 25}
		c := newCounting(t, map[string]*infoClient{"d": d}, map[string]int64{"d": 3600})
		d.set(func() { d.max = 20 })
		again := func() {
			c.drivers["d"].recount()
			c.kick()
		}
		again()
		time.Sleep(shortestUpdate - time.Second)
		c.want("just after the registration", "d:25")
		time.Sleep(time.Second)
		c.want("10 s after the registration", "d:20")
		time.Sleep(time.Minute)
		d.set(func() { d.max = 10 })
		again()
		c.want("at once", "d:10")
		for range 30 {
			again()
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if d.calls() != 5 {
			t.Errorf("the driver was asked %d times, want 5", d.calls())
		}
		time.Sleep(10 * time.Minute)
		if synctest.Wait(); d.calls() != 5 {
			t.Errorf("the driver was asked %d times afterwards, want 5", d.calls())
		}
	})
}

// A driver that goes while it is asked does not come back into the CSINode object.
func TestCountOfADriverThatGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &infoClient{max: 25}
		c := newCounting(t, map[string]*infoClient{"d": d}, map[string]int64{"d": 10})
		c.mu.Lock()
		old := c.drivers["d"]
		delete(c.drivers, "d")
		c.mu.Unlock()
		if err := c.uninstall(t.Context(), "d"); err != nil {
			t.Fatal(err)
		}
		if err := c.refresh(t.Context(), old); err != nil {
			t.Error(err)
		}
		c.want("after the driver has gone", "")
	})
}

// Controllers and schedulers read which plugins of the kubelet's tree have been replaced by CSI drivers.
func TestMigratedPlugins(t *testing.T) {
	const key = "storage.alpha.kubernetes.io/migrated-plugins"
	const want = "kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/azure-file,kubernetes.io/cinder,kubernetes.io/gce-pd,kubernetes.io/portworx-volume,kubernetes.io/vsphere-volume"
	node, old := ownedCSINode()
	old.Annotations = map[string]string{"mine": "kept", key: "kubernetes.io/aws-ebs"}
	old.Spec.Drivers = []storagev1.CSINodeDriver{{Name: "x"}}
	for name, api := range map[string]*fake.Clientset{"a new object": fake.NewClientset(node), "an object of an earlier agent": fake.NewClientset(node, old)} {
		p := newPlugin(t, api)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 2 { // the second one changes nothing
			if err := p.Run(ctx); err != nil {
				t.Error(err)
			}
		}
		got, err := api.StorageV1().CSINodes().Get(t.Context(), "n", metav1.GetOptions{})
		if err != nil || got.Annotations[key] != want {
			t.Errorf("%s: annotations %v, error %v", name, got.Annotations, err)
		}
		if name != "a new object" && (got.Annotations["mine"] != "kept" || len(got.Spec.Drivers) != 1) {
			t.Errorf("%s: %+v", name, got)
		}
		writes := 0
		for _, a := range api.Actions() {
			if v := a.GetVerb(); v == "create" || v == "update" {
				writes++
			}
		}
		if writes != 1 {
			t.Errorf("%s: %d writes, want 1", name, writes)
		}
	}
}
