package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// machineLock guards the choice of a slot among the labs of a machine.
const machineLock = "/run/kubeloupe-lab.lock"

// Up starts the lab of c.Dir, or repairs it, or finds it running. What is
// missing in the cache is built first, which takes minutes once. If Up fails,
// a lab that it began is taken down again; the error then ends with what
// containerd said last.
func Up(ctx context.Context, c Config) (*Lab, error) { return up(ctx, c, nil) }

// up is Up; with cluster, the lab also serves the images of a cluster.
func up(ctx context.Context, c Config, cluster *clusterState) (*Lab, error) {
	dir, err := checkHost(c.Dir)
	if err != nil {
		return nil, err
	}
	b, err := newBuilder(c.Log)
	if err != nil {
		return nil, err
	}
	tools, layout, err := b.prepare(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("lab directory: %w", err)
	}
	if dir, err = resolve(dir); err != nil {
		return nil, err
	}
	unlock, err := lockDir(dir)
	if err != nil {
		return nil, fmt.Errorf("lab directory: %w", err)
	}
	defer unlock()

	s, err := loadState(dir)
	if err != nil {
		return nil, err
	}
	fresh := s == nil
	if fresh {
		if s, err = claim(ctx, dir, tools, layout); err != nil {
			return nil, err
		}
		s.Layout, s.Handlers = c.Layout, c.Handlers
	}
	if err := s.addCluster(ctx, cluster); err != nil {
		return nil, err
	}
	l := newLab(dir, s)
	l.patience = c.Patience
	if !fresh && s.Containerd.alive() && s.Registry.alive() && l.Ready(ctx) == nil {
		l.Existing = true
		return l, errors.Join(l.Pull(ctx, c.preload()...), l.writeEnv())
	}
	if !fresh {
		b.logf("repairing the lab in %s", dir)
		s.Tools, s.ImageLayout = tools, layout
		l = newLab(dir, s)
		l.patience = c.Patience
	}
	if err := l.start(ctx, b.log, c.preload()); err != nil {
		if said, readErr := os.ReadFile(l.ContainerdLog); readErr == nil {
			err = fmt.Errorf("%w\ncontainerd said:\n%s", err, tail(said, 10))
		}
		if fresh {
			err = errors.Join(err, l.tearDown(context.WithoutCancel(ctx)))
		}
		return nil, err
	}
	return l, nil
}

// addCluster records what a cluster needs of the lab. A registry that serves
// other images is stopped, to be started again.
func (s *state) addCluster(ctx context.Context, want *clusterState) error {
	if want == nil {
		return nil
	}
	if s.Cluster == nil {
		s.Cluster = new(clusterState)
	}
	have := s.Cluster
	stale := have.Layout != want.Layout
	have.Kubernetes, have.CoreDNS, have.Layout = want.Kubernetes, want.CoreDNS, want.Layout
	if stale {
		return s.Registry.stop(ctx, time.Second)
	}
	return nil
}

func (c Config) preload() []Image {
	if c.Preload == nil {
		return []Image{ImagePause, ImageBusybox, ImageHTTP}
	}
	return append([]Image{ImagePause}, c.Preload...)
}

// checkHost reports what makes a lab impossible before anything is built.
func checkHost(dir string) (string, error) {
	if runtime.GOOS != "linux" {
		return "", errors.New("the lab runs on Linux only")
	}
	if os.Geteuid() != 0 {
		return "", errors.New("the lab starts containers: run it as root")
	}
	if dir == "" {
		return "", errors.New("no directory for the lab: set LAB_DIR")
	}
	dir, err := resolve(dir)
	if err != nil {
		return "", err
	}
	if len(dir) > maxPath {
		return "", fmt.Errorf("lab directory %s: %d bytes long, but sockets allow %d", dir, len(dir), maxPath)
	}
	return dir, nil
}

// prepare makes sure of programs and images.
func (b builder) prepare(ctx context.Context) (tools Toolchain, layout string, err error) {
	if tools, err = Tools(ctx, b.log); err != nil {
		return Toolchain{}, "", err
	}
	if layout, err = b.images(ctx); err != nil {
		return Toolchain{}, "", err
	}
	if _, err := exec.LookPath("iptables"); err != nil {
		// portmap calls it; no Go module has it.
		if err := b.debian(ctx, "iptables"); err != nil {
			return Toolchain{}, "", err
		}
	}
	return tools, layout, nil
}

