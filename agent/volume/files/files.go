// Package files is the common part of the volumes that the agent fills with files: configMap, secret, downwardAPI and projected.
//
// It owns their directory (in memory, or on disk), the mount points within it, the atomic replacement of all files, owners and the
// fsGroup, and the list of files of a ConfigMap or a Secret. It fetches nothing, runs no goroutine and publishes only a warning about files
// whose group cannot be set.
//
// Upstream: pkg/volume/configmap, pkg/volume/secret.
package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/atomicdir"
	"github.com/kubeloupe/kubeloupe/agent/volume/fsgroup"
	"github.com/kubeloupe/kubeloupe/agent/volume/memdir"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Set is the desired content of a volume, by path.
type Set map[string]atomicdir.File

// Holds is a name that exists in each volume after it was set up, for volume.Holder.
const Holds = atomicdir.Current

// Store creates and removes volumes.
type Store struct {
	Memory *memdir.Maker
	// Disk stores them on disk. Otherwise they are only in memory, unless the agent cannot mount.
	Disk bool
	// Bus may be nil.
	Bus *trace.Bus
}

// SetUp sets the volume's content to exactly these files. A reader sees either all of the old or all of the new ones.
func (st Store) SetUp(ctx context.Context, s volume.Spec, set Set) (criconfig.Volume, error) {
	if err := st.makeDir(s.Dir); err != nil {
		return criconfig.Volume{}, err
	}
	if err := makeNested(s); err != nil {
		return criconfig.Volume{}, err
	}
	group := fsgroup.Of(s.Pod)
	w := atomicdir.Writer{Dir: s.Dir, Own: func(root *os.Root, sub string) error {
		above, err := fsgroup.One(root, ".", group, true)
		if err != nil {
			return err
		}
		below, err := fsgroup.Apply(root, sub, group, true)
		above.And(below).Warn(ctx, st.Bus, "volume "+s.Name)
		return err
	}}
	if err := w.Write(set); err != nil {
		return criconfig.Volume{}, err
	}
	return criconfig.Volume{HostPath: s.Dir, ReadOnly: true, SELinuxRelabel: true}, nil
}

func (st Store) makeDir(dir string) error {
	if st.Disk {
		return memdir.Make(dir)
	}
	err := st.Memory.Tmpfs(dir, 0)
	if _, ok := errors.AsType[*memdir.UnsupportedError](err); ok {
		return memdir.Make(dir)
	}
	return err
}

// TearDown removes the volume.
func (st Store) TearDown(ctx context.Context, at volume.Place) error {
	return st.Memory.Remove(ctx, at.Dir)
}

// Mode returns a file's mode as in the API: the first that is set, or 0644.
func Mode(modes ...*int32) fs.FileMode {
	for _, m := range modes {
		if m != nil {
			return fs.FileMode(*m) & fs.ModePerm
		}
	}
	return 0o644
}

// Digest returns a digest of all files' paths, modes and data.
func (set Set) Digest() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(set)) {
		f := set[name]
		h.Write(fmt.Appendf(nil, "%q %o %d\n", name, f.Mode, len(f.Data)))
		h.Write(f.Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}
