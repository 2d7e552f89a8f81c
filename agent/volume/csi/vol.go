package csi

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

// The lifecycle modes in data files.
const (
	persistentMode = "Persistent"
	ephemeralMode  = "Ephemeral"
)

// vol is a driver's volume: a persistent volume, or inline in a pod.
type vol struct {
	driver, handle string
	// name is the persistent volume's name, or the volume's name in the pod.
	name       string
	ephemeral  bool
	fsType     string
	readOnly   bool
	attributes map[string]string
	mode       v1.PersistentVolumeAccessMode
	modes      []v1.PersistentVolumeAccessMode
	options    []string

	stageSecret, publishSecret, expandSecret *v1.SecretReference
}

// volOf returns the volume of a spec.
//
// Upstream: pkg/volume/csi/csi_plugin.go, NewMounter; csi_mounter.go, SetUpAt.
func volOf(s volume.Spec) (vol, error) {
	if s.PV == nil {
		return inline(s)
	}
	src := s.PV.Spec.CSI
	v := vol{
		driver: src.Driver, handle: src.VolumeHandle, name: s.PV.Name, fsType: src.FSType, readOnly: s.ReadOnly,
		attributes: src.VolumeAttributes, mode: v1.ReadWriteOnce, modes: s.PV.Spec.AccessModes, options: s.PV.Spec.MountOptions,
		stageSecret: src.NodeStageSecretRef, publishSecret: src.NodePublishSecretRef, expandSecret: src.NodeExpandSecretRef,
	}
	if len(v.modes) > 0 {
		v.mode = v.modes[0]
	}
	if v.driver == "" || v.handle == "" {
		return vol{}, fmt.Errorf("persistent volume %s: spec.csi needs driver and volumeHandle", v.name)
	}
	return v, nil
}

func inline(s volume.Spec) (vol, error) {
	src := s.Volume.CSI
	v := vol{
		driver: src.Driver, handle: inlineHandle(s.Pod.UID, s.Volume.Name), name: s.Volume.Name, ephemeral: true,
		attributes: src.VolumeAttributes, mode: v1.ReadWriteOnce,
	}
	if src.FSType != nil {
		v.fsType = *src.FSType
	}
	if src.ReadOnly != nil {
		v.readOnly = *src.ReadOnly
	}
	if ref := src.NodePublishSecretRef; ref != nil {
		v.publishSecret = &v1.SecretReference{Name: ref.Name, Namespace: s.Pod.Namespace}
	}
	if v.driver == "" {
		return vol{}, fmt.Errorf("volume %s: csi.driver is empty", v.name)
	}
	return v, nil
}

// Upstream: pkg/volume/csi/csi_mounter.go, makeVolumeHandle.
func inlineHandle(uid types.UID, name string) string {
	return fmt.Sprintf("csi-%x", sha256.Sum256([]byte(string(uid)+name)))
}

// attachment returns the name of the volume's VolumeAttachment.
//
// Upstream: pkg/volume/csi/csi_attacher.go, getAttachmentName.
func (v vol) attachment(node string) string {
	return fmt.Sprintf("csi-%x", sha256.Sum256([]byte(v.handle+v.driver+node)))
}

func (v vol) id() string { return v.driver + "^" + v.handle }

func (v vol) unique() v1.UniqueVolumeName { return v1.UniqueVolumeName(Name + "/" + v.id()) }

func (v vol) lifecycle() string {
	if v.ephemeral {
		return ephemeralMode
	}
	return persistentMode
}

func (p *Plugin) dir() string { return filepath.Join(p.cfg.RootDir, "plugins", Name) }

// staging returns the path where a volume with files is staged.
//
// Upstream: pkg/volume/csi/csi_attacher.go, makeDeviceMountPath.
func (p *Plugin) staging(driver, handle string) string {
	return filepath.Join(p.dir(), driver, fmt.Sprintf("%x", sha256.Sum256([]byte(handle))), globalMount)
}

const (
	globalMount = "globalmount"
	target      = "mount"
)
