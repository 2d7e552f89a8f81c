package lab

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	containerdSocket = "containerd.sock"
	ownPlugins       = "cni-bin"
	plugins          = "plugins"
	cdiDir           = "cdi"
	// maxPath keeps the longest socket path of a lab within the kernel's limit.
	maxPath = 106 - len("/"+containerdSocket+".ttrpc")
	// maxSocketDir is containerd's limit for the directory of shim sockets.
	maxSocketDir = 42
)

// containerdConfig is containerd's configuration. Everything with a default
// outside the lab's directory is moved into it or turned off.
func containerdConfig(dir string, s *state, restrictOOM bool) string {
	in := func(name string) string { return strconv.Quote(filepath.Join(dir, name)) }
	runc := strconv.Quote(filepath.Join(s.Tools.Runc, "runc"))
	shim := strconv.Quote(filepath.Join(s.Tools.Containerd, "containerd-shim-runc-v2"))
	text := fmt.Sprintf(`version = 4
root = %[1]s
state = %[2]s
temp = %[3]s
imports = []

[plugins.'io.containerd.server.v1.grpc']
  address = %[4]s
[plugins.'io.containerd.server.v1.ttrpc']
  address = %[5]s
[plugins.'io.containerd.internal.v1.opt']
  path = %[6]s
[plugins.'io.containerd.image-verifier.v1.bindir']
  bin_dir = %[7]s
[plugins.'io.containerd.nri.v1.nri']
  disable = true
[plugins.'io.containerd.shim.v1.manager']
  socket_dir = %[8]q

[plugins.'io.containerd.cri.v1.images']
  snapshotter = %[9]q
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = %[10]q
  [plugins.'io.containerd.cri.v1.images'.registry]
    config_path = %[11]s
[plugins.'io.containerd.transfer.v1.local']
  config_path = %[11]s

[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = %[12]t
  netns_mounts_under_state_dir = true
  cdi_spec_dirs = [%[16]s]
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = [%[13]s, %[15]s]
    conf_dir = %[14]s
`,
		in("root"), in("state"), in("temp"), in(containerdSocket), in(containerdSocket+".ttrpc"), in("opt"), in("verifiers"),
		s.SocketDir, s.Snapshotter, s.image(ImagePause), in("certs.d"), restrictOOM, in(plugins), in("cni"), in(ownPlugins), in(cdiDir))
	for _, name := range append([]string{"runc"}, s.Handlers...) {
		text += handlerConfig(name, shim, runc, in("runc"))
	}
	return text
}

// handlerConfig is a runtime handler by runc; shim, runc and root are quoted.
func handlerConfig(name, shim, runc, root string) string {
	return fmt.Sprintf(`  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.%[1]s]
    runtime_type = 'io.containerd.runc.v2'
    runtime_path = %[2]s
    sandboxer = 'podsandbox'
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.%[1]s.options]
      BinaryName = %[3]s
      Root = %[4]s
`, name, shim, runc, root)
}

// registryHosts tells containerd to speak plain HTTP to the lab's registry.
func registryHosts(s *state) string {
	return fmt.Sprintf("server = \"http://%[1]s\"\n\n[host.\"http://%[1]s\"]\n  capabilities = [\"pull\", \"resolve\"]\n", s.registry())
}

// containerdEnv turns trace export on. Every span that has no remote parent is
// sampled; one that has follows it.
func containerdEnv(s *state) []string {
	env := []string{
		"PATH=" + strings.Join([]string{s.Tools.Containerd, s.Tools.Runc, os.Getenv("PATH"), "/usr/sbin:/sbin"}, ":"),
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + s.otlp(),
		"OTEL_EXPORTER_OTLP_PROTOCOL=" + otlpProtocol,
		"OTEL_EXPORTER_OTLP_TIMEOUT=1000",
		"OTEL_TRACES_SAMPLER=parentbased_always_on",
		"OTEL_SERVICE_NAME=containerd",
		"OTEL_BSP_SCHEDULE_DELAY=1000",
		"OTEL_BSP_MAX_QUEUE_SIZE=8192",
	}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if name != "PATH" && name != "NOTIFY_SOCKET" && !strings.HasPrefix(name, "OTEL_") && !strings.HasPrefix(name, "CONTAINERD_") {
			env = append(env, kv)
		}
	}
	return env
}

// writeConfig writes the files that containerd and CNI read.
func writeConfig(dir string, s *state) error {
	files := map[string]string{
		"containerd.toml": containerdConfig(dir, s, !mayLowerOOM()),
		filepath.Join("certs.d", s.registry(), "hosts.toml"): registryHosts(s),
		"cni/10-kubeloupe.conflist":                          cniConfig(dir, s),
	}
	if s.Cluster != nil || s.Layout != "" {
		for _, host := range mirrored() {
			files[filepath.Join("certs.d", host, "hosts.toml")] = registryHosts(s)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, cdiDir), 0o755); err != nil { // containerd watches it from its start
		return err
	}
	for path, text := range files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := writeFile(path, []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// mayLowerOOM reports whether this process has CAP_SYS_RESOURCE, without which
// runc cannot give a sandbox the oom_score_adj that Kubernetes wants.
func mayLowerOOM() bool {
	const capSysResource = 24
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(status)) {
		if hex, ok := strings.CutPrefix(line, "CapEff:"); ok {
			caps, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			return err == nil && caps&(1<<capSysResource) != 0
		}
	}
	return false
}

// pickSnapshotter prefers overlayfs, and falls back to plain copies where the
// file system of dir cannot carry it.
func pickSnapshotter(dir string) (string, error) {
	tmp, err := os.MkdirTemp(dir, "overlay-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	var dirs []string
	for _, name := range []string{"lower", "upper", "work", "target"} {
		d := filepath.Join(tmp, name)
		if err := os.Mkdir(d, 0o755); err != nil {
			return "", err
		}
		dirs = append(dirs, d)
	}
	if overlayWorks(dirs[0], dirs[1], dirs[2], dirs[3]) != nil {
		return "native", nil
	}
	return "overlayfs", nil
}

// socketDir returns where the shims' sockets of a lab go.
func socketDir(dir, id string) string {
	if own := filepath.Join(dir, "s"); len(own) <= maxSocketDir {
		return own
	}
	return "/run/kubeloupe-" + id
}

// raiseInotify lets many shims, containerds and agents watch files.
func raiseInotify() error {
	const path, want = "/proc/sys/fs/inotify/max_user_instances", 8192
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if have, err := strconv.Atoi(strings.TrimSpace(string(data))); err != nil || have >= want {
		return err
	}
	return os.WriteFile(path, []byte(strconv.Itoa(want)), fs.FileMode(0o644))
}
