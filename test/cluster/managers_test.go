package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/cpuset"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

const (
	alphaResource = "lab.kubeloupe.dev/alpha" // registers on the kubelet's socket
	betaResource  = "lab.kubeloupe.dev/beta"  // registers in plugins_registry, and gives CDI devices
	draDriver     = "dra.example.com"
	draClass      = "claimed"
	// managersState is short: sockets are below it.
	managersState = "mgr"
	// each is how many devices the plugins and the driver have.
	each = 3
)

// managed is a node with managers of CPUs, memory, topology, devices and claims, and with the processes of plugins and of a driver.
type managed struct {
	*space
	config, journal, hooks string
	// all are the node's CPUs; own is the only one that a container can have for itself.
	all, own cpuset.CPUSet
	// memory is a directory with the agents' view of the memory of NUMA nodes; "" if they see the machine's.
	memory string
}

// freezeMemory returns a directory with the size of each NUMA node's memory, which agents get in place of the machine's. A host that gives a virtual
// machine more and less memory while it runs changes what the memory manager's state file is about: then no agent starts with it, neither upstream's
// nor kubeloupe. It returns "" if the machine's memory stays as it is.
func freezeMemory(t *testing.T) string {
	t.Helper()
	var devices []string
	for _, driver := range []string{"virtio_mem", "virtio_balloon"} {
		found, _ := filepath.Glob("/sys/bus/virtio/drivers/" + driver + "/virtio*")
		devices = append(devices, found...)
	}
	if len(devices) == 0 {
		return ""
	}
	dir := t.TempDir()
	files, err := filepath.Glob("/sys/devices/system/node/node*/meminfo")
	if err != nil || len(files) == 0 {
		t.Fatalf("no NUMA node: %v", err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(filepath.Dir(f))), []byte(read(t, f)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// managed prepares the node. No agent runs then.
func (b *bench) managed(t *testing.T) *managed {
	t.Helper()
	if a := b.Agent(); a != nil {
		(&agent{Agent: a, bench: b, t: t}).stop()
	}
	m := &managed{space: b.space(t), hooks: t.TempDir(), journal: filepath.Join(t.TempDir(), "journal")}
	online, err := cpuset.Parse(strings.TrimSpace(read(t, "/sys/devices/system/cpu/online")))
	if err != nil || online.Size() < 2 {
		t.Skipf("CPUs %s, %v: a container can have one for itself only if there are two", online, err)
	}
	list := online.List()
	m.all, m.own, m.memory = online, cpuset.New(list[len(list)-1]), freezeMemory(t)
	m.config, err = b.WriteKubeletConfig("managers", func(c map[string]any) {
		c["cpuManagerPolicy"], c["reservedSystemCPUs"], c["cpuManagerReconcilePeriod"] = "static", m.all.Difference(m.own).String(), "1s"
		c["memoryManagerPolicy"] = "Static"
		c["reservedMemory"] = []any{map[string]any{"numaNode": 0, "limits": map[string]any{"memory": "100Mi"}}} // as evictionHard
		c["topologyManagerPolicy"] = "single-numa-node"
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(b.nodePath(managersState, "root")); err != nil { // of an earlier test
		t.Fatal(err)
	}
	m.objects()
	m.processes()
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := b.Kubectl(context.WithoutCancel(t.Context()), "-n", m.name, "get", "events", "--sort-by=.lastTimestamp")
			calls, _ := os.ReadFile(m.journal)
			if a := b.Agent(); a != nil && a.Kind == lab.Upstream {
				for line := range strings.Lines(read(t, a.LogFile)) {
					if strings.Contains(line, "opology") || strings.Contains(line, "device") {
						t.Log(strings.TrimSpace(line))
					}
				}
			}
			t.Logf("events:\n%s\ncalls of plugins:\n%s", out, calls)
		}
		if a := b.Agent(); a != nil {
			(&agent{Agent: a, bench: b, t: t}).stop()
		}
	})
	return m
}

// root is the agent's root directory.
func (m *managed) root(elem ...string) string {
	return filepath.Join(append([]string{m.nodePath(managersState, "root")}, elem...)...)
}

// processes starts the plugins and the driver.
func (m *managed) processes() {
	t := m.t
	t.Helper()
	plugin, err := lab.BuildDevicePlugin(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	driver, err := lab.BuildDRADriver(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	common := []string{"-root-dir", m.root(), "-journal", m.journal, "-hooks", m.hooks, "-devices", fmt.Sprint(each)}
	with := func(more ...string) []string { return append(more, common...) }
	m.process(plugin, with("-resource", alphaResource, "-data", filepath.Join(data, "alpha")))
	m.process(plugin, with("-resource", betaResource, "-data", filepath.Join(data, "beta"), "-cdi-dir", m.CDIDir, "-registry"))
	m.process(driver, with("-name", draDriver, "-node", lab.NodeName, "-kubeconfig", m.Kubeconfig, "-data", filepath.Join(data, "dra"), "-cdi-dir", m.CDIDir))
}

// process runs a program until the test ends.
func (m *managed) process(program string, args []string) {
	t := m.t
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", filepath.Base(program), err)
		}
	})
}

// objects creates the class of the driver's devices and a template of claims for one of them.
func (m *managed) objects() {
	t := m.t
	t.Helper()
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: draClass}}
	class.Spec.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: `device.driver == "` + draDriver + `"`}}}
	if _, err := m.client.ResourceV1().DeviceClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.client.ResourceV1().DeviceClasses().Delete(context.WithoutCancel(t.Context()), draClass, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	template := &resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: "one"}}
	template.Spec.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "it", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: draClass}}}
	if _, err := m.client.ResourceV1().ResourceClaimTemplates(m.name).Create(t.Context(), template, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// run starts an agent of either kind on the node's state, without waiting for its node.
func (m *managed) run(kind lab.AgentKind) *agent {
	t := m.t
	t.Helper()
	cfg := lab.AgentConfig{Kind: kind, State: managersState, KubeletConfig: m.config}
	if kind == lab.Kubeloupe {
		cfg.Program = m.inside(m.binary)
		return m.start(t, cfg)
	}
	cfg.Program = m.inside(m.Cluster.Program("kubelet"))
	a, err := m.StartAgent(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &agent{Agent: a, bench: m.bench, t: t}
}

// inside writes a program that runs an agent in a mount namespace of its own. There, NUMA nodes have as much memory as in the file of memory, and
// /var/lib/kubelet/device-plugins is the agents' directory, as on a node: upstream's kubelet has its device plugins there, whatever its root directory
// is. The pods here need no mounts that others must see.
func (m *managed) inside(program string) string {
	path := filepath.Join(m.t.TempDir(), filepath.Base(program))
	script := fmt.Sprintf(`#!/bin/sh
export memory='%s' plugins='%s'
exec unshare --mount --propagation slave sh -ec '
	mkdir -p "$plugins" /var/lib/kubelet/device-plugins
	mount --bind "$plugins" /var/lib/kubelet/device-plugins
	if [ -n "$memory" ]; then
		for node in "$memory"/*; do
			mount --bind "$node" /sys/devices/system/node/"${node##*/}"/meminfo
		done
	fi
	exec "$@"' sh '%s' "$@"
`, m.memory, m.root("device-plugins"), program)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		m.t.Fatal(err)
	}
	return path
}

// wants is a pod that requests devices of each kind, as many claims, and a CPU for itself if exclusive. The scheduler places it: it is who
// allocates claims.
func wants(name string, devices int, exclusive bool) *v1.Pod {
	p := pod(name, forever)
	p.Spec.NodeName = ""
	c := &p.Spec.Containers[0]
	c.Resources.Limits = v1.ResourceList{}
	if exclusive {
		c.Resources = resources("1", "32Mi")
	}
	n := resource.MustParse(fmt.Sprint(devices))
	c.Resources.Limits[alphaResource], c.Resources.Limits[betaResource] = n, n
	if exclusive {
		c.Resources.Requests = c.Resources.Limits
	}
	for i := range devices {
		claim := fmt.Sprintf("claim%d", i)
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, v1.PodResourceClaim{Name: claim, ResourceClaimTemplateName: new("one")})
		c.Resources.Claims = append(c.Resources.Claims, v1.ResourceClaim{Name: claim})
	}
	return p
}

