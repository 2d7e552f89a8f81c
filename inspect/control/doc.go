// Package control is the agent's control socket: the stream of records, queries for data that is not in the records, and stepping,
// for other programs of the same node.
//
// It owns the socket file, the protocol (docs/control.md) and both its ends, Server and Client. It uses an agent only through
// Backlog, Node and Steppers, and affects it only by a step session. The session's gate opens when its connection ends for any
// reason, or when the client sends nothing for too long.
//
// Only root and the server's user are served: the file has this mode, and the kernel reports the user of a client. A client that
// does not read delays nothing: it has its own cursor and receives the exact number of lost records.
//
// If the socket cannot be created, the server retries; if it is removed or replaced, the server creates it again.
//
// A server runs one goroutine that accepts, two that check the socket, one to three per connection; a client one per followed
// stream, for keep-alive messages, two per step session. The server publishes Log: rejected peers, attached clients, clients that
// hang, and whether it can listen.
package control
