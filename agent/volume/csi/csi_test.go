package csi

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/mount-utils"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi/fakeapi"
	"github.com/kubeloupe/kubeloupe/agent/pluginwatch"
	"github.com/kubeloupe/kubeloupe/agent/volume"
)

func newPlugin(t *testing.T, api *fake.Clientset) *Plugin {
	t.Helper()
	p, err := New(Config{RootDir: t.TempDir(), NodeName: "n", API: fakeapi.Of(api), Mounter: mount.NewFakeMounter(nil)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNotesAreUpstreams(t *testing.T) {
	dir := t.TempDir()
	data := volData{Name: "pv", Handle: "h", Driver: "d", Node: "n", Attachment: "a", Mode: persistentMode}
	if err := saveData(dir, data); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "vol_data.json"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"specVolID": "pv", "volumeHandle": "h", "driverName": "d", "nodeName": "n", "attachmentID": "a", "volumeLifecycleMode": "Persistent",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// sha256 of "hdn" and of "h", as in upstream's names.
	if got := (vol{driver: "d", handle: "h"}).attachment("n"); got != "csi-9072ed11cc1acb5fa433a877ff339b6311d013f33bddd1d0092711a8ace5b16d" {
		t.Errorf("attachment %s", got)
	}
	p := newPlugin(t, fake.NewClientset())
	want2 := filepath.Join(p.cfg.RootDir, "plugins/kubernetes.io/csi/d/aaa9402664f1a41f40ebbc52c9993eb66aeb366602958fdfaa283b71e64db123/globalmount")
	if got := p.staging("d", "h"); got != want2 {
		t.Errorf("staging %s", got)
	}
}

// A corrupt data file affects no other volume, and its own only while something is mounted there.
func TestSpoiltNote(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "half written": `{"specVolID":"pv","volumeHa`, "zeros": "\x00\x00\x00\x00", "another document": "[]", "of nobody": "{}",
	} {
		p := newPlugin(t, fake.NewClientset())
		at := volume.Place{Dir: filepath.Join(p.cfg.RootDir, "pods", "u", "volumes", "kubernetes.io~csi", "pv")}
		if err := os.MkdirAll(filepath.Join(at.Dir, target), 0o750); err != nil {
			t.Fatal(err)
		}
		note := filepath.Join(at.Dir, dataFile)
		if err := os.WriteFile(note, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := loadData(at.Dir); err == nil || errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), note) {
			t.Errorf("%s: read with %v", name, err)
		}
		if users, err := p.users("d^h", ""); err != nil || len(users) != 0 {
			t.Errorf("%s: nothing is mounted, and the users of a volume are %v, %v", name, users, err)
		}
		if err := p.TearDown(t.Context(), at); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(at.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the volume's directory is left: %v", name, err)
		}
		if !p.leftovers {
			t.Errorf("%s: nobody looks at what is staged for it", name)
		}
	}
}

func TestNodePatch(t *testing.T) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: "7", Labels: map[string]string{"zone": "a"}, Annotations: map[string]string{nodeIDs: `{"d":"1"}`},
	}}
	set := func(k, v string) func(map[string]string) { return func(m map[string]string) { m[k] = v } }
	for _, tc := range []struct {
		name   string
		labels map[string]string
		change func(map[string]string)
		want   string
		err    string
	}{
		{"nothing", map[string]string{"zone": "a"}, set("d", "1"), "", ""},
		{"another", nil, set("e", "2"), `{"metadata":{"annotations":{"csi.volume.kubernetes.io/nodeid":"{\"d\":\"1\",\"e\":\"2\"}"},"resourceVersion":"7"}}`, ""},
		{"label", map[string]string{"rack": "r"}, set("d", "1"), `{"metadata":{"labels":{"rack":"r"},"resourceVersion":"7"}}`, ""},
		{"last one goes", nil, func(m map[string]string) { delete(m, "d") }, `{"metadata":{"annotations":{"csi.volume.kubernetes.io/nodeid":null},"resourceVersion":"7"}}`, ""},
		{"collision", map[string]string{"zone": "b"}, set("d", "1"), "", `driver reported "zone":"b" but existing label is "zone":"a"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := nodePatch(node, tc.labels, tc.change)
			if string(got) != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s, error %v", got, err)
			}
		})
	}
}

// Whoever may change the node may write this annotation.
func TestNodePatchOfNull(t *testing.T) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7", Annotations: map[string]string{nodeIDs: "null"}}}
	got, err := nodePatch(node, nil, func(m map[string]string) { m["d"] = "1" })
	const want = `{"metadata":{"annotations":{"csi.volume.kubernetes.io/nodeid":"{\"d\":\"1\"}"},"resourceVersion":"7"}}`
	if string(got) != want || err != nil {
		t.Errorf("%s, error %v", got, err)
	}
}

func TestCSINodeOfAnEarlierNodeIsReplaced(t *testing.T) {
	api := fake.NewClientset(
		&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "new"}},
		&storagev1.CSINode{
			ObjectMeta: metav1.ObjectMeta{Name: "n", OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: "n", UID: "old"}}},
			Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "x"}}},
		})
	p := newPlugin(t, api)
	if err := p.install(t.Context(), "d", &csipb.NodeGetInfoResponse{NodeId: "id"}); err != nil {
		t.Fatal(err)
	}
	got, err := api.StorageV1().CSINodes().Get(t.Context(), "n", metav1.GetOptions{})
	if err != nil || len(got.Spec.Drivers) != 1 || got.Spec.Drivers[0].Name != "d" || got.OwnerReferences[0].UID != "new" {
		t.Errorf("%+v, %v", got, err)
	}
	if err := p.uninstall(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	got, err = api.StorageV1().CSINodes().Get(t.Context(), "n", metav1.GetOptions{})
	node, nodeErr := api.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{})
	if err != nil || nodeErr != nil || len(got.Spec.Drivers) != 0 || node.Annotations[nodeIDs] != "" {
		t.Errorf("%+v %+v %v %v", got.Spec, node.Annotations, err, nodeErr)
	}
}

func TestWhoGivesFilesToTheGroup(t *testing.T) {
	policy := func(p storagev1.FSGroupPolicy) *csiDriver {
		return &csiDriver{&storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{FSGroupPolicy: &p}}}
	}
	once := []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	many := []v1.PersistentVolumeAccessMode{v1.ReadWriteMany}
	for _, tc := range []struct {
		name string
		info *csiDriver
		v    vol
		want bool
	}{
		{"none", policy(storagev1.NoneFSGroupPolicy), vol{fsType: "ext4", modes: once}, false},
		{"file", policy(storagev1.FileFSGroupPolicy), vol{modes: many}, true},
		{"file, read-only", policy(storagev1.FileFSGroupPolicy), vol{readOnly: true}, false},
		{"default", nil, vol{fsType: "ext4", modes: once}, true},
		{"default, shared", nil, vol{fsType: "ext4", modes: many}, false},
		{"default, no file system", nil, vol{modes: once}, false},
		{"default, inline", nil, vol{fsType: "ext4", ephemeral: true}, true},
	} {
		if got := tc.info.groups(tc.v); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

func TestInfoIsAskedForRarely(t *testing.T) {
	yes := true
	api := fake.NewClientset(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: storagev1.CSIDriverSpec{
		AttachRequired: new(false), RequiresRepublish: &yes, VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent},
	}})
	gets := 0
	api.PrependReactor("get", "csidrivers", func(clienttesting.Action) (bool, runtime.Object, error) { gets++; return false, nil, nil })
	p := newPlugin(t, api)
	spec := volume.Spec{PV: &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: v1.PersistentVolumeSpec{
		PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h"}},
	}}}
	if name, err := p.AttachName(t.Context(), spec); name != "" || err != nil {
		t.Errorf("%q, %v: the driver needs no attachment", name, err)
	}
	if at := p.RefreshAt(spec); at.Before(time.Now().Add(30*time.Second)) || gets != 1 {
		t.Errorf("again at %v, asked %d times", at, gets)
	}
	info, err := p.info(t.Context(), "d")
	if err != nil {
		t.Fatal(err)
	}
	err = info.supports(vol{driver: "d", ephemeral: true})
	if err == nil || err.Error() != `volume mode "Ephemeral" not supported by driver d (only supports ["Persistent"])` {
		t.Errorf("error %v", err)
	}
	spec.PV.Spec.CSI.Driver = "unknown"
	if name, err := p.AttachName(t.Context(), spec); name != "kubernetes.io/csi/unknown^h" || err != nil {
		t.Errorf("%q, %v: without an object, attachment is needed", name, err)
	}
}

func TestVersionsOfDrivers(t *testing.T) {
	p := newPlugin(t, fake.NewClientset())
	one, err := p.validate("d", "/a", []string{"1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	p.drivers["d"] = &driver{name: "d", endpoint: "/a", version: one}
	for _, tc := range []struct {
		name, endpoint string
		versions       []string
		ok             bool
	}{
		{"d", "/a", []string{"1.0.0"}, true}, // the same driver again
		{"d", "/b", []string{"1.0.0"}, false},
		{"d", "/b", []string{"1.1.0"}, true},
		{"e", "/b", nil, false},
		{"e", "/b", []string{"0.3.0"}, false},
		{"../e", "/b", []string{"1.0.0"}, false},
	} {
		if _, err := p.validate(tc.name, tc.endpoint, tc.versions); (err == nil) != tc.ok {
			t.Errorf("%v: %v", tc, err)
		}
	}
	err = p.Register(t.Context(), "e", "/b", nil)
	if _, invalid := errors.AsType[*pluginwatch.InvalidError](err); !invalid || !strings.HasPrefix(err.Error(), "validation failed for CSI Driver e at endpoint /b: ") {
		t.Errorf("error %v", err)
	}
}

// The plugin waits for a missing driver only if there is a volume of it, and for a bounded time.
func TestAwaitDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Plugin{drivers: map[string]*driver{}, arrived: make(chan struct{})}
		spec := volume.Spec{Volume: &v1.Volume{Name: "pv"}}
		for _, adopt := range []bool{false, true} {
			spec.Adopt = adopt
			began := time.Now()
			_, err := p.awaitDriver(t.Context(), "d", spec)
			if took := time.Since(began); err == nil || adopt != (took == registration) || !adopt && took != 0 {
				t.Errorf("adopt %v: error %v after %s", adopt, err, took)
			}
		}
		go func() {
			for _, name := range []string{"other", "d"} {
				time.Sleep(time.Second)
				p.mu.Lock()
				p.drivers[name] = &driver{name: name}
				close(p.arrived)
				p.arrived = make(chan struct{})
				p.mu.Unlock()
			}
		}()
		if d, err := p.awaitDriver(t.Context(), "d", spec); err != nil || d.name != "d" {
			t.Errorf("%v, %v", d, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.awaitDriver(ctx, "none", spec); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}
