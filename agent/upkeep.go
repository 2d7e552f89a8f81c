package agent

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/gc"
	"github.com/kubeloupe/kubeloupe/agent/pods"
)

func (p *parts) gcConfig() gc.Config {
	k := p.cfg.Kubelet
	var present func([]string, time.Time)
	if p.pulled != nil {
		present = p.pulled.Prune
	}
	return gc.Config{
		Present: present,
		Runtime: p.client.Runtime, Images: p.client.Image, Pods: p.pods.manager, Warn: p.warnNode, Bus: p.cfg.Bus,
		VolumeImages: p.imagesOfVolumes,
		PodLogDir:    k.Pods.LogsDir, ContainerLogDir: p.logLinks(),
		ContainerPolicy: gc.ContainerPolicy{
			MinAge: k.Containers.MinimumAge, MaxPerContainer: int(k.Containers.MaxPerContainer), MaxTotal: int(k.Containers.MaxTotal),
		},
		ImagePolicy: p.imagePolicy(), FSInfo: p.fsInfo(),
	}
}

// imagesOfVolumes returns the images of image volumes: those that pods have, and those that containers have mounted. After a start of the agent,
// only the runtime knows of the pods whose source has not delivered them, for example because the API server does not answer.
//
// Upstream: pkg/kubelet/images/image_gc_manager.go, handleImageVolumes.
func (p *parts) imagesOfVolumes() []string {
	out := p.volumes.Images()
	for _, pod := range p.pleg.Cache().All() {
		for i := range pod.Containers {
			out = slices.AppendSeq(out, maps.Values(pod.Containers[i].ImageMounts))
		}
	}
	return out
}

// simulatedDisk is the size of the simulated image file system, in bytes.
const simulatedDisk = 64 << 30

// fsInfo returns the function that measures file systems; a simulated runtime's images are on a simulated disk.
func (p *parts) fsInfo() func(path string) (gc.FS, error) {
	if !p.cfg.Simulated {
		return nil
	}
	return func(string) (gc.FS, error) {
		r, err := p.client.Image.ImageFsInfo(context.Background(), &runtimeapi.ImageFsInfoRequest{})
		if err != nil {
			return gc.FS{}, err
		}
		fs := gc.FS{Capacity: simulatedDisk, Available: simulatedDisk}
		for _, u := range r.GetImageFilesystems() {
			fs.Available -= int64(u.GetUsedBytes().GetValue())
		}
		return fs, nil
	}
}

func (p *parts) imagePolicy() gc.ImagePolicy {
	k := p.cfg.Kubelet.Images
	return gc.ImagePolicy{High: int(k.GCHighPercent), Low: int(k.GCLowPercent), MinAge: k.GCMinimumAge, MaxAge: k.GCMaximumAge}
}

// orphans returns the parts that clean up after unknown pods.
func (p *parts) orphans() []pods.Orphans {
	out := []pods.Orphans{cleaner(p.volumes.CleanOrphans), cleaner(p.forgetUnknown)}
	if p.userns != nil {
		out = append(out, p.userns)
	}
	if p.cgroups != nil {
		out = append(out, p.cgroups)
	}
	return out
}

// cleaner implements pods.Orphans.
type cleaner func(ctx context.Context, known func(types.UID) bool) ([]string, error)

// Clean implements pods.Orphans.
func (c cleaner) Clean(ctx context.Context, known func(types.UID) bool) ([]string, error) {
	return c(ctx, known)
}

// forgetUnknown removes values that were learned about pods that were already gone, for example from a call that hung.
func (p *parts) forgetUnknown(_ context.Context, known func(types.UID) bool) ([]string, error) {
	p.cfg.secrets.Keep(func(uid string) bool { return known(types.UID(uid)) })
	return nil, nil
}
