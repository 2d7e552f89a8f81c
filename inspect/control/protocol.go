package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/step"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Version is the protocol's version. Both ends must use the same.
const Version = 4

// Hello is the server's first line.
type Hello struct {
	// Control is the protocol's version.
	Control int `json:"control"`
	// Version is kubeloupe's version.
	Version string `json:"version"`
	PID     int    `json:"pid"`
	Node    string `json:"node,omitempty"`
	// Simulated says that no real container runs.
	Simulated bool `json:"simulated,omitempty"`
	// Silence is how many milliseconds a client may say nothing: while it steps a pod, before the gate opens; while it reads events,
	// before a new client may take its place.
	Silence int64 `json:"silence_ms,omitempty"`
}

// EventsOptions select records.
type EventsOptions struct {
	// Backlog begins the stream with the records that are needed to know the node, or a pod.
	Backlog bool `json:"backlog,omitempty"`
	// Follow continues with new records.
	Follow bool `json:"follow,omitempty"`
	// Batch lets new records come up to 50 ms late, several at a time: that costs the agent less.
	Batch bool `json:"batch,omitempty"`
	// Kinds and Pod (NAMESPACE/NAME) limit the stream to these; empty means no limit.
	Kinds []string `json:"kinds,omitempty"`
	Pod   string   `json:"pod,omitempty"`
}

// QueryRequest is a query for data that is not in the records.
type QueryRequest struct {
	What string            `json:"what"`
	Args map[string]string `json:"args,omitempty"`
}

// StepRequest selects the pod to step.
type StepRequest struct {
	// Pod is NAMESPACE/NAME. It need not exist yet.
	Pod string `json:"pod"`
	// Creation and Deletion limit the session to that part of the pod's life; without either, all of it is stepped.
	Creation bool `json:"creation,omitempty"`
	Deletion bool `json:"deletion,omitempty"`
}

// request is the client's first line: one of the fields is set.
type request struct {
	Events *EventsOptions `json:"events,omitempty"`
	Query  *QueryRequest  `json:"query,omitempty"`
	Step   *StepRequest   `json:"step,omitempty"`
}

// command is a line of a step client.
type command struct {
	ID   uint64 `json:"id,omitempty"`
	Line string `json:"line,omitempty"`
	// Alive is a keep-alive message.
	Alive bool `json:"alive,omitempty"`
}

// reply answers a command.
type reply struct {
	ID   uint64 `json:"id"`
	Text string `json:"text,omitempty"`
	Err  string `json:"error,omitempty"`
}

// answer is a line of the server after its hello: one of the fields is set. Records are decoded in a faster way.
type answer struct {
	Record   json.RawMessage `json:"record,omitempty"`
	Lost     uint64          `json:"lost,omitempty"`
	Live     *uint64         `json:"live,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	Attached bool            `json:"attached,omitempty"`
	Stop     *step.Stop      `json:"stop,omitempty"`
	Reply    *reply          `json:"reply,omitempty"`
	End      string          `json:"end,omitempty"` // the reason for the end
	Err      string          `json:"error,omitempty"`
}

// The reasons for the end of a stream.
const (
	endDone = "done"     // everything was sent
	endStop = "stopping" // the agent stops
)

// decodeRequest decodes a client's first line.
func decodeRequest(line []byte) (request, error) {
	var r request
	if err := strict(line, &r); err != nil {
		return request{}, fmt.Errorf("request: %w", err)
	}
	set := 0
	for _, is := range []bool{r.Events != nil, r.Query != nil, r.Step != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		return request{}, errors.New("request: must have one of the fields events, query and step")
	}
	if err := r.check(); err != nil {
		return request{}, fmt.Errorf("request: %w", err)
	}
	return r, nil
}

func (r *request) check() error {
	switch {
	case r.Events != nil:
		if r.Events.Pod != "" && !isPodName(r.Events.Pod) {
			return fmt.Errorf("field events.pod: %q is not NAMESPACE/NAME", r.Events.Pod)
		}
		if !r.Events.Backlog && !r.Events.Follow {
			return errors.New("field events: must be backlog, follow or both")
		}
		all := trace.Kinds()
		for _, kind := range r.Events.Kinds {
			if !slices.Contains(all, kind) {
				return fmt.Errorf("field events.kinds: unknown kind %q: must be one of %s", kind, strings.Join(all, ", "))
			}
		}
	case r.Query != nil && r.Query.What == "":
		return errors.New("field query.what is empty")
	case r.Step != nil && !isPodName(r.Step.Pod):
		return fmt.Errorf("field step.pod: %q is not NAMESPACE/NAME", r.Step.Pod)
	case r.Step != nil && r.Step.Creation && r.Step.Deletion:
		return errors.New("field step: must be creation, deletion, or neither for both")
	}
	return nil
}

func isPodName(s string) bool {
	namespace, name, ok := strings.Cut(s, "/")
	return ok && namespace != "" && name != "" && !strings.Contains(name, "/")
}

func decodeCommand(line []byte) (command, error) {
	var c command
	if err := strict(line, &c); err != nil {
		return command{}, fmt.Errorf("command: %w", err)
	}
	return c, nil
}

// strict decodes one object without unknown fields and without trailing data.
func strict(line []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if len(bytes.TrimSpace(line[d.InputOffset():])) > 0 {
		return errors.New("more than one object on a line")
	}
	return nil
}
