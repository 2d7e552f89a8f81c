package trace

// ServerRequest is one request to one of the agent's own HTTP servers, from its arrival to the end of the answer. Of exec, attach,
// port-forward and followed logs, that is as long as they last.
type ServerRequest struct {
	// Server is which of the servers.
	Server ServerName `json:"server"`
	Method string     `json:"method"`
	// Path is without the query, which may have what is no one else's.
	Path string `json:"path"`
	From string `json:"from,omitempty"`
	// User is who asked, How they showed it.
	User string     `json:"user,omitempty"`
	How  Credential `json:"how,omitempty"`
	// Verdict is whether the request may be served; empty where nobody is asked who they are.
	Verdict AccessVerdict `json:"verdict,omitempty"`
	// Reason says why, as the authorizer does.
	Reason string `json:"reason,omitempty" scrub:"text"`
	// Code is the HTTP status; 101 where a stream followed.
	Code int `json:"code,omitempty"`
	// Bytes is how much was sent.
	Bytes int64 `json:"bytes,omitempty"`
	// Unpublished is how many requests before this one were not published, because too many came over connections on which nothing was
	// allowed yet.
	Unpublished int `json:"unpublished,omitempty"`
}
