package csi

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/status"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/trace"
)

// maxHealthText limits the text of a decision about health, in bytes.
const maxHealthText = 512

// askVolume asks about one volume of a pod. If the call fails, what is known stays.
func (h *Health) askVolume(ctx context.Context, d *driver, u *volume.Use) {
	req := h.cfg.Plugin.healthRequest(u)
	if req == nil {
		return
	}
	limit, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := d.node.NodeGetVolumeHealth(limit, req, grpc.MaxCallRecvMsgSize(maxAnswer))
	if err != nil {
		return // the record of the call has the error
	}
	conditions := volumeConditions(resp.GetVolumeHealth())
	ctx = trace.ContextWith(ctx, trace.ForPod(trace.FromContext(ctx), u.Pod))
	h.publish(ctx, u, conditions)
	for _, name := range u.Names {
		h.cfg.Set(ctx, types.UID(u.Pod.UID), name, conditions)
	}
}

// healthRequest returns the question about a volume; nil if nothing was tried to mount it. Paths are those where the volume may be.
//
// Upstream: pkg/kubelet/volumemanager/cache/volume_health.go, volumeHealthPaths.
func (p *Plugin) healthRequest(u *volume.Use) *csipb.NodeGetVolumeHealthRequest {
	source, at := u.Spec.PV.Spec.CSI, u.Spec.Place
	note, staged, published := at.Dir, p.staging(source.Driver, source.VolumeHandle), filepath.Join(at.Dir, target)
	if u.Spec.Block {
		note, staged, published = p.blockData(at.Name), p.blockStaging(at.Name), filepath.Join(p.blockPublish(at.Name), string(at.PodUID))
	}
	// The note is written before the driver is called, also by an earlier agent.
	if _, err := os.Lstat(filepath.Join(note, dataFile)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &csipb.NodeGetVolumeHealthRequest{VolumeId: source.VolumeHandle, StagingTargetPath: present(staged), VolumePublishPath: present(published)}
}

// present returns the path, "" if nothing is there. It does not use what is mounted there.
func present(path string) string {
	if volume.See(path).Absent() {
		return ""
	}
	return path
}

// publish publishes the health of a volume if it has changed.
func (h *Health) publish(ctx context.Context, u *volume.Use, conditions []v1.VolumeHealthCondition) {
	id := idOf(*u)
	h.mu.Lock()
	same := status.SameHealth(h.ill[id], conditions)
	if delete(h.ill, id); len(conditions) > 0 {
		h.ill[id] = conditions
	}
	h.mu.Unlock()
	if same {
		return
	}
	texts := make([]string, len(conditions))
	for i, c := range conditions {
		texts[i] = condition(string(c.Status), c.Reason, c.Message)
	}
	h.decide(ctx, trace.Decision{Subject: "volume " + strings.Join(u.Names, ", "), Volume: u.Spec.Name}, texts)
}

// decide publishes a decision: unhealthy for these reasons, healthy for none.
func (h *Health) decide(ctx context.Context, d trace.Decision, texts []string) {
	d.By, d.Verdict, d.Reason = trace.ByVolumes, trace.VerdictHealthy, "its CSI driver reports no problem any more"
	if len(texts) > 0 {
		d.Verdict, d.Reason = trace.VerdictUnhealthy, trace.Clip(strings.Join(texts, "; "), maxHealthText)
	}
	trace.Point(h.cfg.Plugin.cfg.Bus, trace.FromContext(ctx), d)
}

// condition returns a condition for people, such as "Degraded (SlowDisk): 1 of 2 paths".
func condition(status, reason, message string) string {
	return strings.TrimSuffix(status+" ("+reason+"): "+message, ": ")
}