// claim takes a slot for a new lab. The bridge, created under the machine's
// lock, is what marks the subnet as taken.
func claim(ctx context.Context, dir string, tools Toolchain, layout string) (*state, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("lab directory %s: holds %s, but no lab: name an empty or new directory", dir, entries[0].Name())
	}
	unlock, err := lockFile(machineLock)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := cleanAbandoned(ctx); err != nil {
		return nil, err
	}
	taken, err := takenNetworks()
	if err != nil {
		return nil, err
	}
	slot, err := pickSlot(taken, portFree)
	if err != nil {
		return nil, err
	}
	subnet := slotSubnet(slot)
	s := &state{
		ID:            idOf(dir),
		Slot:          slot,
		RegistryPort:  firstRegistryPort + slot,
		OTLPPort:      firstOTLPPort + slot,
		Subnet:        subnet.String(),
		Gateway:       subnet.Addr().Next().String(),
		PortmapChains: hasPortmapChains(ctx),
		Tools:         tools,
		ImageLayout:   layout,
	}
	s.SocketDir = socketDir(dir, s.ID)
	if s.Snapshotter, err = pickSnapshotter(dir); err != nil {
		return nil, err
	}
	if err := s.save(dir); err != nil {
		return nil, err
	}
	if err := s.createBridge(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func (s *state) createBridge() error {
	subnet, err := netip.ParsePrefix(s.Subnet)
	if err != nil {
		return err
	}
	gateway, err := netip.ParseAddr(s.Gateway)
	if err != nil {
		return err
	}
	return createBridge(bridgeName(s.ID), netip.PrefixFrom(gateway, subnet.Bits()))
}

// start starts what does not run. Each step is harmless where it was done.
func (l *Lab) start(ctx context.Context, log io.Writer, preload []Image) error {
	s := l.state
	if err := raiseInotify(); err != nil {
		_, _ = fmt.Fprintf(log, "note: cannot raise fs.inotify.max_user_instances: %v\n", err)
	}
	trees, err := hierarchies()
	if err != nil {
		return err
	}
	if err := createCgroup(trees, l.CgroupRoot); err != nil {
		return err
	}
	if err := s.createBridge(); err != nil {
		return err
	}
	// Those of an Up that was interrupted may be a part.
	if err := errors.Join(os.RemoveAll(l.CNIBinDir), os.CopyFS(l.CNIBinDir, os.DirFS(s.Tools.CNI))); err != nil {
		return fmt.Errorf("copy CNI plugins: %w", err)
	}
	if err := writeConfig(l.Dir, s); err != nil {
		return err
	}
	var group errgroup.Group
	group.Go(func() error { return l.startRegistry(ctx) })
	group.Go(func() error { return l.startContainerd(ctx) })
	err = group.Wait()
	// Recorded even then, so that Down finds what did start.
	if err := errors.Join(err, s.save(l.Dir)); err != nil {
		return err
	}
	if err := l.Pull(ctx, preload...); err != nil {
		return err
	}
	return l.writeEnv()
}

func (l *Lab) startRegistry(ctx context.Context) error {
	s := l.state
	if s.Registry.alive() && registryReady(ctx, l.Registry) {
		return nil
	}
	err := s.Registry.stop(ctx, time.Second)
	if err != nil {
		return err
	}
	s.Registry, err = spawn(l.Dir, l.RegistryLog, os.Environ(), filepath.Join(s.Tools.Registry, "registry"),
		"--addr", l.Registry, "--layout", s.layouts(), "--data", filepath.Join(l.Dir, "registry"))
	if err != nil {
		return fmt.Errorf("start registry: %w", err)
	}
	ok := poll(ctx, l.atMost(10*time.Second), 5*time.Millisecond, func() bool {
		return registryReady(ctx, l.Registry) || !s.Registry.alive()
	})
	if !ok || !s.Registry.alive() {
		said, _ := os.ReadFile(l.RegistryLog)
		return fmt.Errorf("the registry does not answer on %s; it said:\n%s", l.Registry, tail(said, 5))
	}
	return nil
}

// layouts lists the OCI layouts that the registry serves.
func (s *state) layouts() string {
	all := []string{s.ImageLayout}
	if s.Cluster != nil {
		all = append(all, s.Cluster.Layout)
	}
	if s.Layout != "" {
		all = append(all, s.Layout)
	}
	return strings.Join(all, ",")
}

// atMost is how long something may take that takes no longer than usual.
func (l *Lab) atMost(usual time.Duration) time.Duration {
	return usual * time.Duration(max(1, l.patience))
}

// RestartContainerd ends containerd by a signal and starts it again, with a change in between. Containers continue to run.
func (l *Lab) RestartContainerd(ctx context.Context, sig os.Signal, between func()) error {
	s := l.state
	p, err := os.FindProcess(s.Containerd.PID)
	if err == nil {
		err = p.Signal(sig)
	}
	if err != nil {
		return fmt.Errorf("end containerd: %w", err)
	}
	if !poll(ctx, l.atMost(10*time.Second), 5*time.Millisecond, func() bool { return !s.Containerd.alive() }) {
		return errors.New("containerd does not end")
	}
	between()
	return errors.Join(l.startContainerd(ctx), s.save(l.Dir))
}

func (l *Lab) startContainerd(ctx context.Context) error {
	s := l.state
	err := s.Containerd.stop(ctx, 5*time.Second)
	if err != nil {
		return err
	}
	s.Containerd, err = spawn(l.Dir, l.ContainerdLog, containerdEnv(s), filepath.Join(s.Tools.Containerd, "containerd"),
		"--config", filepath.Join(l.Dir, "containerd.toml"))
	if err != nil {
		return fmt.Errorf("start containerd: %w", err)
	}
	var last error
	ok := poll(ctx, l.atMost(30*time.Second), 20*time.Millisecond, func() bool {
		if !exists(filepath.Join(l.Dir, containerdSocket)) {
			last = errors.New("no socket")
			return !s.Containerd.alive()
		}
		ctx, cancel := context.WithTimeout(ctx, l.atMost(2*time.Second))
		defer cancel()
		last = l.Ready(ctx)
		return last == nil || !s.Containerd.alive()
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !s.Containerd.alive():
		return errors.New("containerd ended")
	case !ok:
		return fmt.Errorf("containerd does not get ready: %w", last)
	}
	return nil
}
