package trace

import "time"

// ServerRequest is one request to one of the agent's HTTP servers, from its arrival to the end of the response. For exec, attach,
// port-forward and followed logs, it lasts as long as the stream.
type ServerRequest struct {
	// Server is the server that received it.
	Server ServerName `json:"server"`
	Method string     `json:"method"`
	// Path is without the query, which may contain secrets.
	Path string `json:"path"`
	From string `json:"from,omitempty"`
	// User is the client's user name, How the kind of its credential.
	User string     `json:"user,omitempty"`
	How  Credential `json:"how,omitempty"`
	// CertificateLeft is how long the client's certificate was still valid when the request arrived, less than 0 if it had expired; 0 if it had none.
	CertificateLeft time.Duration `json:"certificate_left_ns,omitempty"`
	// Verdict is the result of authentication and authorization; empty on servers without authentication.
	Verdict AccessVerdict `json:"verdict,omitempty"`
	// Reason is the authorizer's reason.
	Reason string `json:"reason,omitempty" scrub:"text"`
	// Code is the HTTP status: 101 if a stream followed, 499 if the client ended a stream of a local socket.
	Code int `json:"code,omitempty"`
	// WebSocket says that the client streams (exec, attach, port forward) over a WebSocket that the server itself connects to the runtime.
	WebSocket bool `json:"websocket,omitempty"`
	// Bytes is the number of bytes that were sent.
	Bytes int64 `json:"bytes,omitempty"`
	// Unpublished is the number of earlier requests that were not published, because too many arrived over connections of unknown
	// clients.
	Unpublished int `json:"unpublished,omitempty"`
}
