package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// CRIO is CRI-O beside the lab's containerd, with the lab's registry, pod network and runc. A kubelet uses it if its configuration has the
// endpoint: see [Cluster.WriteKubeletConfig].
type CRIO struct {
	// Endpoint is its CRI endpoint, as "unix:///path".
	Endpoint string
	// LogFile is where its log is.
	LogFile string

	lab     *Lab
	process process
}

// CRIOConfig says how to start CRI-O.
type CRIOConfig struct {
	// Level is the level of its log, such as debug; "" is its default, info.
	Level string
	// Log receives a line for what takes time; nil discards it.
	Log io.Writer
}

// StartCRIO starts CRI-O and waits until it is ready for pods. Where it is missing, it is built first: see [BuildCRIO]. It is an error if one
// runs already.
func (l *Lab) StartCRIO(ctx context.Context, cfg CRIOConfig) (*CRIO, error) {
	if l.state.CRIO.alive() {
		return nil, fmt.Errorf("a CRI-O runs already: process %d", l.state.CRIO.PID)
	}
	bin, err := BuildCRIO(ctx, cfg.Log)
	if err != nil {
		return nil, err
	}
	if err := l.writeCRIOConfig(bin, cmp.Or(cfg.Level, "info")); err != nil {
		return nil, err
	}
	c := &CRIO{Endpoint: l.withCRIO().RuntimeEndpoint, LogFile: filepath.Join(l.Dir, "crio.log"), lab: l}
	env := append(os.Environ(), "CONTAINERS_STORAGE_CONF="+l.crioPath("storage.conf"), "CONTAINERS_REGISTRIES_CONF="+l.crioPath("registries.conf"))
	c.process, err = spawn(l.Dir, c.LogFile, env, filepath.Join(bin, "crio"), "--config", l.crioPath("crio.conf"), "--config-dir", "")
	if err != nil {
		return nil, fmt.Errorf("start CRI-O: %w", err)
	}
	l.state.CRIO = c.process
	if err := l.state.save(l.Dir); err != nil {
		return nil, err
	}
	var last error
	poll(ctx, l.atMost(30*time.Second), 50*time.Millisecond, func() bool {
		last = c.lab.withCRIO().Ready(ctx)
		return last == nil || !c.process.alive()
	})
	if last == nil {
		return c, nil
	}
	said, _ := os.ReadFile(c.LogFile)
	return nil, errors.Join(fmt.Errorf("CRI-O does not get ready: %w; it said:\n%s", cmp.Or(ctx.Err(), last), tail(said, 10)), c.Stop(context.WithoutCancel(ctx)))
}

// PID returns the number of its process.
func (c *CRIO) PID() int { return c.process.PID }

// Lab is the lab with CRI-O as its runtime. Down of either ends both.
func (c *CRIO) Lab() *Lab { return c.lab.withCRIO() }

// Pull pulls images of the lab's registry.
func (c *CRIO) Pull(ctx context.Context, images ...Image) error {
	return c.lab.withCRIO().Pull(ctx, images...)
}

// Stop ends it and removes all that it has but its log.
func (c *CRIO) Stop(ctx context.Context) error {
	return c.lab.stopCRIO(ctx, c.process)
}

// withCRIO is the lab with CRI-O as its runtime.
func (l *Lab) withCRIO() *Lab {
	on := *l
	on.RuntimeEndpoint = "unix://" + l.crioPath("run", "crio", "crio.sock")
	return &on
}

// stopCRIO ends a CRI-O, the monitors that it leaves and the containers below them, and removes its directory.
func (l *Lab) stopCRIO(ctx context.Context, p process) error {
	if p.alive() {
		_ = l.withCRIO().RemovePods(ctx) // what this leaves is ended below
	}
	exits := l.crioPath("exits")
	err := errors.Join(p.stop(ctx, 10*time.Second), killTree(ctx, func(cmdline []string) bool {
		return filepath.Base(cmdline[0]) == "conmon" && slices.Contains(cmdline, exits)
	}), UnmountBelow(l.crioPath()))
	if err != nil {
		return fmt.Errorf("stop CRI-O: %w", err)
	}
	return os.RemoveAll(l.crioPath())
}

