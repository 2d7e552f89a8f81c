package lab

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// ErrNoLab says that a directory holds no lab.
var ErrNoLab = errors.New("no lab")

// Config says what lab to start.
type Config struct {
	// Dir holds the lab. It is created; one that holds anything but a lab is
	// refused. Down removes it. At most 84 bytes long.
	Dir string
	// Preload lists images to pull into containerd; nil means pause, busybox
	// and http. ImagePause is always pulled.
	Preload []Image
	// Layout is an OCI layout whose images the lab's registry serves too, and containerd finds by their own names, such as
	// registry.k8s.io/pause:3.10.2, without any other registry; "" is none. A lab that runs keeps what it began with.
	Layout string
	// Handlers are names of runtime handlers that containerd has beside runc, and that do the same. A lab that runs keeps its own.
	Handlers []string
	// Patience is how many times as long as usual the lab's servers may take to answer, where the machine is emulated; 0 is once.
	Patience int
	// Log receives a line for each step that takes time; nil discards them.
	Log io.Writer
}

// Lab is a running laboratory. Its fields are for reading.
type Lab struct {
	// Dir is the absolute path of the lab's directory.
	Dir string
	// ID names the lab on this machine; it is derived from Dir.
	ID string
	// RuntimeEndpoint is containerd's CRI endpoint, as "unix:///path".
	RuntimeEndpoint string
	// RuntimeVersion is the pinned version of containerd.
	RuntimeVersion string
	// Registry is the address of the registry, as "127.0.0.1:port".
	Registry string
	// CgroupRoot is the lab's cgroup in every hierarchy, as "/kubeloupe-id".
	CgroupRoot string
	// Subnet is the pods' network, and Bridge the host's end of it.
	Subnet, Bridge string
	// OTLPPort is the TCP port on 127.0.0.1 where containerd sends its spans;
	// OTLPEndpoint is the same as a URL. Nobody listens there until a test or an agent
	// (--otlp-http) does: until then, containerd's log has a line for each second with work.
	OTLPPort     int
	OTLPEndpoint string
	// CNIBinDir and CNIConfDir are what containerd uses. Both are this lab's alone: an agent watches who executes the plugins, and would see
	// other labs' runs.
	CNIBinDir, CNIConfDir string
	// CNIOwnDir is where containerd looks for CNI plugins besides: it is this lab's alone, and is not
	// there until somebody makes it.
	CNIOwnDir string
	// CDIDir is where containerd looks for specifications of CDI devices; empty at first.
	CDIDir string
	// ContainerdBin is the directory of containerd and ctr.
	ContainerdBin string
	// ContainerdLog and RegistryLog are files.
	ContainerdLog, RegistryLog string
	// Snapshotter is "overlayfs", or "native" where that does not work.
	Snapshotter string
	// Existing says that Up found the lab running.
	Existing bool

	state    *state
	patience int
}

// Image returns the full reference of an image in the lab's registry.
func (l *Lab) Image(i Image) string { return l.state.image(i) }

// ContainerdPID returns the process number of containerd.
func (l *Lab) ContainerdPID() int { return l.state.Containerd.PID }

// Open finds the lab in dir, running or not. The error is ErrNoLab if there is none.
func Open(dir string) (*Lab, error) {
	dir, err := resolve(dir)
	if err != nil {
		return nil, err
	}
	s, err := loadState(dir)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fmt.Errorf("%w in %s", ErrNoLab, dir)
	}
	return newLab(dir, s), nil
}

func newLab(dir string, s *state) *Lab {
	return &Lab{
		Dir:             dir,
		ID:              s.ID,
		RuntimeEndpoint: "unix://" + filepath.Join(dir, containerdSocket),
		RuntimeVersion:  ContainerdVersion,
		Registry:        s.registry(),
		CgroupRoot:      cgroupName(s.ID),
		Subnet:          s.Subnet,
		Bridge:          bridgeName(s.ID),
		OTLPPort:        s.OTLPPort,
		OTLPEndpoint:    s.otlp(),
		CNIBinDir:       filepath.Join(dir, plugins),
		CNIConfDir:      filepath.Join(dir, "cni"),
		CNIOwnDir:       filepath.Join(dir, ownPlugins),
		CDIDir:          filepath.Join(dir, cdiDir),
		ContainerdBin:   s.Tools.Containerd,
		ContainerdLog:   filepath.Join(dir, "containerd.log"),
		RegistryLog:     filepath.Join(dir, "registry.log"),
		Snapshotter:     s.Snapshotter,
		state:           s,
	}
}

// otlpProtocol is how containerd sends its spans.
const otlpProtocol = "http/protobuf"

func cgroupName(id string) string { return "/kubeloupe-" + id }

func (s *state) registry() string { return fmt.Sprintf("127.0.0.1:%d", s.RegistryPort) }

func (s *state) otlp() string { return fmt.Sprintf("http://127.0.0.1:%d", s.OTLPPort) }

func (s *state) image(i Image) string { return s.registry() + "/" + i.Repository() }
