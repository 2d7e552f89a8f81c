package arch

import (
	"fmt"
	"go/ast"
	"path/filepath"
	"strings"
)

// opens are the files of the agent and its observers that open files or list directories by themselves, and who writes what they open.
// guestfile (what containers write) and wholefile (what root writes) are how others do it. Where a container writes, it is said what
// keeps it from doing harm.
var opens = map[string]string{
	"agent/allocatable/machine.go":             "/sys: the kernel",
	"agent/cgroup/detect.go":                   "cgroups: the kernel, of names that root gave",
	"agent/cgroup/dirs.go":                     "cgroup files, to write: the kernel",
	"agent/cgroup/hugepages.go":                "/sys: the kernel",
	"agent/cgroup/list.go":                     "cgroups: the kernel; as many as a privileged container makes",
	"agent/cgroup/observe.go":                  "cgroup files: the kernel; O_NONBLOCK, 4 KiB",
	"agent/cgroup/swap.go":                     "cgroups: the kernel",
	"agent/cgroup/throttle.go":                 "cgroups: the kernel",
	"agent/config/load.go":                     "drop-ins' names: root",
	"agent/device/restore.go":                  "names in the directory of device plugins: root, and the plugins, which have it as a hostPath; only sockets are removed, none is opened",
	"agent/eviction/crossings_linux.go":        "cgroups' memory.usage_in_bytes: the kernel",
	"agent/eviction/stalls_linux.go":           "/proc/pressure and cgroups' memory.pressure: the kernel; O_NONBLOCK",
	"agent/gc/logs.go":                         "log directories: root and the runtime",
	"agent/guestfile/open_linux.go":            "containers: it is the guard",
	"agent/guestfile/open_other.go":            "containers: it is the guard",
	"agent/guestfile/remove_linux.go":          "containers: directories only, O_NOFOLLOW, few at a time",
	"agent/guestfile/rewrite.go":               "a new file, O_EXCL, in a directory of root's",
	"agent/image/provider/config.go":           "names of configurations: root",
	"agent/image/pulled/files.go":              "names of records: the agent",
	"agent/logs/rotate_files.go":               "logs, in directories of root's: the runtime, of what containers print; read and written in pieces until the context ends",
	"agent/nodelock/nodelock.go":               "the lock: root",
	"agent/pluginwatch/scan.go":                "names of sockets: root, and the node's drivers, which have the directory as a hostPath; none is opened",
	"agent/numa/node.go":                       "/sys: the kernel",
	"agent/oom/open_linux.go":                  "/dev/kmsg: the kernel, of names of processes; what others write there is ignored; read only, O_NONBLOCK, 8 KiB at a time",
	"agent/podruntime/logs.go":                 "names of logs: the runtime",
	"agent/podruntime/volumes.go":              "a volume, with the simulated runtime: the person who runs it",
	"agent/podsource/file_pass.go":             "names of manifests: root; as many are used as file_room.go allows",
	"agent/podsource/manifest.go":              "manifests: root; O_NONBLOCK, with a limit",
	"agent/quota/kernel_linux.go":              "an emptyDir, whose parent is root's: its containers; O_DIRECTORY, O_NOFOLLOW, and one name is read, before containers use it",
	"agent/server/logdir.go":                   "/var/log: root and pods with a hostPath; resolved by os.Root, O_NONBLOCK, files and directories only, 10,000 entries",
	"agent/stats/device_size.go":               "a link to a block device, in a directory of root's: the agent; read only, O_NONBLOCK, beside",
	"agent/stats/podfiles_linux.go":            "a pod's log directory: root and the runtime; O_DIRECTORY, O_NOFOLLOW, 4096 names; no file is opened",
	"agent/stats/processes.go":                 "/proc/PID/fd: the kernel, of files that containers open; 256 names at a time, 65,536 of a cgroup; nothing is opened there",
	"agent/stats/walk_linux.go":                "containers: directories only, O_NOFOLLOW, 256 names at a time, beside and until the context ends",
	"agent/stats/walk_other.go":                "volumes, with the simulated runtime: the person who runs it",
	"agent/userns/userns.go":                   "names in pods' directories: root",
	"agent/thermal.go":                         "/sys: the kernel",
	"agent/volume/atomicdir/tidy.go":           "a volume of files: the agent; containers have it read-only",
	"agent/volume/atomicdir/write.go":          "a volume of files: the agent; containers have it read-only; os.Root",
	"agent/volume/blockdev/blockdev.go":        "marks of devices, in directories of root's",
	"agent/volume/blockdev/loop_linux.go":      "/sys and /dev: root and the kernel",
	"agent/volume/csi/data.go":                 "names of notes, beside the drivers' mounts and not in them: root",
	"agent/volume/csi/teardown.go":             "names of notes, beside the drivers' mounts and not in them: root",
	"agent/volume/emptydir/emptydir.go":        "an emptyDir: its containers; os.Root, and only its top is looked at",
	"agent/volume/files/nested.go":             "a volume of files: the agent; containers have it read-only; os.Root",
	"agent/volume/flex/clean.go":               "names of devices' mounts, above them: root, and the agent",
	"agent/volume/flex/device.go":              "names of the pods' directories: root",
	"agent/volume/flex/watch.go":               "names of drivers: root; 256 are watched, none is opened",
	"agent/volume/fsgroup/change.go":           "the volume's own directory: the agent or a driver mounted it; see level.go",
	"agent/volume/fsgroup/chmod_linux.go":      "containers: O_PATH, O_NOFOLLOW; see level.go",
	"agent/volume/fsgroup/level.go":            "containers: directories only, O_NOFOLLOW, few at a time, some names at a time, 1,000 levels, until the context ends; a volume operation, which gives its place away when it is slow",
	"agent/volume/hostpath/check.go":           "hostPaths: anybody; O_CREAT and O_NONBLOCK; a volume operation, which gives its place away when it is slow",
	"agent/volume/layout.go":                   "names of volumes, whose parents are root's",
	"agent/volume/look_linux.go":               "the volumes' places: root; O_PATH, no foreign mount is entered",
	"agent/volume/memdir/look_linux.go":        "containers: directories, and O_PATH for everything else, O_NOFOLLOW, 256 names, 16 levels; no mount is entered but a tmpfs or hugetlbfs",
	"agent/volume/scsi/sys.go":                 "/sys and names in /dev/disk: the kernel and udev; names in the global directories: root. What a pod's author named was checked",
	"agent/volume/subpath/bind_linux.go":       "what is mounted on: root",
	"agent/volume/subpath/clean_linux.go":      "names of what is mounted on: root",
	"agent/volume/subpath/open_linux.go":       "containers: openat2 beneath the volume, O_PATH; behind a deadline (guestfile.Files.Do)",
	"agent/wholefile/read.go":                  "root: it is the guard, O_NONBLOCK, with a limit",
	"agent/wholefile/wholefile.go":             "a new file in a directory of root's",
	"inspect/attach/bundle/find.go":            "anybody: what --from names, and regular files below a directory of it, by os.Root, 200,000 names and 24 levels",
	"inspect/attach/discover/machine_linux.go": "/proc: the kernel, of what processes say of themselves; files of the kubelet's: root; O_NONBLOCK, regular files, 4 MiB",
	"inspect/attach/follow/file.go":            "a log that root configured: its program, of anybody's words; O_NONBLOCK, a regular file, read in pieces",
	"inspect/attach/rootfile/read.go":          "certificates, kubeconfigs, tokens: root, or what the user names; O_NONBLOCK, regular files, 1 MiB",
	"inspect/attach/kernel/files.go":           "/proc and cgroups: the kernel; names of directories below the kubelet's root: root; with limits, O_NONBLOCK",
	"inspect/attach/kernel/mounts_linux.go":    "/proc/PID/mountinfo: the kernel; it is polled, and not read",
	"inspect/control/lock.go":                  "the lock, in a directory of the user's own: O_NOFOLLOW, O_NONBLOCK",
	"inspect/otlp/plugins/trust_linux.go":      "/proc: the kernel, of what a process says of itself; 64 KiB",
	"inspect/recording/create.go":              "recordings: whoever has the directory; O_NOFOLLOW, O_NONBLOCK",
	"inspect/recording/file.go":                "recordings: whoever has the directory; O_EXCL, or O_NOFOLLOW and O_NONBLOCK",
	"inspect/recording/open.go":                "recordings that the user names: anybody; they are read with limits",
	"inspect/recording/parts.go":               "recordings that the user names: anybody; they are read with limits",
	"inspect/snapshot/cgroup.go":               "cgroups: the kernel",
	"inspect/snapshot/snapshot.go":             "pods' directories: root, and containers in volumes; directories only, O_NOFOLLOW, 65 names of each, no foreign mount is entered",
	"inspect/step/front.go":                    "a file that the user names",
}

