// Package control is the agent's control socket: the stream of records, answers to what records do not tell, and
// stepping, for other programs of the same node.
//
// It owns the socket file, the protocol (docs/control.md) and both its ends, Server and Client. It reaches an
// agent only through Backlog, Node and Steppers, and does nothing to it but by a stepping session, whose gate
// opens when its connection ends, however that comes, or when the client is not heard of for too long.
//
// Only root and the server's own user are served: the file's mode says so, and the kernel says who is at the
// other end. A client that does not read keeps nobody waiting: it has its own cursor and is told exactly what
// it lost.
//
// While the socket cannot be made the server tries again, and it makes it again when it is removed or replaced.
//
// A server runs one goroutine that accepts, two that see whether the socket is there, one to three per connection; a client
// one per stream that follows, for its signs of life, two per stepping session. The server publishes Log: a peer that was
// refused, who attached, a client that hung, and whether it can listen.
package control
