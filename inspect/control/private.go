package control

import "net"

// Listen makes a socket by the rules of the control socket: mode 0600, in a directory in which nobody but root and this user can replace
// it, and only they are served. The error names the path. Closing it removes the file, if it is still the one that was made.
func Listen(path string) (net.Listener, error) {
	l, err := listen(path)
	if err != nil {
		return nil, err
	}
	return privateListener{l}, nil
}

// privateListener serves root and this user.
type privateListener struct{ *listener }

// Accept implements net.Listener. It passes over whoever may not connect.
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
