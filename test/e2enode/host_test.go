package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/sys/mountinfo"
	"sigs.k8s.io/yaml"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// What a place does not set is not on the command line, so that the suite's own defaults hold.
func TestSuite(t *testing.T) {
	o := options{focus: "f", skip: "s", procs: 2, timeout: time.Hour}
	plain := suite{results: "/r", node: "n", config: "/c", runtime: "/containerd", runtimeCgroup: "/rt"}
	full := plain
	full.endpoint, full.nodeIP = "unix:///s", "192.0.2.1"
	added := []string{"--container-runtime-endpoint=unix:///s", "--image-service-endpoint=unix:///s", "--kubelet-flags=--node-ip=192.0.2.1"}
	if diff := cmp.Diff(slices.Concat(plain.command(o), added), full.command(o)); diff != "" {
		t.Error(diff)
	}
	o.gates, o.proxy = "A=true,B=false", true
	for _, want := range []string{"--cri-proxy-enabled", "--feature-gates=A=true,B=false", "--service-feature-gates=A=true,B=false", "--node-name=n", "--report-dir=/r", "--kubelet-config-file=/c", "--kubelet-flags=--runtime-cgroups=/rt"} {
		if args := plain.command(o); slices.Index(args, want) < slices.Index(args, "--") {
			t.Errorf("%s is not among the suite's arguments %q", want, args)
		}
	}
}

// The API server of a machine's tests has the feature gates, too: without them, it drops fields without a word.
func TestServicesGates(t *testing.T) {
	p := servicesPlan{Gates: "A=true"}
	if args := p.args(); !slices.Contains(args, "--service-feature-gates=A=true") || !slices.Contains(args, "--feature-gates=A=true") {
		t.Errorf("the services get %q", args)
	}
}

// The host's configuration is the machine's but for what is listed here.
func TestHostConfig(t *testing.T) {
	base, err := files.ReadFile("files/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := hostConfig(base)
	if err != nil {
		t.Fatal(err)
	}
	var machine, host map[string]any
	if err := yaml.Unmarshal(base, &machine); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &host); err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]any{
		"cgroupDriver": "cgroupfs", "failCgroupV1": false, "resolvConf": "/run/e2e/resolv.conf", "volumePluginDir": "/var/lib/kubelet/volumeplugins",
	} {
		if host[field] != want {
			t.Errorf("%s is %v, want %v", field, host[field], want)
		}
		delete(machine, field)
		delete(host, field)
	}
	if diff := cmp.Diff(machine, host); diff != "" {
		t.Error(diff)
	}
	if _, err := hostConfig([]byte("a: [")); err == nil {
		t.Error("a file that is not YAML is accepted")
	}
}

func TestHostScript(t *testing.T) {
	script, err := files.ReadFile("files/kubelet.sh")
	if err != nil {
		t.Fatal(err)
	}
	got := hostScript(string(script))
	if !strings.Contains(got, "exec "+insideProgram+" run") || strings.Contains(got, home) {
		t.Error(got)
	}
}

