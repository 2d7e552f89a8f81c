// Package kubeclient makes the clients of the API server: main for everything, events with its own rate, and heartbeat, which
// is not throttled and gives up within a lease.
//
// It owns the transport they share: connections, who the agent is to the server, retries that the server asks for (429 and
// 5xx with Retry-After), and the pace that kubeAPIQPS allows. What the agent wants of the API it does not know.
//
// It never writes a file, and never keeps or publishes a request's or an answer's body.
//
// It runs no goroutine of its own.
//
// It publishes an api.call for each attempt, and pod.wait of kind tokens (client throttling) and backoff (the server's Retry-After),
// below the span in the request's context. The span's W3C id goes with the request as traceparent.
package kubeclient
