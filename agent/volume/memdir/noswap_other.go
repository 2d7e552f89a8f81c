//go:build !linux

package memdir

const noswap = "noswap"

// KeepsFromSwap reports that there is no tmpfs.
func KeepsFromSwap() bool { return false }
