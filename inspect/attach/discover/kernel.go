package discover

import (
	"fmt"
	"strconv"
	"strings"
)

// SourceKernel is what the kernel shows: /proc, cgroups, directories, runs of programs.
const SourceKernel = "kernel"

// capSysAdmin is the number of the capability that fanotify needs.
const capSysAdmin = 21

// kernelSource says what the kernel shows here.
func (f *Found) kernelSource(v View) Source {
	s := Source{Name: SourceKernel, There: true}
	gives := []string{"the kubelet's use of CPU and memory, how busy the node is", "mounts of volumes; directories and mounts of pods that nobody knows"}
	where, missing := []string{"/proc"}, []string(nil)
	if _, err := read(v, "proc/pressure/cpu"); err == nil {
		where, gives = append(where, "PSI"), append(gives, "pressure of CPU, memory and IO")
	} else {
		missing = append(missing, "pressure (PSI): boot the kernel with psi=1")
	}
	if version := cgroupVersion(v, f.Process); version != 0 {
		where, gives = append(where, fmt.Sprintf("cgroup v%d", version)), append(gives, "what CPU limits do when probes fail")
	} else {
		missing = append(missing, "cgroups: the kubelet's mount table has none with a CPU controller")
	}
	if canWatchRuns(v) {
		where = append(where, "fanotify")
		if len(f.Runtime.CNIDirs) > 0 {
			gives = append(gives, "runs of CNI plugins in "+strings.Join(f.Runtime.CNIDirs, ", "))
		}
		if dir := f.Config.CredentialDir; dir != "" {
			gives = append(gives, "runs of credential providers in "+dir)
		}
	} else {
		missing = append(missing, "runs of CNI plugins and credential providers: they need CAP_SYS_ADMIN, in a container as an added capability")
	}
	s.Where, s.Gives, s.Missing = strings.Join(where, ", "), strings.Join(gives, "; "), strings.Join(missing, "; ")
	return s
}

// cgroupVersion is the version of the cgroups that have a CPU controller where the kubelet runs; 0 where there is none.
func cgroupVersion(v View, p *Process) (version int) {
	b, err := read(v, procFile(p.PID, "mountinfo"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		_, after, ok := strings.Cut(line, " - ") // type, source, options
		f := strings.Fields(after)
		switch {
		case !ok || len(f) < 3:
		case f[0] == "cgroup" && strings.Contains(","+f[2]+",", ",cpu,"):
			return 1
		case f[0] == "cgroup2":
			version = 2
		}
	}
	return version
}

// canWatchRuns reports whether this process has the capability to watch which programs run.
func canWatchRuns(v View) bool {
	b, err := read(v, "proc/self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if mask, ok := strings.CutPrefix(line, "CapEff:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			return err == nil && n&(1<<capSysAdmin) != 0
		}
	}
	return false
}