// crioPath names a file of CRI-O's.
func (l *Lab) crioPath(elem ...string) string {
	return filepath.Join(append([]string{l.Dir, "crio"}, elem...)...)
}

// writeCRIOConfig writes what CRI-O reads.
func (l *Lab) writeCRIOConfig(bin, level string) error {
	driver := "overlay"
	if l.Snapshotter != "overlayfs" {
		driver = "vfs"
	}
	for _, dir := range []string{"exits", "attach", "ns", "log", "run/crio"} {
		if err := os.MkdirAll(l.crioPath(dir), 0o755); err != nil {
			return err
		}
	}
	fill := strings.NewReplacer("${DIR}", l.crioPath(), "${DRIVER}", driver, "${LEVEL}", level, "${BIN}", bin, "${RUNC}", l.state.Tools.Runc, "${CONMON}", conmon,
		"${PAUSE}", l.Image(ImagePause), "${REGISTRY}", l.Registry, "${CNI_CONF}", l.CNIConfDir, "${CNI_BIN}", l.CNIBinDir, "${CNI_OWN}", l.CNIOwnDir)
	for name, text := range crioFiles {
		if err := writeFile(l.crioPath(name), []byte(fill.Replace(text))); err != nil {
			return err
		}
	}
	return os.Chmod(l.crioPath("runc.sh"), 0o755)
}

// crioFiles are CRI-O's configuration. What has a default outside the lab's directory is moved into it or turned off.
var crioFiles = map[string]string{
	// CRI-O limits huge pages if the kernel has their cgroup controller, also if it is not mounted. Then runc fails.
	"runc.sh": `#!/bin/sh
if [ ! -e /sys/fs/cgroup/hugetlb ] && [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then
	for arg; do
		if [ "$before" = --bundle ]; then
			sed -i -z 's/,[[:space:]]*"hugepageLimits": \[[^]]*\]//' "$arg/config.json"
		fi
		before=$arg
	done
fi
exec "${RUNC}/runc" "$@"
`,
	"policy.json":     `{"default": [{"type": "insecureAcceptAnything"}]}`,
	"registries.conf": "[[registry]]\nlocation = \"${REGISTRY}\"\ninsecure = true\n",
	"storage.conf":    "[storage]\ndriver = \"${DRIVER}\"\nrunroot = \"${DIR}/runroot\"\ngraphroot = \"${DIR}/root\"\n",
	"crio.conf": `[crio]
root = "${DIR}/root"
runroot = "${DIR}/runroot"
storage_driver = "${DRIVER}"
log_dir = "${DIR}/log"
version_file = "${DIR}/version"
version_file_persist = "${DIR}/version-persist"
clean_shutdown_file = "${DIR}/clean"

[crio.api]
listen = "${DIR}/run/crio/crio.sock"
stream_address = "127.0.0.1"
stream_port = "0"

[crio.runtime]
default_runtime = "runc"
cgroup_manager = "cgroupfs"
conmon_cgroup = "pod"
pinns_path = "${BIN}/pinns"
container_exits_dir = "${DIR}/exits"
container_attach_socket_dir = "${DIR}/attach"
namespaces_dir = "${DIR}/ns"
log_level = "${LEVEL}"
hooks_dir = []
cdi_spec_dirs = []
irqbalance_config_restore_file = "disable"
enable_criu_support = false

[crio.runtime.runtimes.runc]
runtime_path = "${DIR}/runc.sh"
runtime_root = "${DIR}/runc"
monitor_path = "${CONMON}"
monitor_cgroup = "pod"

[crio.image]
pause_image = "${PAUSE}"
signature_policy = "${DIR}/policy.json"
signature_policy_dir = "${DIR}/policies"

[crio.network]
network_dir = "${CNI_CONF}"
plugin_dirs = ["${CNI_BIN}", "${CNI_OWN}"]

[crio.nri]
enable_nri = false
`,
}
