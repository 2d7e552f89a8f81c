// Package localrpc serves gRPC to programs of root on this node: on a unix socket, with limits.
//
// It owns the socket's file, and the limits on connections, requests and answers. The services are those of its callers, such as
// podresources.
//
// Goroutines: Run is the server; gRPC has some for each connection.
//
// It publishes a ServerRequest for each request, except those above the rate limit.
package localrpc
