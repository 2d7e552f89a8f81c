// Package conns limits the resources of a listener that its clients can hold: the number of connections, the memory of connections
// of unknown clients, and the share of one source.
//
// It owns the listener's bookkeeping. It never reads more than requested, decides nothing about requests and publishes nothing. It
// runs no goroutine.
//
// Every client that can connect to the port can open connections and write to them, so the package trusts no peer. A connection is
// unknown until [Conn.Vouch]. If there are too many unknown connections, the source with the most of them loses its oldest one. So
// a new client can always connect, and a client that floods the port closes its own connections.
package conns
