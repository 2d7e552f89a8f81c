package discover

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const containerdSocket = "/run/containerd/containerd.sock"

// containerd is a runtime as a unit.
func containerd(pid int, socket string) proc {
	return proc{
		pid: pid, parent: 1, exe: "/usr/bin/containerd", args: []string{"/usr/bin/containerd"}, cgroup: "/system.slice/containerd.service", unix: []string{socket},
		fd2: "socket:[77]", env: []string{"JOURNAL_STREAM=8:77"},
	}
}

func journaled(p proc) proc {
	p.fd2, p.env = "socket:[70]", append(p.env, "JOURNAL_STREAM=8:70", "INVOCATION_ID=1")
	return p
}

// seen is what a test looks at.
type seen struct {
	PID, V                        int
	Kind                          Kind
	Root, Driver                  string
	Log, Endpoint, Runtime, RtLog string
	Files                         string
	Rights                        string
	PodsAPI                       string
	Err                           string
}

func look(m *machine, o Options) seen {
	f, err := Discover(m, o)
	if err != nil {
		return seen{Err: err.Error()}
	}
	s := seen{
		PID: f.Process.PID, V: f.Config.Verbosity, Kind: f.Kind, Root: f.Config.RootDir, Driver: f.Config.CgroupDriver, Log: f.Log.String(),
		Endpoint: f.Runtime.Endpoint, Runtime: f.Runtime.Name, RtLog: f.Runtime.Log.String(), Files: strings.Join(f.Config.Files, " "), PodsAPI: f.PodsAPI,
	}
	if f.Rights != nil {
		s.Rights = f.Rights.Who
	}
	return s
}

