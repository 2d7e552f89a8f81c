package memdir

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// canMount checks the permission, so that the error says what is missing.
func canMount() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return fmt.Errorf("read this process's capabilities: %w", err)
	}
	if sets[0].Effective&(1<<unix.CAP_SYS_ADMIN) == 0 {
		return &UnsupportedError{Why: "root (CAP_SYS_ADMIN) is required"}
	}
	return nil
}
