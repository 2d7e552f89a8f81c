// Package gate has the types with which the agent pauses an action, and with which a step session answers.
//
// It owns only the types: it holds no pod, calls nothing, runs no goroutine and publishes nothing. The agent's runner asks, and a
// session of inspect/step answers.
package gate

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// When is the point of an action where a pod is paused.
type When = trace.GateWhen

// Where a pod can be held.
const (
	Before = trace.GateBefore
	Call   = trace.GateCall
	After  = trace.GateAfter
)

// Question is the runner's question.
type Question struct {
	Pod  trace.Pod
	Plan trace.Plan
	// Ending says that the plan terminates the pod; otherwise it starts the pod.
	Ending bool
	// Action is the step's ID.
	Action    string
	Container string
	// Image is the image of the container or of the pull.
	Image string
	// Sandbox is the ID of the pod's sandbox, empty if there is none.
	Sandbox string
	When    When
	// Attempt numbers the attempts of the action from 1.
	Attempt int
	// Call is the CRI method, for When Call.
	Call string
	// Title is the name of the request, such as runtime.v1.RunPodSandboxRequest; Request is the exact request, without secrets.
	Title   string
	Request json.Marshaler
	// Err and Took are the result and duration of the action, for When After.
	Err  error
	Took time.Duration
	// Object is the pod as {"pod": ..., "status": ...}, without secrets.
	Object json.Marshaler
	// Until is when the paused action continues by itself, because the deadline of a call is near; zero means never.
	// The context of the question then ends with the cause [ErrDeadline].
	Until time.Time
	// Held must be called when an action is paused, and the function that it returns when it continues: the runner releases
	// everything that other pods wait for, and publishes the wait.
	Held func() (end func())
}

// ErrDeadline is why a call is no longer held: its deadline, which another program set, is near. The call continues by
// itself.
var ErrDeadline = errors.New("the call's deadline is near")

// Do is what the runner must do with an action or a call.
type Do uint8

// The possible answers.
const (
	Go    Do = iota // continue
	Fail            // it does not run, and fails with Code; not for After
	Retry           // run the action again; for After only
)

// Answer is the answer of the step session. The zero value lets the pod continue.
type Answer struct {
	Do Do
	// Code is a gRPC code, Message its text.
	Code    uint32
	Message string
	// Delay is waited for first, but not after Left is closed: the client has disconnected.
	Delay time.Duration
	Left  <-chan struct{}
}
