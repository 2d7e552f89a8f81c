package csi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// attachmentAt is a VolumeAttachment of the volume h of the driver d on the node n, as it is after a time.
type attachmentAt struct {
	after  time.Duration
	status storagev1.VolumeAttachmentStatus
	leaves bool
}

// attachAPI is an API whose VolumeAttachment changes with time.
func attachAPI(began time.Time, all ...attachmentAt) *fake.Clientset {
	api := fake.NewClientset()
	api.PrependReactor("get", "volumeattachments", func(clienttesting.Action) (bool, runtime.Object, error) {
		var va *storagev1.VolumeAttachment
		for _, a := range all {
			if time.Since(began) < a.after {
				continue
			}
			va = &storagev1.VolumeAttachment{Status: a.status}
			if a.leaves {
				va.DeletionTimestamp = &metav1.Time{Time: began}
			}
		}
		return va != nil, va, nil
	})
	return api
}

// A volume is used when the node's status lists it as attached, and its VolumeAttachment is attached then.
func TestAttachWait(t *testing.T) {
	yes := storagev1.VolumeAttachmentStatus{Attached: true, AttachmentMetadata: map[string]string{"path": "/dev/old"}}
	again := storagev1.VolumeAttachmentStatus{Attached: true, AttachmentMetadata: map[string]string{"path": "/dev/new"}}
	fails := storagev1.VolumeAttachmentStatus{AttachError: &storagev1.VolumeError{Message: "no such disk"}}
	const never = time.Hour
	const external = "d has to attach h (VolumeAttachment csi-9072ed11cc1acb5fa433a877ff339b6311d013f33bddd1d0092711a8ace5b16d)"
	const controller = "the attach-detach controller has to attach kubernetes.io/csi/d^h (volumesAttached in the node's status)"
	for _, c := range []struct {
		name   string
		all    []attachmentAt
		listed time.Duration
		spec   volume.Spec
		want   string
		took   time.Duration
		wait   string
		cause  string
	}{
		{name: "attached", all: []attachmentAt{{status: yes}}, want: "map[path:/dev/old] <nil>"},
		{name: "attached later", all: []attachmentAt{{after: time.Second, status: yes}}, listed: 2 * time.Second, want: "map[path:/dev/old] <nil>", took: 2 * time.Second, wait: external},
		{name: "the controller detaches it, and attaches it again", all: []attachmentAt{
			{status: yes}, {after: time.Second, status: yes, leaves: true}, {after: 10 * time.Second}, {after: 20 * time.Second, status: again},
		}, listed: 21 * time.Second, want: "map[path:/dev/new] <nil>", took: 21 * time.Second, wait: controller},
		{name: "not listed", all: []attachmentAt{{status: yes}}, listed: never, took: timeout, wait: controller, want: "map[path:/dev/old] volume kubernetes.io/csi/d^h is not attached according to the node's status, after 2m0s"},
		{name: "not attached", listed: never, took: timeout, wait: external, want: "map[] timed out waiting for external-attacher of d CSI driver to attach volume h"},
		{name: "not attached, but listed", took: timeout, wait: external, want: "map[] timed out waiting for external-attacher of d CSI driver to attach volume h"},
		{name: "is deleted", all: []attachmentAt{{status: yes, leaves: true}}, want: "map[] volume attachment is being deleted"},
		{name: "fails", all: []attachmentAt{{after: time.Second, status: fails}}, listed: never, took: timeout, wait: external, cause: "no such disk", want: "map[] timed out waiting for external-attacher of d CSI driver to attach volume h: no such disk"},
		{name: "fails at first", all: []attachmentAt{{status: fails}, {after: 90 * time.Second, status: yes}}, listed: 91 * time.Second, took: 91 * time.Second, wait: external, cause: "no such disk", want: "map[path:/dev/old] <nil>"},
		{name: "fails, but listed", all: []attachmentAt{{after: time.Second, status: fails}}, took: time.Second, wait: external, want: "map[] no such disk"},
		{name: "found on disk", all: []attachmentAt{{status: yes}}, listed: never, spec: volume.Spec{Adopt: true}, want: "map[path:/dev/old] <nil>"},
		{name: "mounted", all: []attachmentAt{{status: yes}}, listed: never, spec: volume.Spec{Refresh: true}, want: "map[path:/dev/old] <nil>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec, began := tracetest.New(t), time.Now()
				p := newPlugin(t, attachAPI(began, c.all...))
				p.cfg.Bus = rec.Bus()
				p.cfg.Attached = func(name v1.UniqueVolumeName) (string, bool) {
					return "", name == "kubernetes.io/csi/d^h" && time.Since(began) >= c.listed
				}
				w := &work{p: p, spec: c.spec, v: vol{driver: "d", handle: "h", name: "pv"}}
				with, err := w.attachWait(t.Context())
				took := time.Since(began)
				if got := fmt.Sprint(with, " ", err); got != c.want || took < c.took || took > c.took+lastLook {
					t.Errorf("got %s after %v, want %s after %v", got, took, c.want, c.took)
				}
				if waits := tracetest.Events[trace.Wait](rec); c.wait == "" && len(waits) > 0 || c.wait != "" && (len(waits) == 0 || waits[0].Note != c.wait) {
					t.Errorf("it waits: %v, want %q", waits, c.wait)
				} else if c.wait != "" && (waits[len(waits)-1].Cause != "") != (c.cause != "" && err != nil) {
					t.Errorf("the last wait is %v", waits[len(waits)-1])
				} else if c.cause != "" && !slices.ContainsFunc(waits, func(w trace.Wait) bool { return w.Cause == c.cause }) {
					t.Errorf("no wait names the cause: %v", waits)
				}
				if _, late := errors.AsType[*volume.NotAttachedError](err); late != (c.took == timeout) {
					t.Errorf("the error's type is %T", err)
				}
			})
		})
	}
}

