package control

import "net"

// Listen creates a socket by the rules of the control socket: mode 0600, in a directory in which only root and this user can
// replace it, and only they are served. The error names the path. Close removes the file, if it is still the same one.
func Listen(path string) (net.Listener, error) {
	l, err := listen(path)
	if err != nil {
		return nil, err
	}
	return privateListener{l}, nil
}

// privateListener accepts only root and this user.
type privateListener struct{ *listener }

// Accept implements net.Listener. It rejects clients that may not connect.
func (p privateListener) Accept() (net.Conn, error) {
	for {
		conn, err := p.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if who, err := peerOf(conn); err == nil && trusted(who) {
			return conn, nil
		}
		conn.Close() //nolint:errcheck // nothing was said
	}
}

// Close implements net.Listener.
func (p privateListener) Close() error { return p.close() }
