package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

const (
	// hostNode is the node's name, and the host's in the namespaces.
	hostNode = "kubeloupe-e2e"
	// hostAddress is the node's, on a device of the namespaces: an address of TEST-NET-1. The default route leads to hostRoute, which nobody
	// has. The device is not called eth0: tests of /stats/summary want a MiB of traffic there.
	hostAddress = "192.0.2.1"
	hostRoute   = "192.0.2.2"
	// hostRuntimeCgroup is the container runtime's, in each hierarchy of the run.
	hostRuntimeCgroup = "/runtime"
)

// testsOnHost starts a container runtime and runs the tests, in the namespaces. It leaves all to them but the reports and logs.
func testsOnHost(ctx context.Context, o options, out io.Writer) (err error) {
	p, err := planOf()
	if err != nil {
		return err
	}
	l, err := lab.Up(ctx, lab.Config{
		Dir: inside + "/lab", Preload: []lab.Image{}, Layout: p.Layout, Handlers: []string{"test-handler"}, Log: out,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keepLog(l.ContainerdLog)) }()
	if err := errors.Join(ownCgroup(p, l.ContainerdPID()), usualPlaces(l)); err != nil {
		return err
	}
	images, err := imageNames(p.Layout)
	if err != nil {
		return err
	}
	if err := pullOnHost(ctx, l, images); err != nil {
		return err
	}
	s := suite{
		results: insideResults, node: hostNode, config: insideConfig, runtime: filepath.Join(l.ContainerdBin, "containerd"),
		runtimeCgroup: hostRuntimeCgroup, endpoint: l.RuntimeEndpoint, nodeIP: hostAddress,
	}
	return runSuite(ctx, s.command(o), o, out)
}

// usualPlaces has containerd at the path where cAdvisor of upstream's kubelet looks for it, whatever the kubelet's flags say, and its
// directory for CDI devices where plugins write.
func usualPlaces(l *lab.Lab) error {
	const dir = "/run/containerd"
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return errors.Join(
		os.Symlink(strings.TrimPrefix(l.RuntimeEndpoint, "unix://"), dir+"/containerd.sock"),
		os.Symlink(l.CDIDir, "/run/cdi"),
	)
}

// ownCgroup moves a process to the runtime's cgroup.
func ownCgroup(p plan, pid int) error {
	inner := plan{Cgroup: hostRuntimeCgroup}
	for _, t := range p.Trees {
		inner.Trees = append(inner.Trees, tree{Path: filepath.Join("/sys/fs/cgroup", filepath.Base(t.Path)), Options: t.Options})
	}
	if err := createCgroups(inner); err != nil {
		return err
	}
	for _, t := range inner.Trees {
		if err := os.WriteFile(filepath.Join(t.Path, inner.Cgroup, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644); err != nil {
			return fmt.Errorf("enter cgroup: %w", err)
		}
	}
	return nil
}

// pullOnHost has the runtime pull the images of the tests by the names that the tests have for them.
func pullOnHost(ctx context.Context, l *lab.Lab, images []string) error {
	ctr := filepath.Join(l.ContainerdBin, "ctr")
	for _, i := range images {
		said, err := exec.CommandContext(ctx, ctr, "--address", strings.TrimPrefix(l.RuntimeEndpoint, "unix://"), "-n", "k8s.io",
			"images", "pull", "--local", "--hosts-dir", filepath.Join(l.Dir, "certs.d"), "--snapshotter", l.Snapshotter, i).CombinedOutput()
		if err != nil {
			return fmt.Errorf("pull %s: %w: %s", i, err, said)
		}
	}
	return nil
}

// runSuite runs the tests. That some failed is no error: their report says so.
func runSuite(ctx context.Context, command []string, o options, out io.Writer) error {
	log, err := os.Create(insideResults + "/ginkgo.log")
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = insideWork, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 3 * time.Minute
	_, _ = fmt.Fprintf(out, "%s: the tests run, %d at once\n", o.agent, o.procs)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		progress(out, log.Name(), stop)
	}()
	err = cmd.Run()
	close(stop)
	<-stopped
	if _, failed := errors.AsType[*exec.ExitError](err); failed && ctx.Err() == nil {
		return nil
	}
	return errors.Join(ctx.Err(), err)
}

// progress says each minute how many tests ended.
func progress(out io.Writer, log string, stop <-chan struct{}) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for begin := time.Now(); ; {
		select {
		case <-stop:
			return
		case <-tick.C:
			said, _ := os.ReadFile(log)
			_, _ = fmt.Fprintf(out, "  %s: %d tests ended, %d of them failed\n", time.Since(begin).Round(time.Second),
				bytes.Count(said, []byte("•")), bytes.Count(said, []byte("• [FAILED]")))
		}
	}
}

// keepLog copies the container runtime's log to the results.
func keepLog(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(insideResults+"/containerd.log", text, 0o644)
}
