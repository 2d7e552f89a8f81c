package node

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// memory is the machine's, in MiB, and cpus the number of its processors, by default.
const (
	memory = 3072
	cpus   = 2
)

// kernelArgs has panic=-1, so that a kernel that panics early, as one in ten does under emulation, boots again. The huge pages are 32 MiB.
const kernelArgs = "root=/dev/vda rw console=ttyS0 mitigations=off psi=1 panic=-1 hugepagesz=2M hugepages=16"

// trustTSC keeps the kernel from using the HPET as its clock, which it prefers on a machine with several sockets: each reading leaves the emulated
// code, so programs in Go are slow. All processors of the emulator have the same time stamp counter.
const trustTSC = "tsc=reliable"

// withPolicy makes SELinux the kernel's security module, in place of AppArmor. Without audit=0, the console would show each access that an
// enforcing kernel would deny, which costs more than all else: the files of the node have no label.
const withPolicy = "security=selinux audit=0"

// qemu returns the emulator's arguments. The feature cx16 is off: QEMU 7.2 emulates it so that the kernel panics.
func (m *Machine) qemu(cfg Config) []string {
	kernel := []string{kernelArgs}
	if cfg.Sockets > 1 {
		kernel = append(kernel, trustTSC)
	}
	if cfg.SELinux {
		kernel = append(kernel, withPolicy)
	}
	if cfg.KernelArgs != "" {
		kernel = append(kernel, cfg.KernelArgs)
	}
	forwarded := []string{"127.0.0.1:" + m.port + "-:22"}
	if cfg.Reachable {
		forwarded = append(forwarded, Address+":10250-:10250")
	}
	args := []string{
		"-accel", "tcg,thread=multi", "-cpu", "max,-la57,-vmx,-cx16",
		"-display", "none", "-nodefaults", "-serial", "file:" + m.Console,
		"-kernel", m.path(kernelFile), "-initrd", m.path(initrdFile), "-append", strings.Join(kernel, " "),
		"-nic", "user,model=virtio-net-pci,hostfwd=tcp:" + strings.Join(forwarded, ",hostfwd=tcp:"),
	}
	args = append(args, topology(cfg)...)
	disks := []string{diskFile}
	if cfg.Disks {
		disks = append(disks, swapFile, dataFile)
	}
	for _, d := range disks {
		args = append(args, "-drive", "file="+m.path(d)+",if=virtio,format=raw,cache=unsafe")
	}
	if cfg.Detached {
		return append(args, "-daemonize", "-monitor", "unix:"+m.path(monitorFile)+",server=on,wait=off")
	}
	return append(args, "-monitor", "none")
}

// topology is the emulator's arguments for processors and memory. Sockets are NUMA nodes of the same size.
func topology(cfg Config) []string {
	memory, cpus := cmp.Or(cfg.Memory, memory), cmp.Or(cfg.CPUs, cpus)
	if cfg.Sockets < 2 {
		return []string{"-smp", strconv.Itoa(cpus), "-m", strconv.Itoa(memory)}
	}
	cores := cpus / cfg.Sockets
	args := []string{"-smp", fmt.Sprintf("%d,sockets=%d,cores=%d,threads=1", cpus, cfg.Sockets, cores), "-m", strconv.Itoa(memory)}
	for i := range cfg.Sockets {
		args = append(args,
			"-object", fmt.Sprintf("memory-backend-ram,id=ram%d,size=%dM", i, memory/cfg.Sockets),
			"-numa", fmt.Sprintf("node,nodeid=%d,cpus=%d-%d,memdev=ram%d", i, i*cores, (i+1)*cores-1, i))
	}
	return args
}
