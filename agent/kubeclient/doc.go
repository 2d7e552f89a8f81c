// Package kubeclient creates the clients of the API server: main for everything, events with its own rate limit, and
// heartbeat, which is not throttled and whose timeout is shorter than a lease.
//
// It owns their transport: connections, the agent's credentials, retries that the server requests (429 and 5xx with
// Retry-After), and the rate limit of kubeAPIQPS. It does not know the purpose of a request.
//
// It never writes a file, and never keeps or publishes the body of a request or response.
//
// It runs no goroutine.
//
// It publishes an api.call for each attempt, and pod.wait of kind tokens (client throttling) and backoff (the server's
// Retry-After), below the span in the request's context. The request has the span's W3C ID as traceparent.
package kubeclient
