package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// The places in the namespaces of a run on this host.
const (
	// inside is the directory of the run. Its name is short, because sockets are below it.
	inside = "/run/e2e"
	// insideResults receives the reports and logs.
	insideResults = inside + "/results"
	insideWork    = inside + "/work"
	insideConfig  = inside + "/config.yaml"
	insideResolv  = inside + "/resolv.conf"
	insideProgram = inside + "/program/kubelet"
)

// hostDirs are made in the directory of a run: the places above, and what takes the place of the host's /var and /tmp.
func hostDirs() []string {
	return []string{
		"results", "work", "program", "bin", "tmp", "var/lib/kubelet", "var/lib/cni", "var/log/pods", "var/log/containers",
		"var/tmp", "var/cache", "var/spool",
	}
}

// furnish fills the directory of a run.
func furnish(o options, tests lab.NodeTests) error {
	in := func(place string) string { return filepath.Join(o.dir, strings.TrimPrefix(place, inside)) }
	for _, d := range hostDirs() {
		if err := os.MkdirAll(filepath.Join(o.dir, d), 0o755); err != nil {
			return err
		}
	}
	for _, d := range []string{"tmp", "var/tmp"} {
		if err := os.Chmod(filepath.Join(o.dir, d), 0o777|os.ModeSticky); err != nil {
			return err
		}
	}
	base, err := files.ReadFile("files/config.yaml")
	if err != nil {
		return err
	}
	config, err := hostConfig(base)
	if err != nil {
		return err
	}
	sudo, err := files.ReadFile("files/sudo.sh")
	if err != nil {
		return err
	}
	resolv, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		return fmt.Errorf("the pods' resolv.conf: %w", err)
	}
	errs := []error{
		os.Symlink("/run", filepath.Join(o.dir, "var/run")),
		os.WriteFile(in(insideConfig), config, 0o644),
		os.WriteFile(in(insideResolv), resolv, 0o644),
		os.WriteFile(filepath.Join(o.dir, "bin/sudo"), sudo, 0o755),
		copyProgram(tests.Tests, in(insideWork+"/e2e_node.test")),
		copyProgram(tests.Ginkgo, in(insideWork+"/ginkgo")),
	}
	if o.units {
		errs = append(errs, standIns(filepath.Join(o.dir, "bin")))
	}
	if o.agent == lab.Upstream {
		errs = append(errs, copyProgram(tests.Kubelet, in(insideWork+"/kubelet")))
		return errors.Join(errs...)
	}
	script, err := files.ReadFile("files/kubelet.sh")
	errs = append(errs, err,
		os.WriteFile(in(insideWork+"/kubelet"), []byte(hostScript(string(script))), 0o755),
		copyProgram(o.program, in(insideProgram)))
	return errors.Join(errs...)
}

// standIns writes scripts that have of systemd's programs what the tests use to restart the kubelet.
func standIns(dir string) error {
	var errs []error
	for _, name := range []string{"systemctl", "systemd-run"} {
		script, err := files.ReadFile("files/" + name + ".sh")
		errs = append(errs, err, os.WriteFile(filepath.Join(dir, name), script, 0o755))
	}
	return errors.Join(errs...)
}

// hostScript is the machine's script for this host.
func hostScript(script string) string {
	return strings.ReplaceAll(script, home+"/kubeloupe/program/kubelet", insideProgram)
}

// hostConfig is the machine's configuration with what a host without systemd has, and without paths outside of the run's directories.
func hostConfig(base []byte) ([]byte, error) {
	var config map[string]any
	if err := yaml.Unmarshal(base, &config); err != nil {
		return nil, err
	}
	config["cgroupDriver"] = "cgroupfs"
	config["failCgroupV1"] = false
	config["resolvConf"] = insideResolv
	config["volumePluginDir"] = "/var/lib/kubelet/volumeplugins"
	return yaml.Marshal(config)
}

func copyProgram(from, to string) (err error) {
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w (make build)", err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}
