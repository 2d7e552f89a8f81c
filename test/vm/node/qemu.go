package node

import (
	"cmp"
	"strconv"
	"strings"
)

// memory is the machine's, in MiB, by default.
const memory = 3072

// kernelArgs has panic=-1, so that a kernel that panics early, as one in ten does under emulation, boots again. The huge pages are 32 MiB.
const kernelArgs = "root=/dev/vda rw console=ttyS0 mitigations=off psi=1 panic=-1 hugepagesz=2M hugepages=16"

// qemu returns the emulator's arguments. The feature cx16 is off: QEMU 7.2 emulates it so that the kernel panics.
func (m *Machine) qemu(cfg Config) []string {
	args := []string{
		"-accel", "tcg,thread=multi", "-cpu", "max,-la57,-vmx,-cx16", "-smp", "2", "-m", strconv.Itoa(cmp.Or(cfg.Memory, memory)),
		"-display", "none", "-nodefaults", "-serial", "file:" + m.Console,
		"-kernel", m.path(kernelFile), "-initrd", m.path(initrdFile), "-append", strings.TrimSpace(kernelArgs + " " + cfg.KernelArgs),
		"-nic", "user,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:" + m.port + "-:22",
	}
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