func TestDistributions(t *testing.T) {
	for name, tc := range map[string]struct {
		procs []proc
		want  seen
	}{
		"kubeadm control plane": {
			procs: []proc{containerd(600, containerdSocket), journaled(proc{
				pid: 700, parent: 1, exe: "/usr/bin/kubelet", cgroup: "/system.slice/kubelet.service", tcp6: []string{onServer6}, tcp: []string{onHealthz},
				args: []string{"/usr/bin/kubelet", "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf", "--kubeconfig=/etc/kubernetes/kubelet.conf", "--config=/var/lib/kubelet/config.yaml"},
				files: map[string]string{
					"/var/lib/kubelet/config.yaml":                     "kind: KubeletConfiguration\ncgroupDriver: systemd\ncontainerRuntimeEndpoint: unix:///run/containerd/containerd.sock\nlogging:\n  verbosity: 0\n",
					"/var/lib/kubelet/pods-api/pods-api.sock":          "",
					"/etc/kubernetes/pki/apiserver-kubelet-client.crt": "x",
					"/etc/kubernetes/pki/apiserver-kubelet-client.key": "x",
					containerdSocket: "",
				},
			})},
			want: seen{
				PID: 700, Kind: Kubelet, Root: "/var/lib/kubelet", Driver: "systemd", Log: "journal of kubelet.service", Endpoint: "unix://" + containerdSocket, Runtime: "containerd",
				RtLog: "journal of containerd.service", Files: "/var/lib/kubelet/config.yaml", Rights: "kubeadm's API server", PodsAPI: "/var/lib/kubelet/pods-api/pods-api.sock",
			},
		},
		"k3s agent": {
			procs: []proc{
				{pid: 510, parent: 500, exe: "/var/lib/rancher/k3s/data/abc/bin/containerd", args: []string{"containerd"}, cgroup: "/system.slice/k3s-agent.service", unix: []string{"/run/k3s/containerd/containerd.sock"}, fd2: "/var/lib/rancher/k3s/agent/containerd/containerd.log"},
				journaled(proc{pid: 500, parent: 1, exe: "/var/lib/rancher/k3s/data/abc/bin/k3s", args: []string{"/usr/local/bin/k3s agent", "", ""}, cgroup: "/system.slice/k3s-agent.service", tcp6: []string{onServer6}, tcp: []string{onHealthz}, files: map[string]string{
					"/run/k3s/containerd/containerd.sock":                                "",
					"/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00-k3s-defaults.conf": "kind: KubeletConfiguration\ncgroupDriver: systemd\n",
					"/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/10-cli.conf":          "kind: KubeletConfiguration\nlogging: {verbosity: 2}\n",
				}}),
			},
			want: seen{
				PID: 500, V: 2, Kind: K3s, Root: "/var/lib/kubelet", Driver: "systemd", Log: "journal of k3s-agent.service", Endpoint: "unix:///run/k3s/containerd/containerd.sock", Runtime: "containerd",
				RtLog: "file /var/lib/rancher/k3s/agent/containerd/containerd.log",
				Files: "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00-k3s-defaults.conf /var/lib/rancher/k3s/agent/etc/kubelet.conf.d/10-cli.conf",
			},
		},
		"k0s worker": {
			procs: []proc{
				containerd(610, "/run/k0s/containerd.sock"),
				journaled(proc{pid: 600, parent: 1, exe: "/usr/local/bin/k0s", args: []string{"/usr/local/bin/k0s", "worker"}, cgroup: "/system.slice/k0sworker.service", reads: "pipe:[55]"}),
				{
					pid: 620, parent: 600, exe: "/var/lib/k0s/bin/kubelet", cgroup: "/system.slice/k0sworker.service", fd2: "pipe:[55]", tcp6: []string{onServer6}, tcp: []string{onHealthz},
					args:  []string{"/var/lib/k0s/bin/kubelet", "--root-dir=/var/lib/k0s/kubelet", "--config=/run/k0s/kubelet/config.yaml", "--v=1", "--cert-dir=/var/lib/k0s/kubelet/pki"},
					files: map[string]string{"/run/k0s/containerd.sock": "", "/run/k0s/kubelet/config.yaml": "containerRuntimeEndpoint: unix:///run/k0s/containerd.sock\n"},
				},
			},
			want: seen{
				PID: 620, V: 1, Kind: Kubelet, Root: "/var/lib/k0s/kubelet", Driver: "cgroupfs", Log: "journal of k0sworker.service (by process 600, k0s)", Endpoint: "unix:///run/k0s/containerd.sock",
				Runtime: "containerd", RtLog: "journal of containerd.service", Files: "/run/k0s/kubelet/config.yaml",
			},
		},
		"microk8s": {
			procs: []proc{
				containerd(710, "/var/snap/microk8s/common/run/containerd.sock"),
				journaled(proc{
					pid: 720, parent: 1, exe: "/snap/microk8s/6000/kubelite", cgroup: "/system.slice/snap.microk8s.daemon-kubelite.service", tcp6: []string{onServer6}, tcp: []string{onHealthz},
					args: []string{"/snap/microk8s/6000/kubelite", "--scheduler-args-file=/x", "--kubelet-args-file=/var/snap/microk8s/6000/args/kubelet", "--start-control-plane=false"},
					env:  []string{"SNAP_DATA=/var/snap/microk8s/6000", "SNAP_COMMON=/var/snap/microk8s/common"},
					files: map[string]string{
						"/var/snap/microk8s/common/run/containerd.sock": "",
						"/var/snap/microk8s/6000/args/kubelet":          "--kubeconfig=${SNAP_DATA}/credentials/kubelet.config\n--root-dir=${SNAP_COMMON}/var/lib/kubelet\n--container-runtime-endpoint=${SNAP_COMMON}/run/containerd.sock\n--v 3\n",
					},
				}),
			},
			want: seen{
				PID: 720, V: 3, Kind: Kubelite, Root: "/var/snap/microk8s/common/var/lib/kubelet", Driver: "cgroupfs", Log: "journal of snap.microk8s.daemon-kubelite.service",
				Endpoint: "/var/snap/microk8s/common/run/containerd.sock", Runtime: "containerd", RtLog: "journal of containerd.service", Files: "/var/snap/microk8s/6000/args/kubelet",
			},
		},
		"OpenShift, with CRI-O, in its own mount namespace": {
			procs: []proc{
				{pid: 800, parent: 1, exe: "/usr/bin/crio", args: []string{"/usr/bin/crio"}, cgroup: "/system.slice/crio.service", unix: []string{"/var/run/crio/crio.sock"}, fd2: "socket:[81]", env: []string{"JOURNAL_STREAM=8:81"}, mounts: "mnt:[99]"},
				journaled(proc{
					pid: 810, parent: 1, exe: "/usr/bin/kubelet", cgroup: "/system.slice/kubelet.service", mounts: "mnt:[99]", tcp6: []string{onServer6}, tcp: []string{onHealthz},
					args: []string{"/usr/bin/kubelet", "--config=/etc/kubernetes/kubelet.conf", "--container-runtime-endpoint=/var/run/crio/crio.sock", "--v=2"},
					files: map[string]string{
						"/var/run": "-> /run", "/run/crio/crio.sock": "", "/etc/kubernetes/kubelet.conf": "kind: KubeletConfiguration\ncgroupDriver: systemd\n",
					},
				}),
			},
			want: seen{
				PID: 810, V: 2, Kind: Kubelet, Root: "/var/lib/kubelet", Driver: "systemd", Log: "journal of kubelet.service", Endpoint: "/var/run/crio/crio.sock", Runtime: "cri-o",
				RtLog: "journal of crio.service", Files: "/etc/kubernetes/kubelet.conf",
			},
		},
		"EKS AL2023, with drop-ins and a flag that wins": {
			procs: []proc{containerd(600, containerdSocket), journaled(proc{
				pid: 900, parent: 1, exe: "/usr/bin/kubelet", cgroup: "/runtime.slice/kubelet.service", tcp6: []string{onServer6}, tcp: []string{onHealthz},
				args: []string{"/usr/bin/kubelet", "--config", "/etc/kubernetes/kubelet/config.json", "--config-dir", "/etc/kubernetes/kubelet/config.json.d", "--v=2", "--hostname-override=i-1"},
				files: map[string]string{
					containerdSocket:                                  "",
					"/etc/kubernetes/kubelet/config.json":             `{"kind":"KubeletConfiguration","cgroupDriver":"systemd","logging":{"verbosity":4}}`,
					"/etc/kubernetes/kubelet/config.json.d/10.conf":   `{"cgroupRoot":"/a"}`,
					"/etc/kubernetes/kubelet/config.json.d/20.conf":   `{"cgroupRoot":"/b"}`,
					"/etc/kubernetes/kubelet/config.json.d/README.md": `not a drop-in`,
				},
			})},
			want: seen{
				PID: 900, V: 2, Kind: Kubelet, Root: "/var/lib/kubelet", Driver: "systemd", Log: "journal of kubelet.service", Endpoint: defaultEndpoint, Runtime: "containerd", RtLog: "journal of containerd.service",
				Files: "/etc/kubernetes/kubelet/config.json /etc/kubernetes/kubelet/config.json.d/10.conf /etc/kubernetes/kubelet/config.json.d/20.conf",
			},
		},
		"RKE2, which writes the lines of its children": {
			procs: []proc{
				journaled(proc{
					pid: 940, parent: 1, exe: "/usr/local/bin/rke2", args: []string{"/usr/local/bin/rke2", "agent"}, cgroup: "/system.slice/rke2-agent.service",
					reads: "pipe:[77]", writes: "/var/lib/rancher/rke2/agent/logs/kubelet.log",
				}),
				{
					pid: 950, parent: 940, exe: "/var/lib/rancher/rke2/data/v1/bin/kubelet", cgroup: "/system.slice/rke2-agent.service", tcp6: []string{onServer6}, tcp: []string{onHealthz}, fd2: "pipe:[77]",
					args: []string{"kubelet", "--container-runtime-endpoint=unix:///run/k3s/containerd/containerd.sock"}, files: map[string]string{"/run/k3s/containerd/containerd.sock": ""},
				},
				containerd(600, "/run/k3s/containerd/containerd.sock"),
			},
			want: seen{
				PID: 950, Kind: Kubelet, Root: "/var/lib/kubelet", Driver: "cgroupfs", Log: "file /var/lib/rancher/rke2/agent/logs/kubelet.log (by process 940, rke2)",
				Endpoint: "unix:///run/k3s/containerd/containerd.sock", Runtime: "containerd", RtLog: "journal of containerd.service",
			},
		},
		"RKE2, with a log file": {
			procs: []proc{containerd(600, "/run/k3s/containerd/containerd.sock"), {
				pid: 950, parent: 940, exe: "/var/lib/rancher/rke2/data/v1/bin/kubelet", cgroup: "/system.slice/rke2-agent.service", tcp6: []string{onServer6}, tcp: []string{onHealthz}, fd2: "pipe:[3]",
				args:  []string{"kubelet", "--log-file=/var/lib/rancher/rke2/agent/logs/kubelet.log", "--container-runtime-endpoint=unix:///run/k3s/containerd/containerd.sock"},
				files: map[string]string{"/run/k3s/containerd/containerd.sock": ""},
			}},
			want: seen{
				PID: 950, Kind: Kubelet, Root: "/var/lib/kubelet", Driver: "cgroupfs", Log: "file /var/lib/rancher/rke2/agent/logs/kubelet.log", Endpoint: "unix:///run/k3s/containerd/containerd.sock",
				Runtime: "containerd", RtLog: "journal of containerd.service",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, look(newMachine(tc.procs...), Options{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestStrangers sees that what a pod can do does not make a kubelet of it.
func TestStrangers(t *testing.T) {
	pod := "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/cri-containerd-abc.scope"
	fake := proc{pid: 300, parent: 1, exe: "/usr/bin/kubelet", args: []string{"/usr/bin/kubelet", "--config=/evil"}, cgroup: pod, tcp: []string{onServer, onHealthz}, unix: []string{containerdSocket}}
	sibling, class, cgroupfs := fake, fake, fake
	sibling.cgroup = "/../../kubepods-burstable-pod1.slice/cri-containerd-abc.scope"
	class.cgroup = "/../../../kubepods-besteffort.slice/kubepods-besteffort-pod1.slice/cri-containerd-abc.scope"
	cgroupfs.cgroup = "/../../pod6e8b2e2c-3a53-4a0c-9d4f-9f5e3a2b1c0d/0123abc"
	user := fake
	user.cgroup, user.uid = "/user.slice", "1000"
	nested := fake
	nested.cgroup, nested.users = "/system.slice/x.service", "user:[5]"
	other := fake
	other.cgroup, other.exe, other.args = "/system.slice/web.service", "/usr/bin/web", []string{"/usr/bin/web"}
	own := journaled(proc{
		pid: 700, parent: 1, exe: "/usr/bin/kubelet", args: []string{"/usr/bin/kubelet", "--port=10350", "--healthz-port=0"}, cgroup: "/system.slice/kubelet.service",
		tcp: []string{"00000000:286E"}, files: map[string]string{containerdSocket: ""},
	})
	for name, tc := range map[string]struct {
		fake proc
		why  string
	}{
		"in a pod": {fake, "process 300 (kubelet): it runs in a pod"},
		"beside attach, seen from its cgroup namespace":           {sibling, "process 300 (kubelet): it runs in a pod"},
		"of another class, seen so":                               {class, "process 300 (kubelet): it runs in a pod"},
		"beside attach, seen so, with the cgroup driver cgroupfs": {cgroupfs, "process 300 (kubelet): it runs in a pod"},
		"another user":     {user, "process 300 (kubelet): it does not run as root"},
		"a user namespace": {nested, "process 300 (kubelet): it runs in a user namespace"},
		"another program":  {other, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Discover(newMachine(tc.fake, own), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if f.Process.PID != 700 || strings.Join(f.Strangers, ";") != tc.why {
				t.Errorf("got process %d, strangers %q", f.Process.PID, f.Strangers)
			}
			if tc.why != "" && f.Runtime.Process != nil {
				t.Errorf("its socket was taken for the runtime's: %v", f.Runtime.Process)
			}
			if _, err := Discover(newMachine(tc.fake), Options{}); !errors.Is(err, ErrNoKubelet) {
				t.Errorf("alone: %v", err)
			}
			if tc.why != "" {
				if _, err := Discover(newMachine(tc.fake, own), Options{PID: 300}); err == nil {
					t.Error("it was taken by its number")
				}
			}
		})
	}
}

// TestRelative sees that the kubelet is found from a cgroup namespace in a pod, and that names like a pod's are none.
func TestRelative(t *testing.T) {
	m := newMachine(journaled(proc{pid: 700, parent: 1, exe: "/usr/bin/kubelet", args: []string{"kubelet"}, cgroup: "/../../../../system.slice/kubelet.service", tcp: []string{onServer}}))
	m.file("proc/1/cgroup", "0::/../../../../init.scope\n")
	if got := look(m, Options{}); got.PID != 700 || got.Log != "journal of kubelet.service" {
		t.Errorf("got %+v", got)
	}
	for _, cgroup := range []string{"/machine.slice/libpod-0123.scope", "/system.slice/podman.service", "/user.slice", "/pods", "/../../../../kubelet.slice/kubelet.service", "/podium/x"} {
		if n := podsIn("0::" + cgroup + "\n"); n != 0 {
			t.Errorf("%s: in %d pods", cgroup, n)
		}
	}
}

// TestFromContainer opens the node's files from a container, also where process 1 may not be looked at.
func TestFromContainer(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		m := newMachine(proc{pid: 700, exe: "/usr/bin/kubelet", args: []string{"kubelet"}, tcp: []string{onServer}, fd2: "/var/log/kubelet.log", files: map[string]string{"/var/lib/kubelet/pods-api/pods-api.sock": ""}})
		m.link("proc/self/ns/mnt", "mnt:[9]")
		m.file("mine.log", "")
		root := "/proc/1/root"
		if hidden {
			delete(m.MapFS, "proc/1/ns/mnt")
			root = "/proc/700/root"
		}
		for named, want := range map[string]string{"": root + "/var/log/kubelet.log", "/rke2/kubelet.log": root + "/rke2/kubelet.log", "/mine.log": "/mine.log"} {
			f, err := Discover(m, Options{LogFile: named, RuntimeLog: "/rke2/containerd.log"})
			if err != nil {
				t.Fatal(err)
			}
			if l := f.Runtime.Log; l.Kind != LogFile || l.Open != root+"/rke2/containerd.log" {
				t.Errorf("the runtime's log is %+v", l)
			}
			if f.Log.Open != want || f.PodsAPI != root+"/var/lib/kubelet/pods-api/pods-api.sock" {
				t.Errorf("hidden %v, named %q: the log is %s, want %s; PodsAPI %s", hidden, named, f.Log.Open, want, f.PodsAPI)
			}
		}
	}
}

// TestZone takes the zone of the kubelet's files, not that of the image of attach.
func TestZone(t *testing.T) {
	berlin, err := os.ReadFile("/usr/share/zoneinfo/Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	kubelet := func(env ...string) proc {
		return proc{pid: 700, parent: 1, exe: "/usr/bin/kubelet", args: []string{"kubelet"}, tcp: []string{onServer}, mounts: "mnt:[9]", env: env, files: map[string]string{
			"/etc/localtime": "-> ../usr/share/zoneinfo/Europe/Berlin", "/usr/share/zoneinfo/Europe/Berlin": string(berlin),
		}}
	}
	for name, tc := range map[string]struct {
		env  []string
		want int
	}{
		"the file":                  {nil, 3600},
		"the variable":              {[]string{"TZ=Europe/Berlin"}, 3600},
		"a variable that is UTC":    {[]string{"TZ="}, 0},
		"a variable that leads out": {[]string{"TZ=../../../etc/shadow"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Discover(newMachine(kubelet(tc.env...)), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if f.Zone == nil {
				t.Fatal("no zone")
			}
			if _, got := time.Date(2026, 1, 1, 0, 0, 0, 0, f.Zone).Zone(); got != tc.want {
				t.Errorf("got %d s east of UTC, want %d", got, tc.want)
			}
		})
	}
	if f, err := Discover(newMachine(proc{pid: 700, exe: "/kubelet", args: []string{"kubelet"}, tcp: []string{onServer}}), Options{}); err != nil || f.Zone != nil {
		t.Errorf("with the same files: %v, %v", f.Zone, err)
	}
}

// TestNodeInPod sees that a node that is itself a pod of another cluster has a kubelet.
func TestNodeInPod(t *testing.T) {
	m := newMachine(journaled(proc{pid: 700, parent: 1, exe: "/usr/bin/kubelet", args: []string{"kubelet"}, cgroup: "/kubepods/pod1/abc/system.slice/kubelet.service", tcp: []string{onServer}}),
		proc{pid: 800, parent: 1, exe: "/usr/bin/kubelet", args: []string{"kubelet"}, cgroup: "/kubepods/pod1/abc/kubepods/pod2/def", tcp: []string{onHealthz}})
	m.file("proc/1/cgroup", "0::/kubepods/pod1/abc/init.scope\n")
	if got := look(m, Options{}); got.PID != 700 {
		t.Errorf("got %+v", got)
	}
}

// TestBelowRoot sees that links of a process's files lead to its own files only.
func TestBelowRoot(t *testing.T) {
	m := newMachine(proc{pid: 700, exe: "/kubelet", args: []string{"kubelet"}, tcp: []string{onServer}, files: map[string]string{
		"/etc/a": "-> /etc/b", "/etc/b": "-> ../../../../../../secret", "/secret": "own", "/loop": "-> /loop",
	}})
	m.file("secret", "the host's")
	b, err := readWithin(m, "proc/700/root", "/etc/a")
	if err != nil || string(b) != "own" {
		t.Errorf("got %q, %v", b, err)
	}
	if _, err := readWithin(m, "proc/700/root", "/loop"); err == nil {
		t.Error("a loop has an end")
	}
}

// TestSeveral sees that several kubelets are told apart, by process or root directory.
func TestSeveral(t *testing.T) {
	one := proc{pid: 10, exe: "/usr/bin/kubelet", args: []string{"kubelet"}, tcp: []string{onServer}}
	two := proc{pid: 20, exe: "/usr/bin/kubelet", args: []string{"kubelet", "--root-dir=/two"}, tcp: []string{onHealthz}}
	m := newMachine(one, two)
	if got := look(m, Options{}); !strings.Contains(got.Err, "several kubelets, processes 10, 20") {
		t.Errorf("got %+v", got)
	}
	if got := look(m, Options{PID: 20}); got.PID != 20 {
		t.Errorf("got %+v", got)
	}
	if got := look(m, Options{RootDir: "/two"}); got.PID != 20 {
		t.Errorf("got %+v", got)
	}
}

// TestAgain finds the kubelet that was started in the place of another one, with what the user named.
func TestAgain(t *testing.T) {
	one := proc{pid: 10, exe: "/usr/bin/kubelet", args: []string{"kubelet"}, tcp: []string{onServer}}
	f, err := Discover(newMachine(one), Options{PID: 10, InCluster: true, KubeletKubeconfig: "/mine.conf", LogFile: "/var/log/k.log"})
	if err != nil {
		t.Fatal(err)
	}
	one.pid, one.mounts = 30, "mnt:[9]"
	other := proc{pid: 20, exe: "/usr/bin/kubelet", args: []string{"kubelet", "--root-dir=/two"}, tcp: []string{onHealthz}}
	m := newMachine(one, other)
	for range 2 {
		if f, err = f.Again(m); err != nil {
			t.Fatal(err)
		}
		if f.Process.PID != 30 || f.Rights == nil || f.Rights.Kubeconfig != "/mine.conf" || f.Access == nil || f.Log.Kind != LogFile || f.Outside("/x") != "/proc/30/root/x" {
			t.Errorf("got process %d, %+v, %+v, log %+v", f.Process.PID, f.Rights, f.Access, f.Log)
		}
	}
}

// TestNothing sees what is said of a machine without a kubelet, and of hostile names.
func TestNothing(t *testing.T) {
	_, err := Discover(newMachine(), Options{})
	if err == nil || !strings.Contains(err.Error(), "no process listens on port 10250") {
		t.Error(err)
	}
	m := newMachine(proc{pid: 300, exe: "/x/y", args: []string{"\x1b[2J"}, tcp: []string{onServer}, uid: "7"})
	m.file("proc/300/stat", "300 (a) b) \x1b[31m) S 1 1 1")
	if _, err := Discover(m, Options{}); err == nil {
		t.Error("found one")
	}
	for _, text := range []string{"", "x", "0: 00000000:280A", strings.Repeat("0: zz:zz 0 0A ", 20), fmt.Sprintf("0: %s:280A 0 0A 0 0 0 0 0 7\n", strings.Repeat("0", 30))} {
		if got := listeners(text); len(got) > 0 {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestText is what --check prints.
func TestText(t *testing.T) {
	f, err := Discover(newMachine(containerd(600, containerdSocket), proc{
		pid: 700, parent: 1, exe: "/usr/bin/kubelet", args: []string{"kubelet", "--v=2"}, cgroup: "/system.slice/kubelet.service", tcp: []string{onServer}, fd2: "pipe:[4]",
		files: map[string]string{containerdSocket: ""},
	}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	const want = `kubelet         version not known, process 700, /usr/bin/kubelet, unit kubelet.service
listens on      0.0.0.0:10250
configuration   flags and defaults
root directory  /var/lib/kubelet
cgroup driver   cgroupfs (unless the runtime says otherwise)
runtime         containerd unix:///run/containerd/containerd.sock
                process 600, /usr/bin/containerd, unit containerd.service

kubelet log     no   a pipe
                     missing: its standard error is a pipe, which only one program can read; if that writes a file, name it with --kubelet-log FILE
runtime log     yes  journal of containerd.service
                     gives: begin and end of each sandbox, pull and container call, to some ms
runtime socket  yes  unix:///run/containerd/containerd.sock
                     gives: the sandboxes and containers that are there (read-only lists); containerd's events: exits, kills for lack of memory, tasks, layers of images
runtime spans   no   
                     missing: containerd sends none. With OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318, OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf and OTEL_BSP_SCHEDULE_DELAY=1000 in its environment, a restart of it (containers continue) and attach --otlp-http 127.0.0.1:4318, it tells the parts of each call
kubelet spans   no   
                     missing: the kubelet sends none. With tracing: {endpoint: "127.0.0.1:4317", samplingRatePerMillion: 1000000} in its configuration, a restart of it (pods continue) and attach --otlp-grpc 127.0.0.1:4317, it tells each sync of a pod at any verbosity
PodsAPI         no   
                     missing: there is no socket: Kubernetes 1.37 and later have it, 1.36 with the feature gate PodsAPI
podresources    no   
                     missing: there is no socket /var/lib/kubelet/pod-resources/kubelet.sock: Kubernetes 1.20 and later have it; before 1.28, the feature gate KubeletPodResources can switch it off
kubelet API     no   port 10250
                     missing: no credentials for it were found on this node (workers have none: the kubelet's own identity may not use it); name some with --kubelet-kubeconfig FILE: get of nodes/metrics, nodes/configz and nodes/healthz, before Kubernetes 1.33 of nodes/proxy
API server      no   no kubeconfig
                     missing: name a kubeconfig with --kubeconfig FILE, which may list and watch pods and events
kernel          yes  /proc
                     gives: the kubelet's use of CPU and memory, how busy the node is; mounts of volumes; directories and mounts of pods that nobody knows
                     missing: pressure (PSI): boot the kernel with psi=1; cgroups: the kubelet's mount table has none with a CPU controller; runs of CNI plugins and credential providers: they need CAP_SYS_ADMIN, in a container as an added capability
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// TestTracing: where the kubelet sends spans, if it sends some.
func TestTracing(t *testing.T) {
	for text, want := range map[string]string{
		"tracing: {endpoint: 127.0.0.1:4317, samplingRatePerMillion: 1}": "127.0.0.1:4317",
		"tracing: {samplingRatePerMillion: 1000000}":                     "localhost:4317",
		"tracing: {endpoint: 127.0.0.1:4317}":                            "",
		"healthzPort: 10248":                                             "",
	} {
		var k kubeletFile
		if err := yaml.Unmarshal([]byte(text), &k); err != nil {
			t.Fatal(err)
		}
		f := &Found{}
		f.Config.fromFile(&k)
		if f.Config.Tracing != want || f.tracingSource().There != (want != "") {
			t.Errorf("%s: %q, %+v", text, f.Config.Tracing, f.tracingSource())
		}
	}
}

// TestRuntimeLog: the logs of the two runtimes do not have the same.
func TestRuntimeLog(t *testing.T) {
	for name, missing := range map[string]string{"containerd": "", "cri-o": "log_level"} {
		f := Found{Runtime: Runtime{Name: name, Process: &Process{}, Log: Log{Kind: LogFile, Path: "/var/log/x"}}}
		if s := f.runtimeLogSource(); !s.There || (s.Missing == "") != (missing == "") || !strings.Contains(s.Missing, missing) {
			t.Errorf("%s: got %+v", name, s)
		}
	}
}

// TestLogDevices: what is in /dev/shm is a file, and so are logs there; other names in /dev are devices.
func TestLogDevices(t *testing.T) {
	for fd2, want := range map[string]LogKind{"/dev/pts/3": LogTerminal, "/dev/null": LogNowhere, "/dev/shm/lab/kubelet.log": LogFile} {
		m := newMachine(proc{pid: 700, exe: "/usr/bin/kubelet", args: []string{"kubelet"}, tcp: []string{onServer}, fd2: fd2})
		f, err := Discover(m, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if f.Log.Kind != want {
			t.Errorf("%s: %v, want %v", fd2, f.Log, want)
		}
	}
}
