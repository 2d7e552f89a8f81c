package discover

import (
	"strings"
	"testing"
)

func TestKernelSource(t *testing.T) {
	for name, tc := range map[string]struct {
		files               map[string]string
		where, gives, lacks string
	}{
		"all": {
			files: map[string]string{
				"proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n", "proc/self/status": "Name:\tx\nCapEff:\t000001ffffffffff\n",
				"proc/7/mountinfo": "30 24 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
			},
			where: "/proc, PSI, cgroup v2, fanotify", gives: "runs of CNI plugins in /opt/cni/bin",
		},
		"a container without capabilities": {
			files: map[string]string{
				"proc/self/status": "CapEff:\t00000000a80c25fb\n", // with SYS_PTRACE and SYS_CHROOT
				"proc/7/mountinfo": "30 24 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n31 24 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
			},
			where: "/proc, cgroup v1", lacks: "boot the kernel with psi=1; runs of CNI plugins and credential providers: they need CAP_SYS_ADMIN",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(proc{pid: 7, exe: "/usr/bin/kubelet"})
			for file, text := range tc.files {
				m.file(file, text)
			}
			p, err := process(m, 7)
			if err != nil {
				t.Fatal(err)
			}
			s := (&Found{Process: p, Runtime: Runtime{CNIDirs: []string{"/opt/cni/bin"}}}).kernelSource(m)
			if s.Where != tc.where || !strings.Contains(s.Gives, tc.gives) || !strings.Contains(s.Missing, tc.lacks) || tc.lacks == "" && s.Missing != "" {
				t.Errorf("%+v", s)
			}
		})
	}
}
