package volume

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

// Plugin does one kind of volume. The manager sees to it that one volume has one
// call at a time; different volumes are worked on at once.
type Plugin interface {
	// Name is as kubernetes.io/empty-dir; directories on the node are named for it.
	Name() string
	// CanSupport reports whether the volume is of this kind.
	CanSupport(v *v1.Volume) bool
	// Version names what SetUp would make of the volume now. A mounted volume is
	// set up again when it differs. An error says that the volume can never be made.
	Version(s Spec) (string, error)
	// SetUp makes the volume, or brings it up to date. It keeps what is in an existing
	// one and leaves alone what is as it should be.
	SetUp(ctx context.Context, s Spec) (criconfig.Volume, error)
	// TearDown removes the volume and what is in it. That nothing is there is no error.
	TearDown(ctx context.Context, p Place) error
}

// Spec is a volume to be set up. The pod is shared: nobody changes it.
type Spec struct {
	Pod    *v1.Pod
	Volume *v1.Volume
	Place
}

// Place is where on the node a volume is kept.
type Place struct {
	// Dir is the volume's own directory: ROOT/pods/UID/volumes/PLUGIN/NAME.
	Dir string
	// Meta is a directory for the plugin's notes on it: ROOT/pods/UID/plugins/PLUGIN/NAME.
	Meta string
}
