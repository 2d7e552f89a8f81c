package trace

import "time"

// APICall is one request to the API server. Each attempt is one: a retry is a call of its own. A watch's
// span is its opening; its end is told by a call without duration that has Ended set.
type APICall struct {
	// Client is the client that asked.
	Client APIClient `json:"client"`
	// Verb is what was asked for.
	Verb APIVerb `json:"verb"`
	// Resource is as pods, pods/status or leases; a path where the request is for none.
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Attempt numbers the tries of one request from 1; left out for the first.
	Attempt int `json:"attempt,omitempty"`
	// Code is the HTTP status, set at the end; 0 when no answer came.
	Code int `json:"code,omitempty"`
	// RetryAfter is how long the server asks to wait.
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"`
	// Ended says that a watch's stream is over.
	Ended bool   `json:"ended,omitempty"`
	Err   string `json:"err,omitempty" scrub:"text"`
	// Class is what sort of failure Err tells of.
	Class FailureClass `json:"class,omitempty"`
}

// NodeStatus is one write of the node's object.
type NodeStatus struct {
	// Op is how the object is written.
	Op NodeOp `json:"op"`
	// Cause is why.
	Cause NodeCause `json:"cause,omitempty"`
	// Ready is the Ready condition as written.
	Ready bool `json:"ready,omitempty"`
	// Changed is how the object differs from the one that the API server has.
	Changed []Change `json:"changed,omitempty"`
	// Refused is the API server's word for why it did not make the object that was to be registered, as AlreadyExists.
	Refused string `json:"refused,omitempty"`
	Err     string `json:"err,omitempty" scrub:"text"`
	// Clipped is how many changes were left out because they were too many.
	Clipped int `json:"clipped,omitempty"`
}
