package trace

import "time"

// APICall is one request to the API server. Each attempt is a separate call. The span of a watch is its opening; a call without
// duration, with Ended set, reports its end.
type APICall struct {
	// Client is the client that sent the request.
	Client APIClient `json:"client"`
	// Verb is the verb of the request.
	Verb APIVerb `json:"verb"`
	// Resource is the resource, such as pods, pods/status or leases; for a request without a resource, the path.
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Attempt numbers the attempts of one request from 1; omitted for the first.
	Attempt int `json:"attempt,omitempty"`
	// Code is the HTTP status, set at the end; 0 if there was no response.
	Code int `json:"code,omitempty"`
	// RetryAfter is the Retry-After of the server.
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"`
	// Ended says that the stream of a watch has ended.
	Ended bool   `json:"ended,omitempty"`
	Err   string `json:"err,omitempty" scrub:"text"`
	// Class is the class of the failure in Err.
	Class FailureClass `json:"class,omitempty"`
}

// NodeStatus is one write of the Node object.
type NodeStatus struct {
	// Op is the kind of write.
	Op NodeOp `json:"op"`
	// Cause is the reason of the write.
	Cause NodeCause `json:"cause,omitempty"`
	// Ready is the Ready condition as written.
	Ready bool `json:"ready,omitempty"`
	// Changed lists the differences from the object that the API server has.
	Changed []Change `json:"changed,omitempty"`
	// Refused is the API server's reason for not creating the object at registration, such as AlreadyExists.
	Refused string `json:"refused,omitempty"`
	Err     string `json:"err,omitempty" scrub:"text"`
	// Clipped is how many changes were omitted because of the limit.
	Clipped int `json:"clipped,omitempty"`
}
