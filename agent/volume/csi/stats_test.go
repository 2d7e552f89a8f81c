package csi

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

func (d *healthDriver) NodeGetVolumeStats(ctx context.Context, r *csipb.NodeGetVolumeStatsRequest) (*csipb.NodeGetVolumeStatsResponse, error) {
	if err := d.wait(ctx, r.GetVolumeId()+" "+r.GetVolumePath(), r.GetVolumeId()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return &csipb.NodeGetVolumeStatsResponse{Usage: d.usage}, nil
}

func TestStats(t *testing.T) {
	w := newWard(t)
	p, root := w.cfg.Plugin, w.cfg.Plugin.cfg.RootDir
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
	place := volume.Place{Dir: filepath.Join(root, "pods", "u", "volumes", "kubernetes.io~csi", "data"), PodUID: "u"}
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-h"}}
	pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h"}
	inline := &v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "d"}}}
	bytes := &csipb.VolumeUsage{Unit: csipb.VolumeUsage_BYTES, Total: 10, Used: 4, Available: 5}
	inodes := &csipb.VolumeUsage{Unit: csipb.VolumeUsage_INODES, Total: 7, Used: 1, Available: 6}
	d := w.driver("d")
	for _, c := range []struct {
		name  string
		spec  volume.Spec
		caps  []csipb.NodeServiceCapability_RPC_Type
		usage []*csipb.VolumeUsage
		want  Stats
		asked string
		err   string
	}{
		{name: "a claim", spec: volume.Spec{Pod: pod, PV: pv, Place: place}, usage: []*csipb.VolumeUsage{bytes, inodes}, want: Stats{10, 4, 5, 7, 1, 6}, asked: "h " + place.Dir + "/mount"},
		{name: "a device", spec: volume.Spec{Pod: pod, PV: pv, Block: true, Place: place}, usage: []*csipb.VolumeUsage{bytes}, want: Stats{Capacity: 10, Used: 4, Available: 5}, asked: "h " + root + "/plugins/kubernetes.io/csi/volumeDevices/pv-h/dev/u"},
		{name: "inline", spec: volume.Spec{Pod: pod, Volume: inline, Place: place}, usage: []*csipb.VolumeUsage{inodes}, want: Stats{Inodes: 7, InodesUsed: 1, InodesFree: 6}, asked: inlineHandle("u", "data") + " " + place.Dir + "/mount"},
		{name: "no figures", spec: volume.Spec{Pod: pod, PV: pv, Place: place}, asked: "h " + place.Dir + "/mount", err: "failed to get usage from response. usage is nil"},
		{name: "no capability", spec: volume.Spec{Pod: pod, PV: pv, Place: place}, caps: []csipb.NodeServiceCapability_RPC_Type{canStage}, err: ErrNoStats.Error()},
		{name: "not registered", spec: volume.Spec{Pod: pod, Volume: &v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "other"}}}}, err: "driver name other not found in the list of registered CSI drivers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.caps == nil {
				c.caps = []csipb.NodeServiceCapability_RPC_Type{canStats}
			}
			d.set(func() { d.caps, d.usage = c.caps, c.usage })
			known, err := p.driver("d")
			if err != nil {
				t.Fatal(err)
			}
			known.caps = nil // ask for them again
			got, err := p.Stats(t.Context(), c.spec)
			if text := errors.Join(err); got != c.want || (c.err == "") != (err == nil) || err != nil && text.Error() != c.err {
				t.Errorf("%+v, %v", got, err)
			}
			asked := d.questions()
			if c.asked == "" && len(asked) > 0 || c.asked != "" && (len(asked) != 1 || asked[0] != c.asked) {
				t.Errorf("asked %q, want %q", asked, c.asked)
			}
		})
	}
}
