package discover

import (
	"encoding/hex"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Listener is a TCP address that a process listens on.
type Listener struct {
	Address netip.Addr
	Port    uint16
	inode   uint64
}

// String returns the listener as ADDRESS:PORT.
func (l Listener) String() string { return netip.AddrPortFrom(l.Address, l.Port).String() }

// listening is the kernel's state of a TCP socket that listens.
const listening = "0A"

// listeners reads /proc/net/tcp and tcp6. The kernel writes them; any process can listen on a free port.
func listeners(text string) (out []Listener) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 10 || f[3] != listening {
			continue
		}
		addr, port, ok := strings.Cut(f[1], ":")
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(port, 16, 16)
		if err != nil {
			continue
		}
		raw, err := hex.DecodeString(addr)
		if err != nil || len(raw)%4 != 0 {
			continue
		}
		for word := range slices.Chunk(raw, 4) { // each word is in the machine's order, which is little-endian wherever there are kubelets
			slices.Reverse(word)
		}
		ip, ok := netip.AddrFromSlice(raw)
		if !ok {
			continue
		}
		inode, err := strconv.ParseUint(f[9], 10, 64)
		if err != nil {
			continue
		}
		out = append(out, Listener{Address: ip.Unmap(), Port: uint16(n), inode: inode})
	}
	return out
}

// unixSocket is a socket of /proc/net/unix that listens.
type unixSocket struct {
	path  string
	inode uint64
}

// accepting is the kernel's flag (__SO_ACCEPTCON) of a unix socket that listens.
const accepting = 1 << 16

// unixListeners reads /proc/net/unix. Any process can bind a socket, with the path as it sees it: the owner has to be looked at.
func unixListeners(text string) (out []unixSocket) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 8 {
			continue
		}
		flags, err := strconv.ParseUint(f[3], 16, 64)
		if err != nil || flags&accepting == 0 {
			continue
		}
		inode, err := strconv.ParseUint(f[6], 10, 64)
		if err != nil {
			continue
		}
		out = append(out, unixSocket{path: f[7], inode: inode})
	}
	return out
}

// inodeOf is the inode in what a descriptor of a socket or pipe links to, socket:[123].
func inodeOf(link, kind string) (uint64, bool) {
	s, ok := strings.CutPrefix(link, kind+":[")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(s, "]"), 10, 64)
	return n, err == nil
}
