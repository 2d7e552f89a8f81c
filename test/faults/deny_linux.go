package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denials are system calls that a kernel refuses for want of something, or a disk that is broken. The limits themselves are the whole
// machine's, or need a device: a filter of system calls is the process's own.
var denials = map[string]map[uint32]unix.Errno{
	// fs.inotify.max_user_instances and max_user_watches are reached.
	"inotify": {unix.SYS_INOTIFY_INIT1: unix.EMFILE, unix.SYS_INOTIFY_ADD_WATCH: unix.ENOSPC},
	// No write reaches the disk.
	"eio": {unix.SYS_FSYNC: unix.EIO, unix.SYS_FDATASYNC: unix.EIO},
}

// denyEnv makes a process of this program one that runs its arguments without some system calls.
const denyEnv = "KUBELOUPE_FAULTS_DENY"

// denied is cmd without the system calls of that name.
func denied(cmd *exec.Cmd, name string) *exec.Cmd {
	out := exec.Command("/proc/self/exe", append([]string{cmd.Path}, cmd.Args[1:]...)...)
	out.Env = append(os.Environ(), denyEnv+"="+name)
	return out
}

// denyMain runs what [denied] asked for, in place of this process; it returns where this is none such.
func denyMain() {
	name := os.Getenv(denyEnv)
	if name == "" {
		return
	}
	if err := deny(denials[name], os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

func deny(calls map[uint32]unix.Errno, args []string) error {
	runtime.LockOSThread()                                                             // the filter is the thread's, and exec leaves that one
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}} // seccomp_data.nr
	for nr, errno := range calls {
		filter = append(filter,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: nr},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, denyEnv+"=") {
			env = append(env, v)
		}
	}
	return syscall.Exec(args[0], args, env)
}