// given is what a container sees of what it was given.
type given struct {
	// ID is the container's, which changes with each start.
	ID, CPUs, Mems string
	// Alpha and Beta are the devices of the plugins, Claimed those of claims.
	Alpha, Beta, Claimed []string
}

const look = `sed -n 's/_allowed_list:\t*/ /p' /proc/1/status; env | grep -E '^(ALPHA|BETA|CDI_.*|DRA_.*)=' | sort; cat /devices/* 2>/dev/null | sed 's/^/mount /'; cd /dev; ls -d alpha-* beta-* claimed-* 2>/dev/null | sed 's/^/node /'`

// see looks into the pod's container, one of which must run. A container that was created but not started when the agent was killed is another one, and
// counts as a restart, as with upstream.
func (m *managed) see(name string) given {
	t := m.t
	t.Helper()
	p, err := m.get(name)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := m.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	cri := runtimeapi.NewRuntimeServiceClient(conn)
	all, err := cri.ListContainers(t.Context(), &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{LabelSelector: map[string]string{"io.kubernetes.pod.uid": string(p.UID)}}})
	if err != nil {
		t.Fatal(err)
	}
	var running []string
	for _, c := range all.Containers {
		if c.State == runtimeapi.ContainerState_CONTAINER_RUNNING {
			running = append(running, c.Id)
		}
	}
	if len(running) != 1 {
		t.Fatalf("%s: %d containers run, of %d: %s", name, len(running), len(all.Containers), short(p))
	}
	out, err := cri.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{ContainerId: running[0], Cmd: []string{"sh", "-c", look}, Timeout: 20})
	if err != nil {
		t.Fatal(err)
	}
	g := given{ID: running[0]}
	seen := map[string][]string{}
	for line := range strings.Lines(string(out.Stdout)) {
		line = strings.TrimSpace(line)
		kind, value, _ := strings.Cut(line, " ")
		if name, v, env := strings.Cut(line, "="); env {
			kind, value = name, v
			if i := strings.Index(name, "_"); i > 0 {
				kind = name[:i]
			}
		}
		seen[kind] = append(seen[kind], strings.Split(value, ",")...)
	}
	g.CPUs, g.Mems = strings.Join(seen["Cpus"], ","), strings.Join(seen["Mems"], ",")
	g.Alpha, g.Beta, g.Claimed = seen["ALPHA"], seen["BETA"], seen["DRA"]
	// The same devices by all ways in which they were given.
	want := strings.Join(append(append(append([]string(nil), g.Alpha...), g.Beta...), g.Claimed...), " ")
	if got := strings.Join(seen["node"], " "); got != want || strings.Join(seen["mount"], " ") != strings.Join(g.Alpha, " ") || strings.Join(seen["CDI"], " ") != strings.Join(g.Beta, " ") {
		t.Errorf("%s sees\n%s\nwant the nodes %s, the mounts %s and the CDI devices %s", name, out.Stdout, want, g.Alpha, g.Beta)
	}
	return g
}

// call is a line of the plugins' journal.
type call struct {
	Program, Method string
	Devices         []string
	Claim, Err      string
}

// calls returns the calls that the plugins and the driver have answered, in order.
func (m *managed) calls(match func(call) bool) (out []call) {
	t := m.t
	t.Helper()
	text, err := os.ReadFile(m.journal)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var c call
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("journal: %v: %s", err, line)
		}
		if match(c) {
			out = append(out, c)
		}
	}
	return out
}

// registered counts the registrations of the plugins.
func (m *managed) registered() int {
	return len(m.calls(func(c call) bool { return c.Method == "Register" }))
}

// gives matches the calls that give something.
func gives(c call) bool { return c.Method == "Allocate" || c.Method == "Prepare" }
