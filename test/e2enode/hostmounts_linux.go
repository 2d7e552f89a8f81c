package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// furnishNamespaces makes the namespaces of this thread a node of its own: file systems of the run at /var, /tmp and /run, processes,
// devices and cgroups of the namespaces, and a network device with a default route that leads nowhere.
func furnishNamespaces(p plan) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := joinCgroups(p); err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("make a cgroup namespace: %w", err)
	}
	if err := unix.Sethostname([]byte(hostNode)); err != nil {
		return fmt.Errorf("set the host's name: %w", err)
	}
	for _, step := range []func(plan) error{mountDirs, mountKernel, mountCgroups, hide, network} {
		if err := step(p); err != nil {
			return err
		}
	}
	// Volumes that a kubelet mounts reach the containers.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("make mounts shared: %w", err)
	}
	return nil
}

// mountDirs mounts the directories of the plan. They are opened first: some may be at places that others take.
func mountDirs(p plan) error {
	type bind struct{ from, to string }
	var binds []bind
	for _, b := range []bind{{p.Dir, inside}, {p.Results, insideResults}, {p.Cache, p.Cache}} {
		fd, err := unix.Open(b.from, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open %s: %w", b.from, err)
		}
		defer func() { _ = unix.Close(fd) }()
		binds = append(binds, bind{fmt.Sprintf("/proc/self/fd/%d", fd), b.to})
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("mount /run: %w", err)
	}
	if err := os.Mkdir("/run/lock", 0o755); err != nil {
		return err
	}
	ours := []bind{{inside + "/var", "/var"}, {inside + "/tmp", "/tmp"}}
	for _, b := range slices.Concat(binds[:2], ours, binds[2:]) {
		if err := os.MkdirAll(b.to, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(b.from, b.to, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %s: %w", b.to, err)
		}
	}
	return nil
}

func mountKernel(plan) error {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	for to, kind := range map[string]string{"/proc": "proc", "/sys": "sysfs"} {
		if err := unix.Mount(kind, to, kind, flags, ""); err != nil {
			return fmt.Errorf("mount %s: %w", to, err)
		}
	}
	return nil
}

// mountCgroups mounts the hierarchies again, so that the run's cgroup is their root.
func mountCgroups(p plan) error {
	const root, flags = "/sys/fs/cgroup", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("tmpfs", root, "tmpfs", flags, "mode=755"); err != nil {
		return fmt.Errorf("mount %s: %w", root, err)
	}
	for _, t := range p.Trees {
		dir := filepath.Join(root, filepath.Base(t.Path))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("cgroup", dir, "cgroup", flags, t.Options); err != nil {
			return fmt.Errorf("mount cgroup %s: %w", t.Options, err)
		}
	}
	return nil
}

// hide has the tests not find programs, by files that cannot be executed.
func hide(p plan) error {
	for _, program := range p.Hidden {
		err := unix.Mount("/dev/null", program, "", unix.MS_BIND, "")
		if err != nil && !errors.Is(err, unix.ENOENT) { // others are at a place that is the run's now
			return fmt.Errorf("hide %s: %w", program, err)
		}
	}
	return nil
}

func network(plan) error {
	for _, args := range []string{
		"link set lo up",
		"link add host0 type veth peer name away",
		"link set away up",
		"link set host0 up",
		"address add " + hostAddress + "/24 dev host0",
		"route add default via " + hostRoute,
	} {
		if said, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", args, err, said)
		}
	}
	return nil
}
