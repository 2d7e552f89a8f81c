package otlp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// From linux/sock_diag.h, linux/inet_diag.h and net/tcp_states.h.
const (
	sockDiagByFamily = 20
	reqSize          = 56 // struct inet_diag_req_v2
	msgSize          = 72 // struct inet_diag_msg
	tcpEstablished   = 1
	tcpCloseWait     = 8
)

var errPeerGone = errors.New("it was gone before it could be said whose it is")

// peerUID returns who made the other end of a connection within this machine. The kernel says so (sock_diag), and only while that end is
// open: of one that was closed it says root. So an answer counts if both ends were there: the peer's with an owner, ours after that.
func peerUID(c net.Conn) (int, error) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return 0, fmt.Errorf("%T: no TCP connection", c)
	}
	local, err1 := netip.ParseAddrPort(c.LocalAddr().String())
	remote, err2 := netip.ParseAddrPort(c.RemoteAddr().String())
	if err := errors.Join(err1, err2); err != nil {
		return 0, err
	}
	uid, err := ownerOf(remote, local)
	if err != nil {
		return 0, err
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0, err
	}
	var info *unix.TCPInfo
	var bad error
	err = raw.Control(func(fd uintptr) { info, bad = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	if err = errors.Join(err, bad); err != nil {
		return 0, err
	}
	if info.State != tcpEstablished && info.State != tcpCloseWait { // its port may belong to another process by now
		return 0, errPeerGone
	}
	return uid, nil
}

// ownerOf queries the kernel for the socket between two addresses.
func ownerOf(from, to netip.AddrPort) (uid int, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return 0, fmt.Errorf("whose connection it is cannot be asked: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	timeout := unix.Timeval{Sec: 1}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
		return 0, err
	}
	if err := unix.Sendto(fd, diagRequest(from, to), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, fmt.Errorf("whose connection it is cannot be asked: %w", err)
	}
	answer := make([]byte, 4096)
	n, sender, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return 0, fmt.Errorf("whose connection it is was not answered: %w", err)
	}
	if nl, ok := sender.(*unix.SockaddrNetlink); !ok || nl.Pid != 0 {
		return 0, errors.New("whose connection it is was not answered by the kernel")
	}
	return diagAnswer(answer[:n])
}

// diagRequest returns the request for one socket by its addresses.
func diagRequest(from, to netip.AddrPort) []byte {
	b := make([]byte, unix.NLMSG_HDRLEN+reqSize)
	ne, be := binary.NativeEndian, binary.BigEndian
	ne.PutUint32(b, uint32(len(b)))
	ne.PutUint16(b[4:], sockDiagByFamily)
	ne.PutUint16(b[6:], unix.NLM_F_REQUEST)
	r := b[unix.NLMSG_HDRLEN:]
	r[0], r[1] = unix.AF_INET6, unix.IPPROTO_TCP
	if from.Addr().Unmap().Is4() {
		r[0] = unix.AF_INET
	}
	ne.PutUint32(r[4:], 1<<tcpEstablished)
	be.PutUint16(r[8:], from.Port())
	be.PutUint16(r[10:], to.Port())
	copy(r[12:28], from.Addr().Unmap().AsSlice())
	copy(r[28:44], to.Addr().Unmap().AsSlice())
	ne.PutUint64(r[48:], 1<<64-1) // any cookie
	return b
}

func diagAnswer(b []byte) (uid int, err error) {
	ne := binary.NativeEndian
	if len(b) < unix.NLMSG_HDRLEN {
		return 0, errPeerGone
	}
	body := b[unix.NLMSG_HDRLEN:]
	switch typ := ne.Uint16(b[4:]); {
	case typ == unix.NLMSG_ERROR && len(body) >= 4:
		errno := unix.Errno(-int32(ne.Uint32(body)))
		if errno == unix.ENOENT {
			return 0, errPeerGone
		}
		return 0, fmt.Errorf("whose connection it is cannot be said: %w", errno)
	case typ != sockDiagByFamily || len(body) < msgSize:
		return 0, errPeerGone
	}
	if state, inode := body[1], ne.Uint32(body[68:]); state != tcpEstablished || inode == 0 { // no process has it open
		return 0, errPeerGone
	}
	return int(ne.Uint32(body[64:])), nil
}
