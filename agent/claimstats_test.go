package agent_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
)

// usages returns an answer about a volume.
func usages(total, used, free, inodes int64) *csipb.NodeGetVolumeStatsResponse {
	out := &csipb.NodeGetVolumeStatsResponse{Usage: []*csipb.VolumeUsage{{Unit: csipb.VolumeUsage_BYTES, Total: total, Used: used, Available: free}}}
	if inodes > 0 {
		out.Usage = append(out.Usage, &csipb.VolumeUsage{Unit: csipb.VolumeUsage_INODES, Total: inodes, Used: 1, Available: inodes - 1})
	}
	return out
}

// share adds a claim of a network file system to the API server and to the pod. Nothing is mounted there: the program that would mount it
// does nothing.
func (a *apiServer) share(h *host, p *v1.Pod) (flags []string) {
	claim := v1.ObjectReference{Namespace: "default", Name: "share", UID: "u-share"}
	a.put("/api/v1/namespaces/default/persistentvolumeclaims/share", &v1.PersistentVolumeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "share", UID: claim.UID},
		Spec: v1.PersistentVolumeClaimSpec{VolumeName: "pv-2"}, Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound},
	})
	a.put("/api/v1/persistentvolumes/pv-2", &v1.PersistentVolume{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}, ObjectMeta: metav1.ObjectMeta{Name: "pv-2"},
		Spec: v1.PersistentVolumeSpec{ClaimRef: &claim, PersistentVolumeSource: v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: "192.0.2.1", Path: "/data"}}},
	})
	p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "share", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "share"}}})
	p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: "share", MountPath: "/share"})
	program := filepath.Join(h.dir, "mounter")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		h.t.Fatal(err)
	}
	return []string{"--experimental-mounter-path", program}
}

// claimFigures returns the figures of claims, such as "disk capacity_bytes".
func (n *node) claimFigures() map[string]float64 {
	out := map[string]float64{}
	for _, f := range n.Measured(n.t.Context()) {
		name, is := strings.CutPrefix(f.GetName(), "kubelet_volume_stats_")
		for _, m := range f.GetMetric() {
			if is && m.GetLabel()[0].GetValue() == "default" {
				out[m.GetLabel()[1].GetValue()+" "+name] = m.GetGauge().GetValue()
			}
		}
	}
	return out
}

// A claim has all six figures: those of its driver, and 0 for those that it does not know; or those of its file system.
func TestClaimsHaveFigures(t *testing.T) {
	h := newHost(t, map[string]sim.Latency{})
	api, flags := h.api()
	p := api.claimed()
	flags = append(flags, api.share(h, p)...)
	p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "on-host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: h.dir}}})
	p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: "on-host", MountPath: "/host"})
	n := run(t, h.config(append(flags, "--volume-stats-agg-period", "1h", "--kube-api-content-type", "application/json")...))
	var asked atomic.Pointer[csipb.NodeGetVolumeStatsRequest]
	var calls atomic.Int32
	d := &diskDriver{figures: func(_ context.Context, r *csipb.NodeGetVolumeStatsRequest) (*csipb.NodeGetVolumeStatsResponse, error) {
		asked.Store(r)
		calls.Add(1)
		return usages(1000, 400, 500, 0), nil
	}}
	d.serve(h)
	n.source.Set(p)
	n.until("start", milestone("started", p))
	got := n.figuresOf(12, "")
	disk := map[string]float64{"disk capacity_bytes": 1000, "disk used_bytes": 400, "disk available_bytes": 500, "disk inodes": 0, "disk inodes_used": 0, "disk inodes_free": 0}
	for name, want := range disk {
		if v, has := got[name]; !has || v != want {
			t.Errorf("%s is %v, %v; want %v", name, v, has, want)
		}
	}
	if len(got) != 12 || got["share capacity_bytes"] <= 0 || got["share used_bytes"] <= 0 {
		t.Errorf("figures %v", got)
	}
	if r := asked.Load(); r.GetVolumeId() != "h-1" || !strings.HasSuffix(r.GetVolumePath(), "/pods/"+string(p.UID)+"/volumes/kubernetes.io~csi/pv-1/mount") {
		t.Errorf("asked about %v", r)
	}
	if again := n.claimFigures(); !maps.Equal(disk, only(again, "disk ")) || calls.Load() != 1 {
		t.Errorf("%d calls in the period, %v", calls.Load(), again)
	}
	n.end()
}

// figuresOf returns the figures of claims when there are as many with the prefix: a driver, and a file system on a busy machine, may need longer
// than a response waits.
func (n *node) figuresOf(count int, prefix string) (got map[string]float64) {
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if got = n.claimFigures(); len(only(got, prefix)) == count {
			break
		}
	}
	return got
}

// only returns the figures of one claim.
func only(all map[string]float64, prefix string) map[string]float64 {
	out := maps.Clone(all)
	maps.DeleteFunc(out, func(name string, _ float64) bool { return !strings.HasPrefix(name, prefix) })
	return out
}

// A claim whose driver has no figures, or does not answer, has none: those of a file system would be others. The figures of other
// claims do not wait for it.
func TestClaimsWithoutFigures(t *testing.T) {
	hangs := func(ctx context.Context, _ *csipb.NodeGetVolumeStatsRequest) (*csipb.NodeGetVolumeStatsResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for name, c := range map[string]struct {
		figures func(context.Context, *csipb.NodeGetVolumeStatsRequest) (*csipb.NodeGetVolumeStatsResponse, error)
		flags   []string
	}{
		"no capability":   {},
		"does not answer": {figures: hangs},
		"is not to be asked": {func(context.Context, *csipb.NodeGetVolumeStatsRequest) (*csipb.NodeGetVolumeStatsResponse, error) {
			t.Error("asked")
			return usages(1, 1, 1, 1), nil
		}, []string{"--volume-stats-agg-period=-1s"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, map[string]sim.Latency{})
			api, flags := h.api()
			p := api.claimed()
			flags = append(append(flags, api.share(h, p)...), c.flags...)
			n := run(t, h.config(append(flags, "--kube-api-content-type", "application/json")...))
			d := &diskDriver{figures: c.figures}
			d.serve(h)
			n.source.Set(p)
			n.until("start", milestone("started", p))
			if got := n.figuresOf(6, "share "); len(only(got, "disk ")) > 0 || len(only(got, "share ")) != 6 {
				t.Errorf("figures %v", got)
			}
			n.end()
		})
	}
}