// The directory of a run has the agent as kubelet beside the tests, and everything that is mounted over the host's.
func TestFurnish(t *testing.T) {
	programs := t.TempDir()
	program := func(name string) string {
		file := filepath.Join(programs, name)
		if err := os.WriteFile(file, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	tests := lab.NodeTests{Tests: program("t"), Ginkgo: program("g"), Kubelet: program("k")}
	for _, tc := range []struct {
		agent lab.AgentKind
		files map[string]string
	}{
		{lab.Upstream, map[string]string{"work/kubelet": "k"}},
		{lab.Kubeloupe, map[string]string{"work/kubelet": "#!/bin/sh", "program/kubelet": "ours"}},
	} {
		dir := t.TempDir()
		if err := furnish(options{agent: tc.agent, dir: dir, program: program("ours")}, tests); err != nil {
			t.Fatal(err)
		}
		tc.files["work/e2e_node.test"], tc.files["work/ginkgo"], tc.files["bin/sudo"] = "t", "g", "#!/bin/sh"
		for name, want := range tc.files {
			file := filepath.Join(dir, name)
			text, err := os.ReadFile(file)
			if err != nil || !strings.HasPrefix(string(text), want) {
				t.Errorf("%s: %q, %v; want %q", name, text, err, want)
			}
			if info, err := os.Stat(file); err != nil || info.Mode()&0o111 == 0 {
				t.Errorf("%s is no program: %v", name, err)
			}
		}
		if info, err := os.Stat(filepath.Join(dir, "tmp")); err != nil || info.Mode().Perm() != 0o777 || info.Mode()&os.ModeSticky == 0 {
			t.Errorf("tmp: %v, %v", info, err)
		}
	}
	err := furnish(options{agent: lab.Kubeloupe, dir: t.TempDir(), program: filepath.Join(programs, "none")}, tests)
	if err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("no program: %v", err)
	}
}

func TestTreesOf(t *testing.T) {
	controllers := controllersOf("#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t5\t1\ncpuacct\t1\t5\t1\nmemory\t4\t5\t1\n")
	if diff := cmp.Diff([]string{"cpu", "cpuacct", "memory"}, controllers); diff != "" {
		t.Error(diff)
	}
	got := treesOf([]*mountinfo.Info{
		{Mountpoint: "/c/cpu,cpuacct", VFSOptions: "rw,cpu,cpuacct"},
		{Mountpoint: "/c/systemd", VFSOptions: "rw,xattr,release_agent=/lib/agent,name=systemd"},
		{Mountpoint: "/c/other", VFSOptions: "rw"},
	}, controllers)
	want := []tree{{"/c/cpu,cpuacct", "cpu,cpuacct"}, {"/c/systemd", "name=systemd"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A run's cgroups are removed with those below them, and those of others stay.
func TestCgroups(t *testing.T) {
	p := plan{Cgroup: cgroupOf("/a"), Trees: []tree{{t.TempDir(), "cpu"}, {t.TempDir(), "cpuset"}}}
	if p.Cgroup == cgroupOf("/b") || strings.ContainsAny(p.Cgroup, "/ ") {
		t.Errorf("cgroup %q", p.Cgroup)
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		if err := os.WriteFile(filepath.Join(p.Trees[1].Path, file), []byte("0-1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := createCgroups(p); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(p.Trees[1].Path, p.Cgroup)
	if text, err := os.ReadFile(filepath.Join(own, "cpuset.cpus")); err != nil || string(text) != "0-1" {
		t.Errorf("cpuset.cpus: %q, %v", text, err)
	}
	if err := createCgroups(p); err == nil {
		t.Error("a cgroup of another run is taken")
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} { // a cgroup's files go with it
		if err := os.Remove(filepath.Join(own, file)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(own, "kubepods/besteffort"), 0o755); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(p.Trees[0].Path, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := removeCgroups(p); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(own); err == nil {
		t.Error("the run's cgroup is left")
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

func TestClaimDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	for range 2 {
		if err := claimDir(dir); err != nil {
			t.Error(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := claimDir(dir); err == nil || !strings.Contains(err.Error(), "mine") {
		t.Errorf("a directory with a file: %v", err)
	}
}

// A program is found in each directory of the PATH, unless it cannot be executed.
func TestProgramsOf(t *testing.T) {
	a, b, c := t.TempDir(), t.TempDir(), t.TempDir()
	for dir, mode := range map[string]os.FileMode{a: 0o700, b: 0o600, c: 0o700} {
		if err := os.WriteFile(filepath.Join(dir, "systemd-run"), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	got := programsOf(strings.Join([]string{a, b, "", c}, ":"), "systemd-run", "journalctl")
	if diff := cmp.Diff([]string{filepath.Join(a, "systemd-run"), filepath.Join(c, "systemd-run")}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRestoreSysctls(t *testing.T) {
	file := filepath.Join(t.TempDir(), "panic")
	if err := os.WriteFile(file, []byte("10\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := restoreSysctls(map[string][]byte{file: []byte("0\n")}); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "0\n" {
		t.Errorf("%q, %v", text, err)
	}
	if err := restoreSysctls(map[string][]byte{file + "s": []byte("0\n")}); err == nil {
		t.Error("a file that there is not is no error")
	}
}
