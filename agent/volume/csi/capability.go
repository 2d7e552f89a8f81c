package csi

import (
	"context"
	"fmt"
	"strconv"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	canStage  = csipb.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME
	canExpand = csipb.NodeServiceCapability_RPC_EXPAND_VOLUME
	canStats  = csipb.NodeServiceCapability_RPC_GET_VOLUME_STATS
	canGroup  = csipb.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP
	canMulti  = csipb.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER

	canVolumeHealth  = csipb.NodeServiceCapability_RPC_GET_VOLUME_HEALTH
	canStorageHealth = csipb.NodeServiceCapability_RPC_GET_STORAGE_HEALTH
)

// access returns the use of a volume as the driver's type.
//
// Upstream: pkg/volume/csi/csi_client.go, asCSIAccessModeV1, NodePublishVolume.
func (d *driver) access(ctx context.Context, v vol, block bool, group *int64) (*csipb.VolumeCapability, error) {
	multi, err := d.can(ctx, canMulti)
	if err != nil {
		return nil, err
	}
	out := &csipb.VolumeCapability{AccessMode: &csipb.VolumeCapability_AccessMode{Mode: accessMode(v.mode, multi)}}
	if block {
		out.AccessType = &csipb.VolumeCapability_Block{Block: &csipb.VolumeCapability_BlockVolume{}}
		return out, nil
	}
	mount := &csipb.VolumeCapability_MountVolume{FsType: v.fsType, MountFlags: v.options}
	if group != nil {
		mount.VolumeMountGroup = strconv.FormatInt(*group, 10)
	}
	out.AccessType = &csipb.VolumeCapability_Mount{Mount: mount}
	return out, nil
}

func accessMode(mode v1.PersistentVolumeAccessMode, multi bool) csipb.VolumeCapability_AccessMode_Mode {
	switch mode {
	case v1.ReadWriteOnce:
		if multi {
			return csipb.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER
		}
		return csipb.VolumeCapability_AccessMode_SINGLE_NODE_WRITER
	case v1.ReadWriteOncePod:
		if multi {
			return csipb.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER
		}
		return csipb.VolumeCapability_AccessMode_SINGLE_NODE_WRITER
	case v1.ReadOnlyMany:
		return csipb.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY
	case v1.ReadWriteMany:
		return csipb.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER
	}
	return csipb.VolumeCapability_AccessMode_UNKNOWN
}

// nameOf returns the name of a Secret as upstream's errors have it.
func nameOf(ref *v1.SecretReference) string { return ref.Namespace + "/" + ref.Name }

// secret returns the data of the Secret that a reference names; nil if there is no reference.
func (p *Plugin) secret(ctx context.Context, pod types.UID, what string, ref *v1.SecretReference) (map[string]string, error) {
	out := map[string]string{}
	if ref == nil {
		return out, nil
	}
	s, err := p.cfg.API.CoreV1().Secrets(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("kubernetes.io/csi: failed to find the secret %s in the namespace %s with error: %w", ref.Name, ref.Namespace, err)
	}
	var values []string
	for k, v := range s.Data {
		out[k] = string(v)
		values = append(values, string(v))
	}
	p.cfg.Secrets.Learn(string(pod), what+" "+nameOf(ref), values...)
	return out, nil
}
