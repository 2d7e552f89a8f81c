package allocatable

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine is the capacity of the machine.
type Machine struct {
	CPUs int64
	// CPUList are the CPUs that are online, in the kernel's format, for example 0-3; "" if unknown.
	CPUList string
	// MaxPIDs is the maximum number of processes and threads; 0 if unknown.
	MaxPIDs int64
	Memory  int64 // Bytes.
	Swap    int64 // Bytes.
	Disk    int64 // Bytes, of the file system of the agent's root directory.
	// HugePages has the reserved bytes by page size in bytes, including sizes without any.
	HugePages map[int64]int64
}

// ReadMachine reads the machine's figures from /proc and /sys below root ("/" except in tests), and the size of the
// file system of dir.
func ReadMachine(root, dir string) (Machine, error) {
	m := Machine{CPUs: cpus(root), CPUList: online(root), MaxPIDs: maxPIDs(root), HugePages: hugePages(root)}
	text, err := os.ReadFile(filepath.Join(root, "proc/meminfo"))
	if err != nil {
		return m, fmt.Errorf("read the memory's size: %w", err)
	}
	m.Memory, m.Swap = meminfo(text, "MemTotal"), meminfo(text, "SwapTotal")
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return m, fmt.Errorf("size of the file system of %s: %w", dir, err)
	}
	m.Disk = int64(fs.Blocks) * int64(fs.Bsize) //nolint:unconvert // no disk has 2^63 blocks; the type of Bsize differs by system
	return m, nil
}

// cpus counts the kernel's CPUs, not only those that this process may use.
func cpus(root string) int64 {
	text, err := os.ReadFile(filepath.Join(root, "proc/cpuinfo"))
	var n int64
	if err == nil {
		for line := range bytes.Lines(text) {
			if name, _, ok := bytes.Cut(line, []byte(":")); ok && string(bytes.TrimSpace(name)) == "processor" {
				n++
			}
		}
	}
	if n == 0 {
		n = int64(runtime.NumCPU())
	}
	return n
}

func online(root string) string {
	text, err := os.ReadFile(filepath.Join(root, "sys/devices/system/cpu/online"))
	if list := strings.TrimSpace(string(text)); err == nil {
		if _, err := parseCPUs(list); err == nil {
			return list
		}
	}
	return ""
}

// maxPIDs returns the lower one of the kernel's two limits.
//
// Upstream: pkg/kubelet/stats/pidlimit/pidlimit_linux.go, Stats.
func maxPIDs(root string) int64 {
	least := int64(0)
	for _, name := range []string{"pid_max", "threads-max"} {
		text, err := os.ReadFile(filepath.Join(root, "proc/sys/kernel", name))
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

func meminfo(text []byte, field string) int64 {
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == field+":" {
			kib, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				return 0
			}
			return kib * 1024
		}
	}
	return 0
}

func hugePages(root string) map[int64]int64 {
	dirs, err := filepath.Glob(filepath.Join(root, "sys/kernel/mm/hugepages/hugepages-*kB"))
	if err != nil || len(dirs) == 0 {
		return nil
	}
	out := map[int64]int64{}
	for _, dir := range dirs {
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(dir), "hugepages-"), "kB"), 10, 64)
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, "nr_hugepages"))
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			continue
		}
		out[kib*1024] = n * kib * 1024
	}
	return out
}