// opening are the calls that open files or list directories. Methods of os.Root are not seen: who has one opened it.
var opening = map[string]bool{
	"os.Open": true, "os.OpenFile": true, "os.OpenRoot": true, "os.OpenInRoot": true, "os.Create": true, "os.ReadDir": true, "os.DirFS": true,
	"filepath.Walk": true, "filepath.WalkDir": true, "filepath.Glob": true, "fs.WalkDir": true, "fs.Glob": true, "fs.ReadDir": true, "fs.ReadFile": true,
	"ioutil.ReadDir": true, "unix.Open": true, "unix.Openat": true, "unix.Openat2": true, "syscall.Open": true, "syscall.Openat": true,
}

// checkOpens says which opens of a file of the agent or its observers nobody has thought about: containers may write what is opened. It
// reports whether there are any.
func checkOpens(name string, f *ast.File) (wrong []string, found bool) {
	name = filepath.ToSlash(name)
	if !strings.HasPrefix(name, "agent/") && !strings.HasPrefix(name, "inspect/") || strings.HasPrefix(name, "agent/cri/sim/") { // the simulated runtime's containers are not there
		return nil, false
	}
	ast.Inspect(f, func(n ast.Node) bool {
		use, ok := n.(*ast.SelectorExpr)
		if !ok || !opening[nameOf(use)] {
			return true
		}
		found = true
		if opens[name] == "" {
			wrong = append(wrong, fmt.Sprintf("%s: %s: who writes what it opens? Use guestfile for what containers write, wholefile for what root writes, "+
				"or name the file in test/arch/opens.go, with who writes it and what is done about that", name, nameOf(use)))
		}
		return true
	})
	return wrong, found
}