// The node's status is read before the VolumeAttachment: the controller changes it first.
func TestAttachmentIsReadLast(t *testing.T) {
	listed := true
	api := attachAPI(time.Now(), attachmentAt{status: storagev1.VolumeAttachmentStatus{Attached: true}})
	api.PrependReactor("get", "volumeattachments", func(clienttesting.Action) (bool, runtime.Object, error) {
		listed = true
		return false, nil, nil
	})
	p := newPlugin(t, api)
	p.cfg.Attached = func(v1.UniqueVolumeName) (string, bool) { return "", listed }
	w := &work{p: p, v: vol{driver: "d", handle: "h", name: "pv"}}
	listed = false
	if now, err := w.attaching(t.Context()); err != nil || now.done() {
		t.Errorf("%+v, error %v: the volume was attached only after the VolumeAttachment was read", now, err)
	}
	if now, err := w.attaching(t.Context()); err != nil || !now.done() {
		t.Errorf("%+v, error %v", now, err)
	}
}

// Only what a controller attaches is waited for.
func TestWhatIsAttached(t *testing.T) {
	for _, c := range []struct {
		name   string
		driver *storagev1.CSIDriver
		asked  bool
	}{
		{"no object of the driver", nil, true},
		{"attachRequired: true", &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{AttachRequired: new(true)}}, true},
		{"attachRequired: false", &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{AttachRequired: new(false)}}, false},
	} {
		var objects []runtime.Object
		if c.driver != nil {
			c.driver.Name, c.driver.Spec.VolumeLifecycleModes = "d", []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
			objects = append(objects, c.driver)
		}
		p := newPlugin(t, fake.NewClientset(objects...))
		p.drivers["d"] = &driver{name: "d"}
		ctx, cancel := context.WithCancelCause(t.Context())
		asked := false
		p.cfg.Attached = func(v1.UniqueVolumeName) (string, bool) {
			asked = true
			cancel(errors.New("enough"))
			return "", false
		}
		_, err := p.begin(ctx, csiPV(func(*v1.PersistentVolume) {}))
		cancel(nil)
		if asked != c.asked || (err != nil) != c.asked {
			t.Errorf("%s: the node's status is read: %t, want %t; error %v", c.name, asked, c.asked, err)
		}
	}
}

// If the node has too many volumes of a driver, although schedulers know how many it can have, the driver is asked for that number again.
func TestNodeHasTooManyVolumes(t *testing.T) {
	exhausted := &storagev1.VolumeError{Message: "too many", ErrorCode: new(int32(8))}
	for _, c := range []struct {
		name    string
		err     *storagev1.VolumeError
		seconds int64
		spec    volume.Spec
		want    bool
	}{
		{"too many", exhausted, 60, volume.Spec{}, true},
		{"the number is not updated", exhausted, 0, volume.Spec{}, false},
		{"another error", &storagev1.VolumeError{Message: "too many", ErrorCode: new(int32(13))}, 60, volume.Spec{}, false},
		{"no code", &storagev1.VolumeError{Message: "too many"}, 60, volume.Spec{}, false},
		{"found on disk", exhausted, 60, volume.Spec{Adopt: true}, false},
		{"mounted", exhausted, 60, volume.Spec{Refresh: true}, false},
	} {
		p := newPlugin(t, attachAPI(time.Now(), attachmentAt{status: storagev1.VolumeAttachmentStatus{AttachError: c.err}}))
		info := &csiDriver{&storagev1.CSIDriver{}}
		if c.seconds > 0 {
			info.Spec.NodeAllocatableUpdatePeriodSeconds = &c.seconds
		}
		w := &work{p: p, spec: c.spec, d: &driver{name: "d"}, info: info, v: vol{driver: "d", handle: "h", name: "pv"}}
		_, err := w.attachWait(t.Context())
		_, limit := errors.AsType[*volume.LimitError](err)
		if err == nil || err.Error() != "too many" || limit != c.want || w.d.count.soon != c.want || len(p.kicked) > 0 != c.want {
			t.Errorf("%s: error %v, that of a limit: %t, want %t; asked soon: %t", c.name, err, limit, c.want, w.d.count.soon)
		}
	}
}
