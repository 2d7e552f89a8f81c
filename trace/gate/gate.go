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

// When says where in an action a pod stands.
type When = trace.GateWhen

// Where a pod may be held.
const (
	Before = trace.GateBefore
	Call   = trace.GateCall
	After  = trace.GateAfter
)

// Question is the runner's question.
type Question struct {
	Pod  trace.Pod
	Plan trace.Plan
	// Ending says that the plan ends the pod; else it makes it.
	Ending bool
	// Action is the step's id.
	Action    string
	Container string
	// Image is that of the container or of the pull.
	Image string
	// Sandbox is the id of the pod's sandbox, empty while there is none.
	Sandbox string
	When    When
	// Attempt numbers the tries of the action from 1.
	Attempt int
	// Call is the CRI method, for When Call.
	Call string
	// Title is the name of the request, such as runtime.v1.RunPodSandboxRequest; Request is the exact request, without secrets.
	Title   string
	Request json.Marshaler
	// Err and Took are how the action went, for When After.
	Err  error
	Took time.Duration
	// Object is the pod as {"pod": ..., "status": ...}, without secrets.
	Object json.Marshaler
	// Until is when what waits continues by itself, because the deadline of a call is near; zero is never. The context that the gate is
	// asked with then ends with the cause [ErrDeadline].
	Until time.Time
	// Held must be called when an action is paused, and the function that it returns when it continues: the runner releases
	// everything that other pods wait for, and publishes the wait.
	Held func() (end func())
}

// ErrDeadline is why a call is not held any longer: its deadline, which another program set, is near. The call continues by itself.
var ErrDeadline = errors.New("the call's deadline is near")

// Do is what the runner must do with an action or a call.
type Do uint8

// What may be answered.
const (
	Go    Do = iota // continue
	Fail            // it is not done and fails with Code; not for After
	Retry           // do the action again; for After only
)

// Answer is the answer of the step session. The zero value lets the pod continue.
type Answer struct {
	Do Do
	// Code is a gRPC code, Message goes with it.
	Code    uint32
	Message string
	// Delay is waited for first, no longer than until Left is closed: the client went away.
	Delay time.Duration
	Left  <-chan struct{}
}
