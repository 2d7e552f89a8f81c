package quota

import (
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Usage is what the files of a project use: bytes on the disk, and inodes. The directory itself counts.
type Usage struct{ Bytes, Inodes uint64 }

// kernel is what the kernel does for a directory.
type kernel interface {
	// open opens a directory. It follows no link at the end of the path.
	open(dir string) (directory, error)
}

// directory is an open directory.
type directory interface {
	// accounts reports whether the file system counts what projects use. An error says why that is not known.
	accounts() (bool, error)
	// project returns the directory's project, 0 for none. inherited is true if new files in it get the same.
	project() (id uint32, inherited bool, err error)
	// setProject sets both, the second to true.
	setProject(id uint32) error
	// quota returns what a project uses on this file system, and whether it has a limit.
	quota(id uint32) (used Usage, limited bool, err error)
	// empty reports whether the directory has no content.
	empty() (bool, error)
	close()
}

// Config is what Projects needs.
type Config struct {
	// Listed are files that name the projects of people; nil means /etc/projects and /etc/projid. Their ids are not used.
	Listed []string
	// Bus may be nil.
	Bus *trace.Bus
}

// Projects gives directories projects and reads their usage. Safe for concurrent use.
type Projects struct {
	cfg    Config
	kernel kernel

	mu   sync.Mutex // held while an id is chosen and set: then the file system knows that it is in use
	last uint32     // the id that was chosen last; 0 for none
}

// New returns Projects.
func New(c Config) *Projects {
	if c.Listed == nil {
		c.Listed = []string{"/etc/projects", "/etc/projid"}
	}
	return &Projects{cfg: c, kernel: host{}}
}

// Counts reports whether a project may count a volume: it is an emptyDir on disk, of a pod with users of its own.
//
// Upstream: pkg/volume/emptydir/empty_dir.go, assignQuota.
func Counts(pod *v1.Pod, v *v1.Volume) bool {
	return pod.Spec.HostUsers != nil && !*pod.Spec.HostUsers && v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumDefault
}
