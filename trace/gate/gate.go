// Package gate is the words in which a node agent asks a person who steps a pod, and
// in which the person answers.
//
// It owns the types and nothing else: it holds no pod, asks nobody, runs no goroutine and
// publishes nothing. The agent's runner asks, a session of inspect/step answers.
package gate

import (
	"encoding/json"
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

// Question is what the runner asks.
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
	// Title names the request, as runtime.v1.RunPodSandboxRequest; Request is the exact one, without
	// secrets.
	Title   string
	Request json.Marshaler
	// Err and Took are how the action went, for When After.
	Err  error
	Took time.Duration
	// Object is the pod as {"pod": ..., "status": ...}, without secrets.
	Object json.Marshaler
	// Held is to be called when a person is asked, and what it returns when they have answered: the
	// runner gives up what other pods wait for, and names the wait.
	Held func() (end func())
}

// Do is what is to become of an action or a call.
type Do uint8

// What may be answered.
const (
	Go    Do = iota // continue
	Fail            // it is not done and fails with Code; not for After
	Retry           // do the action again; for After only
)

// Answer is what the person says. The zero value lets the pod continue.
type Answer struct {
	Do Do
	// Code is a gRPC code, Message goes with it.
	Code    uint32
	Message string
	// Delay is waited for first, no longer than until Left is closed: the client went away.
	Delay time.Duration
	Left  <-chan struct{}
}
