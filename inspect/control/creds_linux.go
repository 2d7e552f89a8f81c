package control

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// peer is the other end of a connection, as the kernel recorded it when it was created.
type peer struct{ uid, pid int }

func peerOf(conn *net.UnixConn) (peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return peer{}, fmt.Errorf("peer credentials: %w", err)
	}
	var cred *unix.Ucred
	var bad error
	err = raw.Control(func(fd uintptr) {
		cred, bad = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return peer{}, fmt.Errorf("peer credentials: %w", err)
	}
	return peer{uid: int(cred.Uid), pid: int(cred.Pid)}, nil
}
