package lab

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// unmount detaches a mount, also one in use.
func unmount(path string) error {
	return unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
}

// overlayWorks tries an overlay mount in dir, as containerd's snapshotter does.
func overlayWorks(lower, upper, work, target string) error {
	options := "lowerdir=" + lower + ",upperdir=" + upper + ",workdir=" + work
	if err := unix.Mount("overlay", target, "overlay", 0, options); err != nil {
		return err
	}
	return unmount(target)
}

// createBridge makes a bridge with an address and brings it up.
func createBridge(name string, addr netip.Prefix) error {
	return withSocket(func(fd int) error {
		if err := bridgeIoctl(fd, unix.SIOCBRADDBR, name); err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("create bridge %s: %w", name, err)
		}
		ip := addr.Addr().As4()
		mask := net.CIDRMask(addr.Bits(), 32)
		for _, set := range []struct {
			request uint
			addr    []byte
		}{{unix.SIOCSIFADDR, ip[:]}, {unix.SIOCSIFNETMASK, mask}} {
			ifr, err := unix.NewIfreq(name)
			if err == nil {
				err = ifr.SetInet4Addr(set.addr)
			}
			if err == nil {
				err = unix.IoctlIfreq(fd, set.request, ifr)
			}
			if err != nil {
				return fmt.Errorf("give bridge %s the address %s: %w", name, addr, err)
			}
		}
		return setFlags(fd, name, unix.IFF_UP|unix.IFF_RUNNING)
	})
}

// deleteBridge removes a bridge; one that is not there is no error.
func deleteBridge(name string) error {
	return withSocket(func(fd int) error {
		if err := setFlags(fd, name, 0); err != nil {
			if errors.Is(err, unix.ENODEV) {
				return nil
			}
			return fmt.Errorf("take bridge %s down: %w", name, err)
		}
		if err := bridgeIoctl(fd, unix.SIOCBRDELBR, name); err != nil && !errors.Is(err, unix.ENXIO) {
			return fmt.Errorf("delete bridge %s: %w", name, err)
		}
		return nil
	})
}

func setFlags(fd int, name string, flags uint16) error {
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	ifr.SetUint16(flags)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
}

func bridgeIoctl(fd int, request uintptr, name string) error {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(p))); errno != 0 {
		return errno
	}
	return nil
}

func withSocket(do func(fd int) error) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return do(fd)
}
