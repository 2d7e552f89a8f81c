// Package agent assembles the node agent from its parts and runs them.
//
// It owns the order of start and stop, and the wiring; every part is a package below it. It has no behavior of its own: the
// handling of pods is in agent/pods, agent/worker and agent/podruntime.
//
// It runs one goroutine per part while Run runs. It publishes Agent.
package agent
