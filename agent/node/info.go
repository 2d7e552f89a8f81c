package node

import (
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// kubernetesVersion is the release whose behavior the agent follows.
const kubernetesVersion = "v1.37.1"

// KubeletVersion returns the version in the node's status: the Kubernetes release that the agent follows, which
// controllers and tools read, with kubeloupe's own version as build metadata, which they ignore:
// v1.37.1+kubeloupe.0.3.0.
func KubeletVersion(own string) string {
	own = strings.TrimPrefix(own, "v")
	own = strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '-', r == '.':
			return r
		}
		return '-'
	}, own)
	own = strings.Trim(own, ".")
	for strings.Contains(own, "..") {
		own = strings.ReplaceAll(own, "..", ".")
	}
	if own == "" {
		return kubernetesVersion + "+kubeloupe"
	}
	return kubernetesVersion + "+kubeloupe." + own
}

// ReadInfo reads the machine's identity from /proc, /sys and /etc below root ("/" except in tests). What cannot be read
// is empty. swap is in bytes.
func ReadInfo(root, version string, swap int64) v1.NodeSystemInfo {
	info := v1.NodeSystemInfo{
		MachineID:       first(root, "etc/machine-id", "var/lib/dbus/machine-id"),
		SystemUUID:      first(root, "sys/class/dmi/id/product_uuid", "proc/device-tree/system-id", "proc/device-tree/vm,uuid", "etc/machine-id"),
		BootID:          first(root, "proc/sys/kernel/random/boot_id"),
		KernelVersion:   release(),
		OSImage:         osImage(root),
		KubeletVersion:  KubeletVersion(version),
		OperatingSystem: runtime.GOOS,
		Architecture:    runtime.GOARCH,
	}
	if swap > 0 {
		info.Swap = &v1.NodeSwapStatus{Capacity: new(swap)}
	}
	return info
}

// InUserNamespace reports whether this process is in a user namespace of its own, by what the kernel writes below root ("/" except in tests):
// the node's has all IDs.
//
// Upstream: github.com/moby/sys/userns, RunningInUserNS.
func InUserNamespace(root string) bool {
	text, err := wholefile.Read(filepath.Join(root, "proc/self/uid_map"), wholefile.Small)
	if err != nil {
		return false // a kernel without user namespaces
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.Join(strings.Fields(line), " ") != "0 0 4294967295"
}

// AppArmor reports whether the kernel below root ("/" except in tests) has AppArmor enabled.
func AppArmor(root string) bool { return first(root, "sys/module/apparmor/parameters/enabled") == "Y" }

// first returns the text of the first file that is not empty.
func first(root string, paths ...string) string {
	for _, path := range paths {
		text, err := wholefile.Read(filepath.Join(root, path), wholefile.Small) // the kernel or root writes it
		if s := strings.Trim(string(text), " \n\x00"); err == nil && s != "" {
			return s
		}
	}
	return ""
}

func release() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// osImage returns the distribution's name for people.
func osImage(root string) string {
	for _, path := range []string{"etc/os-release", "usr/lib/os-release"} {
		text, err := wholefile.Read(filepath.Join(root, path), wholefile.Small)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
				return strings.Trim(name, `"'`)
			}
		}
	}
	return "Unknown"
}
