package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// state is what a lab remembers, in lab.json.
type state struct {
	// ID is derived from the directory, and names bridge, network and cgroup.
	ID string
	// Slot numbers the labs of a machine; subnet and ports follow from it.
	Slot int
	// RegistryPort and OTLPPort are TCP ports on 127.0.0.1.
	RegistryPort, OTLPPort int
	Subnet, Gateway        string
	// SocketDir holds the shims' sockets; outside the lab if its path is long.
	SocketDir   string
	Snapshotter string
	// PortmapChains says that portmap's shared chains were there before any lab.
	PortmapChains bool
	Tools         Toolchain
	ImageLayout   string
	// Layout and Handlers are those of [Config].
	Layout               string   `json:",omitempty"`
	Handlers             []string `json:",omitempty"`
	Containerd, Registry process
	// CRIO is the CRI-O that was started last, if any.
	CRIO process
	// Cluster is nil in a lab without one.
	Cluster *clusterState `json:",omitempty"`
}

const stateFile = "lab.json"

func idOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:4])
}

// loadState returns nil without an error where there is no lab.
func loadState(dir string) (*state, error) {
	path := filepath.Join(dir, stateFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := new(state)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if want := idOf(dir); s.ID != want {
		return nil, fmt.Errorf("%s: lab %s was made in another directory: move it back", path, s.ID)
	}
	return s, nil
}

func (s *state) save(dir string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, stateFile), append(data, '\n'))
}

// writeFile replaces path in one step.
func writeFile(path string, data []byte) error {
	if err := os.WriteFile(path+".tmp", data, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// resolve makes dir absolute, following links where it exists.
func resolve(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	followed, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return abs, nil
	}
	return followed, err
}

// lockFile takes an exclusive lock on path, which it creates as a file unless
// it is there. The lock ends with the returned function, or with the process.
func lockFile(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return flock(f)
}

// lockDir locks a directory itself, so that no lock file outlives it. It
// returns fs.ErrNotExist if the directory went away meanwhile.
func lockDir(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	unlock, err = flock(f)
	if err != nil {
		return nil, err
	}
	held, err := f.Stat()
	if err == nil {
		var now os.FileInfo
		if now, err = os.Stat(dir); err == nil && !os.SameFile(held, now) {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

func flock(f *os.File) (func(), error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
}
