package volume

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

// Plugin handles one kind of volume. The manager makes one call at a time for one volume, and calls for different volumes at the
// same time.
type Plugin interface {
	// Name is, for example, kubernetes.io/empty-dir; directories on the node have this name.
	Name() string
	// CanSupport reports whether the volume is of this kind.
	CanSupport(v *v1.Volume) bool
	// Version identifies the content that SetUp would create now. A mounted volume is set up again when it differs. An
	// error says that the volume can never be created; the message is the Event's.
	Version(s Spec) (string, error)
	// SetUp creates or updates the volume. It keeps the data of an existing one and does not change correct files.
	SetUp(ctx context.Context, s Spec) (criconfig.Volume, error)
	// TearDown removes the volume and its content. It returns no error if there is none.
	TearDown(ctx context.Context, p Place) error
}

// PersistentPlugin is a Plugin for persistent volumes of a type that pods cannot use directly. The others (hostPath,
// nfs) get their volume in Spec.Volume as if the pod had it.
type PersistentPlugin interface {
	CanSupportPV(pv *v1.PersistentVolume) bool
}

// Family is a Plugin whose volumes are of several drivers. On the node, and in records, a driver's name is in place of [Plugin.Name].
type Family interface {
	// DriverOf returns the name of the volume's driver. The volume is one that the plugin supports.
	DriverOf(s Spec) string
	// Owns reports whether a volume that was found on the node, below this name, is of one of the drivers.
	Owns(driver string) bool
}

// BlockPlugin is a Plugin that can also give a volume to pods as a block device.
type BlockPlugin interface {
	// SetUpBlock is SetUp; the result's HostPath is Place.Dir, a link to the device.
	SetUpBlock(ctx context.Context, s Spec) (criconfig.Volume, error)
	TearDownBlock(ctx context.Context, p Place) error
	// MapDir is the directory that has the volume's device for all pods.
	MapDir(s Spec) string
}

// Refresher is a Plugin with volumes that must be set up again after some time.
type Refresher interface {
	// RefreshAt is called after each successful SetUp, and by [Manager.Reschedule]; zero means never. It must not block.
	RefreshAt(s Spec) time.Time
}

// Attachable is a Plugin with volumes that a controller attaches to the node.
type Attachable interface {
	// AttachName identifies an attachable volume across nodes, "" if it is not attached.
	AttachName(ctx context.Context, s Spec) (v1.UniqueVolumeName, error)
	// FoundName is AttachName for a volume that an earlier agent left.
	FoundName(p Place) v1.UniqueVolumeName
}

// Labeler is a Plugin with volumes that can be mounted with an SELinux label, Spec.SELinuxLabel, as a mount option. It is used on nodes with
// SELinux only.
type Labeler interface {
	// MountsWithLabel reports whether the volume's driver can.
	MountsWithLabel(ctx context.Context, s Spec) (bool, error)
	// SharedName identifies a persistent volume across pods.
	SharedName(s Spec) string
	// FoundLabel returns the SharedName of a volume that was found on the node, and the label with which it is mounted. Both are "" if pods
	// cannot share the volume, or it is not known.
	FoundLabel(p Place) (shared, label string)
}

// Holder is a Plugin whose volumes contain a known name while they are intact.
type Holder interface{ Holds() string }

// Expander is a Plugin that can expand the file system of a mounted volume.
type Expander interface {
	// Expand expands the volume to at least size. If done is false without an error, the driver has nothing to do on
	// the node. An error may be a [NotExpandableError].
	Expand(ctx context.Context, s Spec, size resource.Quantity) (done bool, err error)
}

// LimitPlugin is a Plugin whose volumes can have another size limit while containers use them.
type LimitPlugin interface {
	// Resize sets the size limit of the pod's spec. It is an error if the volume is not mounted, or has more content than that.
	Resize(s Spec) error
}

// Fixed is a Plugin whose persistent volumes cannot have mount options.
//
// Upstream: pkg/volume/plugins.go, SupportsMountOption.
type Fixed interface{ NoMountOptions() }

// Cleaner is a Plugin with state on the node that belongs to no pod, such as staged volumes.
type Cleaner interface {
	// Clean removes everything to which no pod's volume refers. It is called once, when all pods are known.
	Clean(ctx context.Context) error
}

// Spec is a volume to set up. What it points to is shared: do not change it.
type Spec struct {
	Pod *v1.Pod
	// Volume is the volume in the pod. For a persistent volume it has the PV's name, and the PV's source if a pod can have the same
	// source.
	Volume *v1.Volume
	// PV and PVC are set for a persistent volume.
	PV  *v1.PersistentVolume
	PVC *v1.PersistentVolumeClaim
	// ReadOnly is the pod's readOnly for its claim.
	ReadOnly bool
	// Block is set for a volumeMode of Block: the pod gets a device.
	Block bool
	// Adopt is set for a volume that was found on disk, Refresh for a mounted volume that is updated. In both cases a running container may
	// use it.
	Adopt, Refresh bool
	// SELinuxLabel is the label to mount the volume with; "" for none. Only a [Labeler] gets one.
	SELinuxLabel string
	Place
}

// Place is where a volume is on the node.
type Place struct {
	// Dir is the volume's own directory: ROOT/pods/UID/volumes/PLUGIN/NAME. For a block volume it is a link:
	// ROOT/pods/UID/volumeDevices/PLUGIN/NAME.
	Dir string
	// Meta is a directory for the plugin's data about it: ROOT/pods/UID/plugins/PLUGIN/NAME.
	Meta string
	// Plugin is the plugin's name, or that of the driver of a [Family].
	Plugin string
	// PodUID is the pod's UID, Name the volume's name.
	PodUID types.UID
	Name   string
}
