package memdir

import "golang.org/x/sys/unix"

// noswap is the option of a tmpfs that is never swapped out.
const noswap = "noswap"

// KeepsFromSwap reports whether the kernel has tmpfs that are never swapped out: since 6.4, and not in a user namespace. It asks the kernel, and
// mounts nothing.
//
// Upstream: pkg/kubelet/util/swap/swap_util.go, IsTmpfsNoswapOptionSupported.
func KeepsFromSwap() bool {
	fd, err := unix.Fsopen(tmpfs, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return false
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	return unix.FsconfigSetFlag(fd, noswap) == nil
}
